#pragma once

#include "backends/cpu/gemm/block.hpp"
#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

/// A part of a product.
struct BlockPlace {
  std::uint32_t row, rows;        ///< of weights
  std::uint32_t column, columns;  ///< rows of activations
};

/// How the product of `weight_rows` rows of weights with `x_rows` rows of activations is cut into
/// blocks. Bands of activations that stay in a core's cache go through all weights, and in a band
/// all that use a block of weights come one after the other.
struct BlockCut {
  std::uint32_t weight_rows, x_rows;
  std::uint32_t block_weights, block_rows;
  std::uint32_t band;  ///< blocks of activations in a band

  [[gnu::always_inline]] std::uint32_t across() const {
    return ceil_div(weight_rows, block_weights);
  }
  [[gnu::always_inline]] std::uint32_t count() const {
    return x_rows == 0 ? 0 : across() * ceil_div(x_rows, block_rows);
  }
  [[gnu::always_inline]] BlockPlace place(std::uint32_t index) const {
    const std::uint32_t first = index / (across() * band) * band;
    const std::uint32_t in_band = least(band, ceil_div(x_rows, block_rows) - first);
    const std::uint32_t rest = index - first * across();
    const std::uint32_t row = rest / in_band * block_weights;
    const std::uint32_t column = (first + rest % in_band) * block_rows;
    return {row, least(block_weights, weight_rows - row), column,
            least(block_rows, x_rows - column)};
  }
};

inline constexpr std::uint32_t most_block_columns = 32;
inline constexpr double band_bytes = 256 * 1024;

/// `weight_seconds` is what an element of the weights takes to arrive, `mac_seconds` what one takes
/// to be multiplied.
template <typename S>
[[gnu::always_inline]] inline BlockCut cut_blocks(std::uint32_t weight_rows, std::uint32_t x_rows,
                                                  std::size_t k, double weight_seconds,
                                                  double mac_seconds, double x_bytes) {
  const double length = static_cast<double>(most(k, std::size_t{1}));
  // As many activations as fit beside one group of weights, then as many groups as fit.
  constexpr auto tile = static_cast<std::uint32_t>(S::Wide::columns);
  const double fit = (target_seconds / (length * group_rows) - weight_seconds) / mac_seconds;
  std::uint32_t rows =
      fit > most_block_columns ? most_block_columns : static_cast<std::uint32_t>(most(fit, 1.0));
  if (rows > tile) rows = rows / tile * tile;
  rows = most(least(rows, x_rows), 1u);
  const double group_seconds = length * group_rows * (weight_seconds + rows * mac_seconds);
  const std::uint32_t groups = items_per_chunk(ceil_div(weight_rows, group_rows), group_seconds);
  const double bytes = most(x_bytes * rows, 1.0);
  return {weight_rows, x_rows, groups * group_rows, rows,
          bytes < band_bytes ? static_cast<std::uint32_t>(band_bytes / bytes) : 1u};
}

}  // namespace tacet::cpu
