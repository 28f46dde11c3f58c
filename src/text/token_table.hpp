#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "text/piece_table.hpp"
#include "text/vocabulary.hpp"

namespace tacet {

/// The tokens of a vocabulary, checked. Immutable.
struct TokenTable {
  /// Fails with corrupt if there are none, if a text is not UTF-8, if types or scores are not one a
  /// token, if a type does not exist, or if a score is not finite.
  static Result<TokenTable> build(const VocabularyData& data);

  std::size_t size() const noexcept { return types.size(); }
  /// Whether text may become this token by itself: neither control, unknown, unused nor a byte.
  bool ordinary(std::int32_t id) const noexcept {
    const TokenType type = types[static_cast<std::size_t>(id)];
    return type == TokenType::normal || type == TokenType::user_defined;
  }
  /// Of each byte the token that stands for it when no other does, "<0x0A>"; -1 if there is none.
  std::vector<std::int32_t> byte_tokens() const;

  PieceTable texts;  ///< as in the file
  std::vector<TokenType> types;
  std::vector<float> scores;            ///< one a token, or none at all
  std::optional<std::int32_t> unknown;  ///< for text that is no token
};

/// The byte that "<0x0A>" names, or -1.
int named_byte(std::string_view text) noexcept;

}  // namespace tacet
