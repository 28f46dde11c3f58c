#pragma once

#include "backends/cuda/gemm/product.cuh"

namespace tacet::cuda {

/// Many rows: a block computes 128 outputs (with `Pair` 64 of two matrices) of 128 rows, each warp
/// two groups of 16 outputs (with `Pair` one of each matrix) of 64 rows. The activations of a
/// chunk, a stage, come through shared memory.
template <typename Kind, bool Pair>
__device__ void product_of_many(const ProductArguments& a, const RunContext& run) {
  constexpr int row_tiles = rows_of_warp / 8;
  constexpr std::uint32_t stages = stages_of_many(Kind::parts);
  using Rows = Activations<Kind::parts>;
  constexpr std::uint32_t pieces = Rows::pieces;
  constexpr std::uint32_t pairs = groups_of_block / 2;
  extern __shared__ uint4 memory[];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t rows = live_rows(run, a.selected);
  const std::uint32_t first_row = blockIdx.x * rows_of_block;
  const std::uint32_t row_of_warp = warp / pairs * rows_of_warp;
  let_next_begin();
  // The last groups may not be there: their place is taken by the last one that is.
  const std::uint32_t number = blockIdx.y * pairs + warp % pairs;
  Group groups[2];
  GroupTiles<Kind> tiles[2];
  typename Kind::Raw next[2];
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    groups[m] = Pair ? Group{static_cast<std::uint32_t>(m), min(number, a.groups - 1)}
                     : group_of(a, min(2 * number + m, a.groups - 1));
    tiles[m].tiles = a.matrix[groups[m].matrix].tiles + groups[m].number * a.group_bytes;
    next[m] = tiles[m].load(0, lane);
  }

  // What a thread copies lies 16 * threads_of_many bytes apart, in memory as in a stage.
  const auto* x =
      static_cast<const uint4*>(a.activations) + std::size_t{first_row} * pieces + threadIdx.x;
  const std::uint32_t there = min(rows - min(first_row, rows), rows_of_block) * pieces;
  const auto fill = [&](std::uint32_t chunk) {
    uint4* stage = memory + chunk % stages * (rows_of_block * pieces);
    const uint4* from = x + std::size_t{chunk < a.chunks ? chunk : 0} * a.rows * pieces;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_of_block * pieces; i += threads_of_many)
      if (i + threadIdx.x < rows_of_block * pieces)
        copy_to_shared(stage + Rows::place(i + threadIdx.x), from + i, i + threadIdx.x < there);
    end_group_of_copies();
  };
  wait_for_previous();
  if (first_row >= rows) return;
  for (std::uint32_t chunk = 0; chunk + 1 < stages; ++chunk) fill(chunk);

  auto* scales = reinterpret_cast<float*>(memory + stages * rows_of_block * pieces);
  for (std::uint32_t i = threadIdx.x; i < slices * rows_of_block; i += threads_of_many) {
    const std::uint32_t row = first_row + i % rows_of_block;
    scales[i] = row < rows ? a.scales[std::size_t{i / rows_of_block} * a.rows + row] : 0;
  }
  __syncthreads();

  const bool is_live = first_row + row_of_warp < rows;
  Sums totals[2][row_tiles];
  // A thread looks at the stop as it begins and every eight chunks, and what it saw then is used
  // eight chunks later.
  std::uint32_t seen = threadIdx.x == 0 ? load_relaxed(run.stop) : 0;
  const std::uint32_t epoch = run.block->epoch;
  for (std::uint32_t slice = 0; slice < slices; ++slice) {
    Sums sums[2][row_tiles];
    const std::uint32_t end = slice_begin(a.chunks, slice + 1);
    for (std::uint32_t chunk = slice_begin(a.chunks, slice); chunk < end; ++chunk) {
      wait_for_copies<stages - 2>();
      if (chunk % 8 == 0) {
        if (__syncthreads_or(threadIdx.x == 0 && seen == epoch ? 1 : 0) != 0) {
          wait_for_copies<0>();
          return;
        }
        if (threadIdx.x == 0) seen = load_relaxed(run.stop);
      } else {
        __syncthreads();
      }
      fill(chunk + stages - 1);
      if (!is_live) continue;
      WeightSteps weights[2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        weights[m] = Kind::unpack(next[m]);
        if (chunk + 1 < a.chunks) next[m] = tiles[m].load(chunk + 1, lane);
      }
      const uint4* stage = memory + (chunk % stages * rows_of_block + row_of_warp) * pieces;
#pragma unroll
      for (int t = 0; t < row_tiles; ++t) {
        const Rows rows_of_tile = Rows::load_staged(stage, t, lane);
#pragma unroll
        for (int m = 0; m < 2; ++m)
          add_products<Kind::is_bf16>(weights[m], rows_of_tile, sums[m][t]);
      }
    }
    const auto* scales_of_slice =
        reinterpret_cast<const float2*>(scales + slice * rows_of_block + row_of_warp) + lane % 4;
#pragma unroll
    for (int t = 0; t < row_tiles; ++t) {
      const float2 two = scales_of_slice[4 * t];
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          totals[m][t].of[i] += sums[m][t].of[i] * (i % 2 == 0 ? two.x : two.y);
    }
  }
  wait_for_copies<0>();

  const std::uint32_t g = lane / 4, q = lane % 4;
#pragma unroll
  for (int p = 0; p < 2; ++p)
#pragma unroll
    for (int m = 0; m < (Pair ? 1 : 2); ++m) {
      const std::uint32_t output = groups[m].number * tile_rows + g + 8 * p;
      if ((Pair ? number : 2 * number + m) >= a.groups ||
          output >= a.matrix[groups[m].matrix].outputs)
        continue;
      const float factor = Kind::factor(a, tiles[m].tiles, output);
      const float other = Pair ? Kind::factor(a, tiles[1].tiles, output) : 1;
#pragma unroll
      for (int t = 0; t < row_tiles; ++t)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const std::uint32_t row = first_row + row_of_warp + 8 * t + 2 * q + i;
          if (row >= rows) continue;
          float value = totals[m][t].of[2 * p + i] * factor;
          if constexpr (Pair) value = gated(value, totals[1][t].of[2 * p + i] * other);
          store(a, groups[m].matrix, output, row, value);
        }
    }
}

}  // namespace tacet::cuda
