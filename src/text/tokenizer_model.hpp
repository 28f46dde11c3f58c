#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/stop_poll.hpp"
#include "text/token_table.hpp"
#include "text/vocabulary.hpp"

namespace tacet {

/// What the models of one tokenizer have in common.
struct TokenizerTraits {
  bool add_bos = false;  ///< unless the file says otherwise
  bool add_eos = false;
  bool marks_spaces = false;  ///< pieces have U+2581 for a space
  bool adds_space = false;    ///< encoding puts a space in front, which decoding takes away
  /// Whether a token never stands for more text than its piece. Not so where white space or unknown
  /// characters are folded.
  bool piece_by_piece = true;
};

/// One algorithm that makes tokens of text, with the tables of one vocabulary. Immutable; any
/// number of threads may use one.
class TokenizerModel {
 public:
  virtual ~TokenizerModel() = default;

  /// Appends the ids of `text`: valid UTF-8, at most 2^31 - 1 bytes, a whole text or what stands
  /// between two tokens that are taken whole. Fails with unsupported if a character can not be
  /// written in this vocabulary, with stopped if the poll's token fired.
  virtual Result<void> encode(std::string_view text, StopPoll& poll,
                              std::vector<std::int32_t>& ids) const = 0;

  /// The bytes that an ordinary or byte token stands for, given its text in the file.
  virtual std::string bytes_of(std::string_view text, TokenType type) const = 0;

  virtual TokenizerTraits traits() const noexcept = 0;
};

/// The model that `data.model` names: "gpt2", "gemma4", "llama", "t5" or "bert". Fails with
/// unsupported, and lists what is known, for another; with corrupt if its tables contradict
/// `tokens`.
Result<std::unique_ptr<const TokenizerModel>> make_tokenizer_model(
    const VocabularyData& data, std::shared_ptr<const TokenTable> tokens);

}  // namespace tacet
