#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/vocabulary.hpp"

namespace tacet {

// What the tokenizers in SentencePiece's manner share (Kudo and Richardson 2018, arXiv:1808.06226).

/// U+2581, which stands for a space in pieces.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

/// The bytes of a piece: U+2581 is a space, and a byte token its byte.
std::string sentence_piece_bytes(std::string_view text, TokenType type);

inline bool unknown_is_bytes(std::span<const std::int32_t> byte_ids) noexcept {
  return std::none_of(byte_ids.begin(), byte_ids.end(), [](std::int32_t id) { return id < 0; });
}

/// Writes characters that are no token: as byte tokens where the vocabulary has all 256, else as
/// one unknown token for all that follow each other.
class UnknownWriter {
 public:
  /// `byte_ids`: of each byte its token or -1; must outlive the writer. `start`: where the ids of
  /// the present text begin.
  UnknownWriter(std::span<const std::int32_t> byte_ids, std::optional<std::int32_t> unknown,
                std::size_t start) noexcept
      : byte_ids_(byte_ids),
        unknown_(unknown),
        start_(start),
        as_bytes_(unknown_is_bytes(byte_ids)) {}

  /// Appends the tokens of `character`. Fails with unsupported if there are none.
  Result<void> write(std::string_view character, std::vector<std::int32_t>& ids) const;

 private:
  std::span<const std::int32_t> byte_ids_;
  std::optional<std::int32_t> unknown_;
  std::size_t start_;
  bool as_bytes_;
};

}  // namespace tacet
