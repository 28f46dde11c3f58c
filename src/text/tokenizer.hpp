#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "tacet/stop.hpp"
#include "text/piece_table.hpp"
#include "text/special_tokens.hpp"
#include "text/tokenizer_model.hpp"
#include "text/vocabulary.hpp"

namespace tacet {

/// Text to token ids and back, for one vocabulary. Immutable once built; any number of threads may
/// use one. Moves, does not copy.
class Tokenizer {
 public:
  /// Checks `data` and builds the tables. Fails with unsupported for a model or pre-tokenizer that
  /// is not known (and lists those that are), with corrupt for a vocabulary that contradicts
  /// itself.
  static Result<Tokenizer> build(const VocabularyData& data);

  /// The ids of `text`. User-defined tokens are always found in it; control tokens such as
  /// <|im_start|> only if `parse_special`, otherwise they are text as any other. What stands
  /// between such tokens is encoded as texts of their own are. Adds no BOS or EOS. Fails with
  /// invalid_argument, naming the offset, if `text` is not valid UTF-8, with unsupported if a
  /// character can not be written in this vocabulary, and with stopped if `stop` fired, which is
  /// looked at about every 100 us.
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool parse_special,
                                           const StopToken& stop = {}) const;

  /// The bytes of a token: part of a character at times (see Utf8Stream). Control and unused tokens
  /// give nothing unless `special`; an id that does not exist gives nothing. Lives as long as the
  /// tokenizer.
  std::string_view piece(std::int32_t id, bool special = false) const noexcept;
  /// The bytes of several tokens, one after the other. Where the tokenizer puts a space in front of
  /// texts (at the start and behind tokens that were taken whole), it is taken away again.
  std::string decode(std::span<const std::int32_t> ids, bool special = false) const;

  /// The text that stands for a token in the file ("Ġworld"); empty if there is no such id.
  std::string_view token_text(std::int32_t id) const noexcept;
  /// The id whose token_text is `text`.
  std::optional<std::int32_t> find(std::string_view text) const noexcept;
  TokenType type(std::int32_t id) const noexcept;

  /// Whether a model that gives this token has finished its answer: EOS, EOT, and the tokens that
  /// are known by name to end a turn or a text (<|im_end|>, <|endoftext|>, <|eot_id|>, ...).
  bool is_end(std::int32_t id) const noexcept;
  /// All ids for which `is_end`, ascending.
  const std::vector<std::int32_t>& end_tokens() const noexcept { return ends_; }

  std::size_t size() const noexcept { return tokens_->size(); }
  std::optional<std::int32_t> bos() const noexcept { return bos_; }
  std::optional<std::int32_t> eos() const noexcept { return eos_; }
  std::optional<std::int32_t> eot() const noexcept { return eot_; }
  std::optional<std::int32_t> padding() const noexcept { return padding_; }
  /// Whether a prompt is to start with BOS (end with EOS). The caller adds it.
  bool add_bos() const noexcept { return add_bos_; }
  bool add_eos() const noexcept { return add_eos_; }
  /// Whether a token never stands for more text than its piece; otherwise white space or unknown
  /// characters are folded, and a short list of tokens may be a text of any length.
  bool piece_by_piece() const noexcept { return model_->traits().piece_by_piece; }
  /// The Jinja template of the file; empty if it has none.
  const std::string& chat_template() const noexcept { return chat_template_; }

 private:
  Tokenizer(std::shared_ptr<const TokenTable> tokens, std::unique_ptr<const TokenizerModel> model)
      : tokens_(std::move(tokens)), model_(std::move(model)) {}

  bool valid(std::int32_t id) const noexcept {
    return id >= 0 && static_cast<std::size_t>(id) < size();
  }
  void add_pieces();
  void add_ends();

  std::shared_ptr<const TokenTable> tokens_;
  std::unique_ptr<const TokenizerModel> model_;
  PieceStore bytes_;       ///< what each token stands for
  SpecialTokens always_;   ///< user-defined
  SpecialTokens special_;  ///< user-defined and control
  std::vector<std::int32_t> ends_;
  std::optional<std::int32_t> bos_, eos_, eot_, padding_;
  bool add_bos_ = false;
  bool add_eos_ = false;
  std::string chat_template_;
};

}  // namespace tacet
