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
  std::vector<std::pair<std::string, std::int32_t>> tokens_;  ///< sorted by text
  std::vector<std::size_t> starts_;                           ///< of each first byte, and the end
  std::vector<std::size_t> parents_;  ///< the longest other token that begins this one, or itself
};

}  // namespace tacet
