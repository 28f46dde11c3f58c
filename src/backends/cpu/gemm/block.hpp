#pragma once

#include "backends/cpu/gemm/dots.hpp"

namespace tacet::cpu {

/// A block of a product: some rows of weights with some rows of activations.
struct Block {
  const std::byte* weights;  ///< the first row
  std::size_t row_bytes;
  std::uint32_t weight_rows;
  const float* x;  ///< the first row
  std::uint32_t x_rows;
  std::size_t k;
  float* y;  ///< of the first pair
  std::size_t y_stride;
  const float* bias;  ///< of the first weight row, or null
  std::byte* scratch;
};

/// Up to as many activation rows are multiplied with the weights as they are; for more, weights are
/// converted once, a panel at a time.
inline constexpr std::uint32_t direct_rows = 3;
/// Elements of each weight row in a panel. Whole blocks of every type.
inline constexpr std::size_t panel_width = 512;
inline constexpr std::uint32_t panel_rows_most = 4;
inline constexpr std::uint32_t max_block_rows = 32;
inline constexpr std::uint32_t max_block_pairs = 1024;
/// Scratch of a block: the panel, and a vector of sums for each pair.
inline constexpr std::size_t block_scratch_bytes =
    panel_rows_most * panel_width * sizeof(float) + max_block_pairs * 8 * sizeof(float);

template <typename S, typename E>
struct Multiply {
  using F = typename S::F;

  static void block(const Block& b) {
    if (b.x_rows <= direct_rows)
      direct(b);
    else
      panels(b);
  }

 private:
  template <int Rows, int Columns>
  [[gnu::always_inline]] static void finish(const Block& b, std::uint32_t row, std::uint32_t column,
                                            const F (&sums)[Rows][Columns]) {
    for (int c = 0; c < Columns; ++c) {
      float results[Rows];
      reduce<S, Rows, Columns>(sums, c, results);
      float* y = b.y + (column + static_cast<std::uint32_t>(c)) * b.y_stride + row;
      if (b.bias != nullptr)
        for (int r = 0; r < Rows; ++r) results[r] += b.bias[row + static_cast<std::uint32_t>(r)];
      __builtin_memcpy(y, results, sizeof results);
    }
  }

  template <int Rows, int Columns>
  static void direct_tile(const Block& b, std::uint32_t row) {
    const std::byte* rows[Rows];
    for (int r = 0; r < Rows; ++r)
      rows[r] = b.weights + (row + static_cast<std::uint32_t>(r)) * b.row_bytes;
    const float* columns[Columns];
    for (int c = 0; c < Columns; ++c) columns[c] = b.x + static_cast<std::uint32_t>(c) * b.k;
    F sums[Rows][Columns];
    for (int r = 0; r < Rows; ++r)
      for (int c = 0; c < Columns; ++c) sums[r][c] = S::zero();
    add_dots<S, E, Rows, Columns>(rows, columns, b.k, sums, Rows * b.row_bytes);
    finish<Rows, Columns>(b, row, 0, sums);
  }

  template <int Rows, int Columns>
  [[gnu::always_inline]] static void direct_rows_of(const Block& b) {
    std::uint32_t row = 0;
    for (; row + Rows <= b.weight_rows; row += Rows) direct_tile<Rows, Columns>(b, row);
    for (; row < b.weight_rows; ++row) direct_tile<1, Columns>(b, row);
  }

  static void direct(const Block& b) {
    switch (b.x_rows) {
      case 1:
        return direct_rows_of < E::step == 32 ? S::single_blocks : S::single_weights, 1 > (b);
      case 2:
        return direct_rows_of<S::tile_weights, 2>(b);
      case 3:
        if constexpr (S::tile_rows >= 3) return direct_rows_of<S::tile_weights, 3>(b);
        direct_rows_of<S::tile_weights, 2>(b);
        Block last = b;
        last.x += 2 * b.k;
        last.y += 2 * b.y_stride;
        last.x_rows = 1;
        return direct(last);
    }
  }

  /// One tile of a panel. Sums wait in scratch between panels.
  template <int Rows, int Columns>
  static void panel_tile(const Block& b, const float* panel, float* waiting, std::uint32_t row,
                         std::uint32_t column, std::size_t k) {
    const std::size_t n = least(panel_width, b.k - k);
    const std::byte* rows[Rows];
    for (int r = 0; r < Rows; ++r)
      rows[r] =
          reinterpret_cast<const std::byte*>(panel + static_cast<std::uint32_t>(r) * panel_width);
    const float* columns[Columns];
    for (int c = 0; c < Columns; ++c)
      columns[c] = b.x + (column + static_cast<std::uint32_t>(c)) * b.k + k;
    float* place = waiting + (std::size_t{row} * b.x_rows + std::size_t{column} * Rows) * 8;
    F sums[Rows][Columns];
    for (int r = 0; r < Rows; ++r)
      for (int c = 0; c < Columns; ++c)
        sums[r][c] = k == 0 ? S::zero() : S::load(place + (c * Rows + r) * 8);
    add_dots<S, F32Elements, Rows, Columns>(rows, columns, n, sums);
    if (k + n == b.k) {
      finish<Rows, Columns>(b, row, column, sums);
    } else {
      for (int r = 0; r < Rows; ++r)
        for (int c = 0; c < Columns; ++c) S::store(place + (c * Rows + r) * 8, sums[r][c]);
    }
  }

  template <int Rows>
  static void panel_rows(const Block& b, float* panel, float* waiting, std::uint32_t row,
                         std::size_t k) {
    static_assert(Rows <= panel_rows_most);
    for (std::uint32_t r = 0; r < Rows; ++r)
      expand<S, E>(b.weights + (row + r) * b.row_bytes + k / E::step * E::bytes,
                   least(panel_width, b.k - k), panel + r * panel_width);
    std::uint32_t column = 0;
    if constexpr (S::tile_rows >= 3) {
      // Two twos are faster than a three and a one.
      while (b.x_rows - column >= 3 && b.x_rows - column != 4) {
        panel_tile<Rows, 3>(b, panel, waiting, row, column, k);
        column += 3;
      }
    }
    for (; b.x_rows - column >= 2; column += 2)
      panel_tile<Rows, 2>(b, panel, waiting, row, column, k);
    if (column < b.x_rows) panel_tile<Rows, 1>(b, panel, waiting, row, column, k);
  }

  static void panels(const Block& b) {
    float* panel = reinterpret_cast<float*>(b.scratch);
    float* waiting = panel + panel_rows_most * panel_width;
    for (std::size_t k = 0; k < b.k; k += panel_width) {
      std::uint32_t row = 0;
      for (; row + S::tile_weights <= b.weight_rows; row += S::tile_weights)
        panel_rows<S::tile_weights>(b, panel, waiting, row, k);
      for (; row < b.weight_rows; ++row) panel_rows<1>(b, panel, waiting, row, k);
    }
  }
};

}  // namespace tacet::cpu
