#pragma once

#include "backends/cuda/gemm/product.cuh"

namespace tacet::cuda {

/// Many rows: a block computes 128 outputs (with `Pair` 64 of two matrices) of 64 rows, each warp a
/// group of 16 outputs. The activations of a chunk, a stage, come through shared memory, where the
/// sums of slices are too.
template <typename Kind, bool Pair>
__device__ void product_of_many(const ProductArguments& a, const RunContext& run) {
  constexpr int row_tiles = rows_of_block / 8;
  constexpr std::uint32_t stage_size = rows_of_block * Kind::pieces;
  extern __shared__ uint4 memory[];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t rows = live_rows(run, a.selected);
  const std::uint32_t first_row = blockIdx.x * rows_of_block;
  let_next_begin();
  constexpr std::uint32_t groups = Pair ? groups_of_block / 2 : groups_of_block;
  const std::uint32_t number = blockIdx.y * groups + warp % groups;
  const bool has_group = number < a.groups;
  Group group{0, 0};
  if (has_group) group = Pair ? Group{warp / groups, number} : group_of(a, number);
  const GroupTiles<Kind> tiles{a.matrix[group.matrix].tiles + group.number * a.group_bytes};

  const auto* x = static_cast<const uint4*>(a.activations);
  const auto fill = [&](std::uint32_t chunk) {
    uint4* stage = memory + chunk % stages_of_many * stage_size;
    for (std::uint32_t i = threadIdx.x; i < stage_size; i += threads_of_many) {
      const std::uint32_t row = i / Kind::pieces, piece = i % Kind::pieces;
      const bool is_there = first_row + row < rows && chunk < a.chunks;
      const std::size_t at = is_there ? std::size_t{first_row + row} * a.chunks + chunk : 0;
      copy_to_shared(stage + Kind::place(row, piece), x + at * Kind::pieces + piece, is_there);
    }
    end_group_of_copies();
  };
  typename Kind::Raw next = tiles.load(0, lane);
  wait_for_previous();
  if (first_row >= rows) return;
  for (std::uint32_t chunk = 0; chunk + 1 < stages_of_many; ++chunk) fill(chunk);

  // Each thread's own, in the order of its sums.
  auto* totals = reinterpret_cast<float*>(memory + stages_of_many * stage_size) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4 * row_tiles; ++i) totals[i * threads_of_many] = 0;
  // A thread looks at the stop every eight chunks, and what it saw is used eight chunks later.
  std::uint32_t seen = 0;
  const std::uint32_t epoch = run.block->epoch;
  for (std::uint32_t slice = 0; slice < slices; ++slice) {
    Sums sums[row_tiles];
    const std::uint32_t end = slice_begin(a.chunks, slice + 1);
    for (std::uint32_t chunk = slice_begin(a.chunks, slice); chunk < end; ++chunk) {
      wait_for_copies<stages_of_many - 2>();
      if (chunk % 8 == 0) {
        if (__syncthreads_or(threadIdx.x == 0 && seen == epoch ? 1 : 0) != 0) {
          wait_for_copies<0>();
          return;
        }
        if (threadIdx.x == 0) seen = load_relaxed(run.stop);
      } else {
        __syncthreads();
      }
      fill(chunk + stages_of_many - 1);
      const typename Kind::Weights w = Kind::unpack(next);
      if (chunk + 1 < a.chunks) next = tiles.load(chunk + 1, lane);
      const uint4* stage = memory + chunk % stages_of_many * stage_size;
#pragma unroll
      for (int t = 0; t < row_tiles; ++t) Kind::add(w, Kind::load_staged(stage, t, lane), sums[t]);
    }
#pragma unroll
    for (int t = 0; t < row_tiles; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i) totals[(4 * t + i) * threads_of_many] += sums[t].of[i];
  }

  wait_for_copies<0>();
  const std::uint32_t g = lane / 4, q = lane % 4;
  if constexpr (Pair) {
    __syncthreads();
    if (group.matrix == 1) return;
  }
#pragma unroll
  for (int t = 0; t < row_tiles; ++t)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t row = first_row + 8 * t + 2 * q + i % 2;
      const std::uint32_t output = group.number * tile_rows + g + 8 * (i / 2);
      if (row >= rows || !has_group || output >= a.matrix[group.matrix].outputs) continue;
      const float factor = Kind::factor(a, row);
      float value = totals[(4 * t + i) * threads_of_many] * factor;
      // The thread that has the same outputs of the other matrix.
      if constexpr (Pair)
        value = gated(value, totals[(4 * t + i) * threads_of_many + 32 * groups] * factor);
      store(a, group.matrix, output, row, value);
    }
}

}  // namespace tacet::cuda
