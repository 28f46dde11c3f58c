#pragma once

#include "backends/cpu/gemm/block.hpp"
#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

/// A part of a product.
struct BlockPlace {
  std::uint32_t row, rows;        ///< of weights
  std::uint32_t column, columns;  ///< rows of activations
  std::uint32_t begin, end;       ///< elements of both
};

/// How the product of `weight_rows` rows of weights with `x_rows` rows of activations is cut into
/// blocks. Bands of activations that stay in a core's cache go through all weights, and in a band
/// all that use a block of weights come one after the other. Rows that are too long for a chunk are
/// multiplied in rounds, each of which adds `span` elements to all sums.
struct BlockCut {
  std::uint32_t weight_rows, x_rows;
  std::uint32_t block_weights, block_rows;
  std::uint32_t band;  ///< blocks of activations in a band
  std::uint32_t k, span;

  [[gnu::always_inline]] std::uint32_t across() const {
    return ceil_div(weight_rows, block_weights);
  }
  /// Blocks of a round.
  [[gnu::always_inline]] std::uint32_t blocks() const {
    return x_rows == 0 ? 0 : across() * ceil_div(x_rows, block_rows);
  }
  [[gnu::always_inline]] std::uint32_t rounds() const { return ceil_div(k, span); }
  [[gnu::always_inline]] std::uint32_t count() const { return blocks() * rounds(); }
  [[gnu::always_inline]] BlockPlace place(std::uint32_t index) const {
    const std::uint32_t round = index / blocks();
    index -= round * blocks();
    const std::uint32_t first = index / (across() * band) * band;
    const std::uint32_t in_band = least(band, ceil_div(x_rows, block_rows) - first);
    const std::uint32_t rest = index - first * across();
    const std::uint32_t row = rest / in_band * block_weights;
    const std::uint32_t column = (first + rest % in_band) * block_rows;
    return {row,          least(block_weights, weight_rows - row),
            column,       least(block_rows, x_rows - column),
            round * span, least((round + 1) * span, k)};
  }
};

inline constexpr std::uint32_t most_block_columns = 32;
inline constexpr double band_bytes = 256 * 1024;
/// Rounds begin where blocks of every type do.
inline constexpr std::uint32_t least_span = 256;
/// Whole rows are multiplied at once as long as that takes at most so long.
inline constexpr double whole_seconds = 0.8 * chunk_seconds;

/// `weight_seconds` is what an element of the weights takes to arrive, `mac_seconds` what one takes
/// to be multiplied, `x_bytes` what a row of activations has.
template <typename S>
[[gnu::always_inline]] inline BlockCut cut_blocks(std::uint32_t weight_rows, std::uint32_t x_rows,
                                                  std::uint32_t k, double weight_seconds,
                                                  double mac_seconds, double x_bytes) {
  constexpr auto tile = static_cast<std::uint32_t>(S::Wide::columns);
  std::uint32_t span = k, rows = least(most(x_rows, 1u), tile);
  double step = k * group_rows;
  if (step * (weight_seconds + rows * mac_seconds) <= whole_seconds) {
    // As many activations as fit beside one group of weights, then as many groups as fit.
    const double fit = (target_seconds / step - weight_seconds) / mac_seconds;
    rows = fit >= most_block_columns ? most_block_columns
                                     : most(static_cast<std::uint32_t>(most(fit, 0.0)), rows);
  } else {
    rows = most_block_columns;
  }
  if (rows > tile) rows = rows / tile * tile;
  rows = most(least(rows, x_rows), 1u);
  if (step * (weight_seconds + rows * mac_seconds) > whole_seconds) {
    const double fit = target_seconds / (group_rows * (weight_seconds + rows * mac_seconds));
    span = most(static_cast<std::uint32_t>(fit) / least_span, 1u) * least_span;
    step = span * group_rows;
  }
  const double group_seconds = step * (weight_seconds + rows * mac_seconds);
  const std::uint32_t groups = items_per_chunk(ceil_div(weight_rows, group_rows), group_seconds);
  const double bytes = most(x_bytes * rows * span / k, 1.0);
  return {.weight_rows = weight_rows,
          .x_rows = x_rows,
          .block_weights = groups * group_rows,
          .block_rows = rows,
          .band = bytes < band_bytes ? static_cast<std::uint32_t>(band_bytes / bytes) : 1u,
          .k = k,
          .span = span};
}

}  // namespace tacet::cpu
