#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacet {

/// Many short byte strings in one block, numbered from 0. Views stay valid when the store moves.
class PieceStore {
 public:
  void reserve(std::size_t count, std::size_t bytes);
  /// Appends a string; its number is the count before.
  void add(std::string_view bytes);
  std::string_view operator[](std::size_t index) const noexcept {
    return {bytes_.data() + starts_[index], starts_[index + 1] - starts_[index]};
  }
  std::size_t size() const noexcept { return starts_.size() - 1; }

 private:
  std::vector<char> bytes_;
  std::vector<std::size_t> starts_{0};
};

/// A PieceStore that finds the number of a string. Of equal strings the first is found.
class PieceTable {
 public:
  /// Indexes `pieces`, at most 2^31 - 1 of them. Fails with corrupt if they are made to collide.
  static Result<PieceTable> build(PieceStore pieces);

  std::optional<std::int32_t> find(std::string_view text) const noexcept;
  std::string_view operator[](std::size_t index) const noexcept { return pieces_[index]; }
  std::size_t size() const noexcept { return pieces_.size(); }

 private:
  explicit PieceTable(PieceStore pieces);
  /// False if a piece is too far from its slot.
  bool fill(std::uint64_t seed);

  PieceStore pieces_;
  std::vector<std::int32_t> slots_;  ///< open addressing; -1 is free; a power of two
  std::uint64_t seed_ = 0;           ///< of their hash
};

}  // namespace tacet
