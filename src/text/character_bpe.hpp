#pragma once

#include <memory>
#include <utility>

#include "text/bpe.hpp"
#include "text/tokenizer_model.hpp"

namespace tacet {

/// "gemma4": spaces become U+2581 and the characters of the whole text are merged by ranks; a
/// character that is no token is written as its bytes, "<0xE2>". O(n log n).
class CharacterBpe final : public TokenizerModel {
 public:
  /// Fails with corrupt for bad merges.
  static Result<CharacterBpe> build(const VocabularyData& data,
                                    std::shared_ptr<const TokenTable> tokens);

  Result<void> encode(std::string_view text, StopPoll& poll,
                      std::vector<std::int32_t>& ids) const override;
  std::string bytes_of(std::string_view text, TokenType type) const override;
  TokenizerTraits traits() const noexcept override;

 private:
  CharacterBpe(std::shared_ptr<const TokenTable> tokens, Bpe bpe);

  std::shared_ptr<const TokenTable> tokens_;
  Bpe bpe_;
  std::vector<std::int32_t> byte_ids_;
};

}  // namespace tacet
