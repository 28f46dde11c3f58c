#pragma once

#include "backends/cuda/attention/halves.cuh"

/// Attention of many rows: a block takes all splits of some queries.
namespace tacet::cuda {

/// A block takes some queries, and one tile of keys after the other; `shares` warps have the same
/// 16 queries, each a part of the columns. The keys of the next tile come while values are added,
/// its values while scores are. The sums of splits that are done are in shared memory.
template <int Size, bool Coded>
__device__ void attend_many(const AttentionArguments& a, const RunContext& run) {
  constexpr std::uint32_t keys = keys_of_tile<Size>, count = half_many_queries(Size);
  constexpr std::uint32_t shares = half_many_threads * 16 / 32 / count;
  constexpr int tiles = keys / 8, columns = Size / 8 / shares;
  extern __shared__ uint4 memory[];
  auto* high = reinterpret_cast<__half*>(memory);
  __half* low = high + count * Size;
  __half* k_tile = low + count * Size;
  __half* v_tile = k_tile + keys * Size;
  // Each thread's own, in the order of its sums.
  float* sums = reinterpret_cast<float*>(v_tile + keys * Size) + threadIdx.x;
  __shared__ QueryArgs args[count];
  const RunBlock& block = *run.block;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t kv_head = blockIdx.y;
  let_next_begin();
  std::uint32_t word = 0;  // of the stop, as it was a tile of keys before
  const std::uint32_t epoch = block.epoch;
  const LayerArgs& layer = block.layers[a.layer];
  const KeptRows k_rows = keys_of(a, layer), v_rows = values_of(a, layer);
  const std::uint32_t first_query = warp / shares * 16;
  const std::uint32_t first_column = warp % shares * (Size / shares);
  wait_for_previous();
  // Those with the most keys begin first.
  const std::uint32_t tile_count = tiles_in(a, block, count);
  for (std::uint32_t number = blockIdx.x; number < tile_count; number += gridDim.x) {
    const Tile tile = tile_at(a, block, tile_count - 1 - number, count);
    const SequenceArgs& sequence = *tile.sequence;
    const TileQueries queries{a, sequence, tile, kv_head};
    const Seen least = seen_by(a, block, sequence, queries.row(0));
    const Seen seen{least.first, seen_by(a, block, sequence, queries.row(tile.count - 1)).end};
    const auto fill = [&](__half* to, const KeptRows& rows, std::uint32_t first) {
      if (first < seen.end)
        fill_tile<Size, Coded>(to, block, sequence, rows, kv_head, first, seen);
      else
        end_group_of_copies();
    };
    std::uint32_t first = seen.first / keys * keys;
    fill(k_tile, k_rows, first);
    fill(v_tile, v_rows, first);
    load_queries<Size>(queries, block, count, high, low, args);
#pragma unroll
    for (int i = 0; i < 4 * columns; ++i) sums[i * half_many_threads] = 0;

    Softmax whole[2], part[2];
    float part_sums[columns][4] = {};
    for (; first < seen.end; first += keys) {
      wait_for_copies<1>();
      if (__syncthreads_or(threadIdx.x == 0 && word == epoch ? 1 : 0) != 0)
        return wait_for_copies<0>();
      if (threadIdx.x == 0) word = load_relaxed(run.stop);
      float scores[tiles][4] = {};
      add_scores<Size>(scores, high + first_query * Size, low + first_query * Size, k_tile);
      __syncthreads();
      fill(k_tile, k_rows, first + keys);
      float before[2];
      weigh(queries, block, args, first_query, first, scores, part, before);
      wait_for_copies<1>();
      __syncthreads();
      add_values<Size, tiles>(
          part_sums,
          [&](int step) {
            WeightHalves weights;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              const float* two = &scores[2 * step + i / 2][2 * (i % 2)];
              split_weights(two[0], two[1], weights.high[i], weights.low[i]);
            }
            return weights;
          },
          before, v_tile, first_column);
      __syncthreads();
      fill(v_tile, v_rows, first + keys);
      if ((first + keys) % a.split != 0 && first + keys < seen.end) continue;
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const float largest = fmaxf(whole[p].largest, part[p].largest);
        const float old = share(whole[p].largest, largest), now = share(part[p].largest, largest);
        const bool counts = part[p].largest != -INFINITY;
        if (counts) whole[p] = {largest, whole[p].total * old + part[p].total * now};
        part[p] = {};
#pragma unroll
        for (int c = 0; c < columns; ++c)
#pragma unroll
          for (int i = 2 * p; i < 2 * p + 2; ++i) {
            float& sum = sums[(4 * c + i) * half_many_threads];
            if (counts) sum = sum * old + part_sums[c][i] * now;
            part_sums[c][i] = 0;
          }
      }
    }
    wait_for_copies<0>();
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t query = first_query + lane / 4 + 8 * p;
      if (query >= tile.count) continue;
      const std::uint32_t row = queries.row(query), head = queries.head(query);
      const float factor = finish(a, whole[p], head);
      float* out = a.out + (std::size_t{row} * a.heads + head) * a.v_size;
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const float* two = sums + (4 * c + 2 * p) * half_many_threads;
        store_two(a, out, first_column + 8 * c, two[0] * factor, two[half_many_threads] * factor);
      }
    }
  }
}

}  // namespace tacet::cuda
