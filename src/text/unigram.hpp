#pragma once

#include <memory>
#include <utility>

#include "text/normalizer.hpp"
#include "text/prefix_index.hpp"
#include "text/tokenizer_model.hpp"

namespace tacet {

/// "t5": the most probable way to divide a text into tokens whose scores are log probabilities
/// (Kudo 2018, arXiv:1804.10959), found by Viterbi's algorithm. O(n l) for n bytes and, at a place,
/// l tokens' bytes that fit.
class Unigram final : public TokenizerModel {
 public:
  /// Fails with corrupt if the vocabulary has no scores.
  static Result<Unigram> build(const VocabularyData& data,
                               std::shared_ptr<const TokenTable> tokens);

  Result<void> encode(std::string_view text, StopPoll& poll,
                      std::vector<std::int32_t>& ids) const override;
  std::string bytes_of(std::string_view text, TokenType type) const override;
  TokenizerTraits traits() const noexcept override;

 private:
  Unigram(std::shared_ptr<const TokenTable> tokens, Normalizer normalizer);

  std::shared_ptr<const TokenTable> tokens_;
  Normalizer normalizer_;
  PrefixIndex index_;
  std::vector<std::int32_t> byte_ids_;
  double unknown_score_ = 0;
};

}  // namespace tacet
