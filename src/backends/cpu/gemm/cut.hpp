#pragma once

#include "backends/cpu/gemm/block.hpp"
#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

/// How the product of `weight_rows` rows of `k` weights with `x_rows` rows is cut into blocks.
/// Blocks are numbered by activations first, so that weights pass by while activations stay.
struct BlockCut {
  std::uint32_t weight_rows, x_rows;
  std::uint32_t block_weights, block_rows;

  [[gnu::always_inline]] std::uint32_t across() const {
    return ceil_div(weight_rows, block_weights);
  }
  [[gnu::always_inline]] std::uint32_t count() const {
    return x_rows == 0 ? 0 : across() * ceil_div(x_rows, block_rows);
  }
};

/// `weight_bytes` of memory hold one weight (two, if two matrices go together).
template <typename S>
[[gnu::always_inline]] inline BlockCut cut_blocks(std::uint32_t weight_rows, std::uint32_t x_rows,
                                                  std::size_t k, double weight_bytes,
                                                  double matrices) {
  const double length = static_cast<double>(most(k, std::size_t{1}));
  const double load = matrices * most(weight_bytes * S::byte_seconds, S::expand_seconds);
  const double mac = matrices * S::mac_seconds;
  if (x_rows <= direct_rows) {
    const std::uint32_t step = S::single_weights;
    const double row_seconds = length * (load + x_rows * mac);
    const std::uint32_t rows = least(items_per_chunk(weight_rows, row_seconds), 1024u);
    return {weight_rows, x_rows, rows < step ? rows : rows / step * step, most(x_rows, 1u)};
  }
  const std::uint32_t step = S::tile_weights;
  // As many activation rows as fit beside one tile of weights, then as many tiles as fit.
  const double fit = (target_seconds / (length * step) - load) / mac;
  const std::uint32_t limit = 24;
  std::uint32_t rows = fit > limit ? limit : static_cast<std::uint32_t>(most(fit, 1.0));
  if (rows > 6) rows = rows / 6 * 6;
  rows = least(rows, x_rows);
  const double row_seconds = length * (load + rows * mac);
  const std::uint32_t weights = least(items_per_chunk(weight_rows, row_seconds), max_block_rows);
  return {weight_rows, x_rows, most(weights / step * step, step), rows};
}

}  // namespace tacet::cpu
