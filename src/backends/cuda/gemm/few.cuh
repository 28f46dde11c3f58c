#pragma once

#include "backends/cuda/gemm/product.cuh"

namespace tacet::cuda {

template <typename Kind, int Matrices>
__device__ SliceLoop<Kind, Matrices> slice_of_warp(const ProductArguments& a, const Group& group) {
  SliceLoop<Kind, Matrices> loop;
  const std::uint32_t slice = threadIdx.x / 32;
  loop.begin = slice_begin(a.chunks, slice);
  loop.end = slice_begin(a.chunks, slice + 1);
#pragma unroll
  for (int m = 0; m < Matrices; ++m)
    loop.tiles[m].tiles = a.matrix[group.matrix + m].tiles + group.number * a.group_bytes;
  return loop;
}

/// Up to 8 * Tiles rows: a block computes a group of 16 outputs of them, each warp a slice of the
/// columns. With `Pair` two matrices of one shape, whose outputs are gated.
template <typename Kind, int Tiles, bool Pair>
__device__ void product_of_few(const ProductArguments& a, const RunContext& run) {
  constexpr int matrices = Pair ? 2 : 1;
  using Chunk = HalfChunk<Kind::parts>;
  struct Rows {
    Activations<Kind::parts> tile[Tiles];
  };
  const std::uint32_t lane = threadIdx.x % 32, slice = threadIdx.x / 32;
  const std::uint32_t g = lane / 4, q = lane % 4;
  const Group group = Pair ? Group{0, blockIdx.x} : group_of(a, blockIdx.x);
  const std::uint32_t first_row = blockIdx.y * (8 * Tiles);
  const int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
  const std::uint32_t rows = live_rows(run, a.selected);
  auto loop = slice_of_warp<Kind, matrices>(a, group);
  let_next_begin();
  loop.start(lane);
  wait_for_previous();
  if (__syncthreads_or(stop) != 0) return;

  const auto* activations = static_cast<const Chunk*>(a.activations);
  const auto load_rows = [&](std::uint32_t chunk) {
    Rows x;
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
      const auto at = [&](std::uint32_t row) {
        row += first_row + 8 * t;
        return row < rows ? activations + std::size_t{chunk} * a.rows + row : nullptr;
      };
      x.tile[t] = Activations<Kind::parts>::load(at(g), lane);
    }
    return x;
  };
  float scales[Tiles][2];
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t row = first_row + 8 * t + 2 * q + i;
      scales[t][i] = row < rows ? a.scales[std::size_t{slice} * a.rows + row] : 0;
    }
  Sums sums[matrices][Tiles];
  loop.run(lane, load_rows, [&](const WeightSteps& w, const Rows& x, int m) {
#pragma unroll
    for (int t = 0; t < Tiles; ++t) add_products<Kind::is_bf16>(w, x.tile[t], sums[m][t]);
  });

  __shared__ float parts[slices][matrices][Tiles * 8][tile_rows + 1];
#pragma unroll
  for (int m = 0; m < matrices; ++m)
#pragma unroll
    for (int t = 0; t < Tiles; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        parts[slice][m][8 * t + 2 * q + i % 2][g + 8 * (i / 2)] =
            sums[m][t].of[i] * scales[t][i % 2];
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < Tiles * 8 * tile_rows; i += blockDim.x) {
    const std::uint32_t in_group = i % tile_rows, in_block = i / tile_rows;
    const std::uint32_t row = first_row + in_block, output = group.number * tile_rows + in_group;
    if (row >= rows || output >= a.matrix[group.matrix].outputs) continue;
    float total[matrices];
#pragma unroll
    for (int m = 0; m < matrices; ++m) {
      total[m] = 0;
      for (std::uint32_t s = 0; s < slices; ++s) total[m] += parts[s][m][in_block][in_group];
      total[m] *= Kind::factor(a, loop.tiles[m].tiles, in_group);
    }
    store(a, group.matrix, output, row, Pair ? gated(total[0], total[matrices - 1]) : total[0]);
  }
}

}  // namespace tacet::cuda
