#pragma once

#include "backends/cpu/simd/math.hpp"
#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// How long chunks are meant to take on a slow core.
inline constexpr double target_seconds = chunk_seconds / 2;
/// Work is not cut finer than this to get more chunks.
inline constexpr double least_seconds = 4e-6;
/// As many chunks keep the threads of a large machine evenly busy.
inline constexpr std::uint32_t wanted_chunks = 32;

/// How many of `n` equal items make a chunk.
[[gnu::always_inline]] inline std::uint32_t items_per_chunk(std::uint32_t n, double item_seconds) {
  const double longest = target_seconds / item_seconds;
  const double shortest = least_seconds / item_seconds;
  const double even = static_cast<double>(n) / wanted_chunks;
  const double items = least(longest, most(shortest, even));
  return items >= n ? most(n, 1u) : most(static_cast<std::uint32_t>(items), 1u);
}

/// Storing an element of keys or values; blocks are made one number at a time.
[[gnu::always_inline]] inline double stored_element_seconds(DType type, double element_seconds) {
  return info(type).block_size == 1 ? 3 * element_seconds : 12e-9;
}

/// A part of a matrix.
struct Tile {
  std::uint32_t row, row_end;
  std::uint32_t column, column_end;
};

/// Cuts a matrix for ops on single elements: whole rows, or pieces of one row at fixed columns.
struct ElementCut {
  std::uint32_t rows, width;
  std::uint32_t tile_rows, tile_width;

  [[gnu::always_inline]] ElementCut(std::uint32_t r, std::uint32_t w, double element_seconds)
      : rows(r), width(w) {
    const auto most_elements = static_cast<std::uint32_t>(target_seconds / element_seconds) & ~63u;
    tile_width = least(width, most_elements);
    tile_rows = items_per_chunk(rows, element_seconds * most(width, 1u));
  }
  [[gnu::always_inline]] std::uint32_t count() const {
    return width == 0 ? 0 : ceil_div(rows, tile_rows) * ceil_div(width, tile_width);
  }
  [[gnu::always_inline]] Tile tile(std::uint32_t chunk) const {
    const std::uint32_t across = ceil_div(width, tile_width);
    const std::uint32_t row = chunk / across * tile_rows;
    const std::uint32_t column = chunk % across * tile_width;
    return {row, least(row + tile_rows, rows), column, least(column + tile_width, width)};
  }
};

/// The types of a node's inputs and outputs, without bounds to check.
[[gnu::always_inline]] inline const ValueType& input(const NodeView& view, std::size_t i) {
  return view.inputs.data()[i];
}
[[gnu::always_inline]] inline std::uint32_t width(const ValueType& type) {
  return static_cast<std::uint32_t>(type.shape.width());
}
[[gnu::always_inline]] inline bool all_f32(const NodeView& view, std::size_t inputs) {
  if (view.inputs.size() < inputs) return false;
  for (std::size_t i = 0; i < inputs; ++i)
    if (input(view, i).dtype != DType::f32) return false;
  for (std::size_t i = 0; i < view.outputs.size(); ++i)
    if (view.outputs.data()[i].dtype != DType::f32) return false;
  return true;
}

}  // namespace tacet::cpu
