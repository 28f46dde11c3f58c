#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "text/piece_table.hpp"
#include "text/token_table.hpp"

namespace tacet {

/// Finds the pieces that begin a text, byte by byte: a trie that is stored as a sorted list. A step
/// takes O(log of the pieces that still fit). Immutable.
class PrefixIndex {
 public:
  /// The pieces that begin with the bytes read so far.
  struct Cursor {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;  ///< bytes read
  };

  /// The ordinary tokens of `tokens`, which must outlive the index. Of equal ones the first counts.
  explicit PrefixIndex(const TokenTable& tokens);

  Cursor root() const noexcept { return {0, ids_.size(), 0}; }
  /// Reads one more byte; false if no piece goes on so.
  bool advance(Cursor& cursor, char byte) const noexcept;
  /// The token whose text is what was read, if there is one.
  std::optional<std::int32_t> token(const Cursor& cursor) const noexcept;

 private:
  std::string_view text(std::size_t index) const noexcept {
    return (*texts_)[static_cast<std::size_t>(ids_[index])];
  }

  const PieceTable* texts_;
  std::vector<std::int32_t> ids_;          ///< sorted by text
  std::array<std::size_t, 257> starts_{};  ///< of each first byte, and the end
};

}  // namespace tacet
