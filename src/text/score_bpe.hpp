#pragma once

#include <memory>
#include <utility>

#include "text/normalizer.hpp"
#include "text/tokenizer_model.hpp"

namespace tacet {

/// "llama": SentencePiece's BPE. Of all neighbours whose texts together are a token, the pair whose
/// token has the best score is merged first, of equal ones the leftmost. O(n (log n + l)) for n
/// characters and tokens of at most l bytes.
class ScoreBpe final : public TokenizerModel {
 public:
  /// Fails with corrupt if the vocabulary has no scores.
  static Result<ScoreBpe> build(const VocabularyData& data,
                                std::shared_ptr<const TokenTable> tokens);

  Result<void> encode(std::string_view text, StopPoll& poll,
                      std::vector<std::int32_t>& ids) const override;
  std::string bytes_of(std::string_view text, TokenType type) const override;
  TokenizerTraits traits() const noexcept override;

 private:
  ScoreBpe(std::shared_ptr<const TokenTable> tokens, Normalizer normalizer);

  class Merger;

  std::shared_ptr<const TokenTable> tokens_;
  Normalizer normalizer_;
  std::vector<std::int32_t> byte_ids_;
  std::size_t longest_ = 0;  ///< bytes of a token
  /// No token goes on behind a word into a space, so that each word is merged on its own.
  bool by_words_ = true;
};

}  // namespace tacet
