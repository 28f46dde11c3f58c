#pragma once

#include <memory>
#include <string>
#include <utility>

#include "text/prefix_index.hpp"
#include "text/tokenizer_model.hpp"

namespace tacet {

/// "bert": text is cut at white space, punctuation and Chinese characters; each word is divided
/// into the longest tokens from its left, or is one unknown token (Devlin et al. 2018,
/// arXiv:1810.04805). Words of more than 100 characters are unknown. O(n l) for n bytes and tokens
/// of at most l.
class WordPiece final : public TokenizerModel {
 public:
  /// Fails with corrupt if the vocabulary has no token for unknown words.
  static Result<WordPiece> build(const VocabularyData& data,
                                 std::shared_ptr<const TokenTable> tokens);

  Result<void> encode(std::string_view text, StopPoll& poll,
                      std::vector<std::int32_t>& ids) const override;
  std::string bytes_of(std::string_view text, TokenType type) const override;
  TokenizerTraits traits() const noexcept override {
    return {.add_bos = true, .add_eos = true, .adds_space = true, .piece_by_piece = false};
  }

 private:
  WordPiece(const VocabularyData& data, std::shared_ptr<const TokenTable> tokens);

  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

  std::shared_ptr<const TokenTable> tokens_;
  PrefixIndex index_;
  // Files mark either what begins a word (U+2581, as GGUF's converter writes) or what continues one
  // ("##", as BERT's own do).
  std::string_view first_mark_;
  std::string_view later_mark_;
  bool lowercase_;
  bool strip_accents_;
};

}  // namespace tacet
