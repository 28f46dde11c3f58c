#pragma once

#include <array>
#include <memory>
#include <utility>

#include "text/bpe.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer_model.hpp"

namespace tacet {

/// "gpt2": text is cut into words by patterns; the bytes of each word are merged (Radford et al.
/// 2019). O(n log n).
class ByteLevelBpe final : public TokenizerModel {
 public:
  /// Fails with unsupported for a pre-tokenizer that is not known, with corrupt for bad merges.
  static Result<ByteLevelBpe> build(const VocabularyData& data,
                                    std::shared_ptr<const TokenTable> tokens);

  Result<void> encode(std::string_view text, StopPoll& poll,
                      std::vector<std::int32_t>& ids) const override;
  std::string bytes_of(std::string_view text, TokenType type) const override;
  TokenizerTraits traits() const noexcept override { return {.add_bos = pre_.rule().add_bos}; }

 private:
  ByteLevelBpe(std::shared_ptr<const TokenTable> tokens, PreTokenizer pre, Bpe bpe);

  std::shared_ptr<const TokenTable> tokens_;
  PreTokenizer pre_;
  Bpe bpe_;
  std::array<std::int32_t, 256> byte_ids_;
};

}  // namespace tacet
