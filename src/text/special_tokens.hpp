#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacet {

/// Finds tokens that are taken whole from a text. Immutable once built.
class SpecialTokens {
 public:
  struct Match {
    std::size_t offset;
    std::size_t size;
    std::int32_t id;
  };

  SpecialTokens() = default;
  /// Of equal texts the first id counts. Empty texts are never found.
  explicit SpecialTokens(std::vector<std::pair<std::string, std::int32_t>> tokens);

  /// The first place at or behind `from` where a token stands, and there the longest. `size` 0:
  /// there is none.
  Match find(std::string_view text, std::size_t from) const noexcept;
  bool empty() const noexcept { return tokens_.empty(); }

 private:
  /// Tokens that begin a token; itself where there is none.
  struct Ancestors {
    std::size_t parent;  ///< the longest
    std::size_t jump;    ///< one further on: the way to any of n takes O(log n) steps (Myers 1983)
    std::size_t depth;   ///< how many there are
  };

  /// Among a token and those that begin it, the longest of at most `size` bytes, or the shortest.
  std::size_t shortened(std::size_t index, std::size_t size) const noexcept;

  std::vector<std::pair<std::string, std::int32_t>> tokens_;  ///< sorted by text
  std::vector<std::size_t> starts_;                           ///< of each first byte, and the end
  std::vector<Ancestors> ancestors_;
};

}  // namespace tacet
