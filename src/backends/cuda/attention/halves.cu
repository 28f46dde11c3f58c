#include "backends/cuda/attention/halves.cuh"

namespace tacet::cuda {

namespace {

__device__ KeptRows keys_of(const AttentionArguments& a, const LayerArgs& layer) {
  return {layer.k_offset, a.k_size, std::size_t{a.k_size} * 2};
}
__device__ KeptRows values_of(const AttentionArguments& a, const LayerArgs& layer) {
  if (a.values_in_keys) return {layer.k_offset, a.v_size, std::size_t{a.k_size} * 2};
  return {layer.v_offset, a.v_size, std::size_t{a.v_size} * 2};
}

/// A block takes splits for 16 queries. For a tile its warps share the scores, and each sums up a
/// part of the columns. Two tiles are on their way or computed.
template <int Size>
__device__ void attend_few(const AttentionArguments& a, const RunContext& run) {
  constexpr std::uint32_t keys = keys_of_tile<Size>;
  constexpr std::uint32_t warps = half_few_warps(Size);
  constexpr int tiles = keys / 8, tiles_of_warp = tiles / warps;
  constexpr int columns = Size / 8 / warps;
  extern __shared__ uint4 memory[];
  auto* high = reinterpret_cast<__half*>(memory);
  __half* low = high + half_few_queries * Size;
  __half* kept = low + half_few_queries * Size;
  auto* shared_scores = reinterpret_cast<float4*>(kept + 4 * keys * Size);
  __shared__ QueryArgs args[half_few_queries];
  const RunBlock& block = *run.block;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t kv_head = blockIdx.y;
  let_next_begin();
  const Tile tile = tile_at(a, block, blockIdx.x, half_few_queries);
  if (tile.sequence == nullptr) return wait_for_previous();
  const SequenceArgs& sequence = *tile.sequence;
  const TileQueries queries{a, sequence, tile, kv_head};
  const Seen least = seen_by(a, block, sequence, queries.row(0));
  const Seen most = seen_by(a, block, sequence, queries.row(tile.count - 1));
  const std::uint32_t first_split = least.first / a.split;
  const std::uint32_t end_split = (most.end + a.split - 1) / a.split;
  const std::uint32_t splits = max(1u, end_split - first_split);
  const std::uint32_t blocks = min(gridDim.z, splits);
  if (blockIdx.z >= blocks) return wait_for_previous();
  const LayerArgs& layer = block.layers[a.layer];
  const KeptRows k_rows = keys_of(a, layer), v_rows = values_of(a, layer);
  // The tiles of this block, one split after the other: the one to ask for next.
  struct {
    std::uint32_t split, first, end;
  } next{first_split + blockIdx.z, 0, 0};
  const auto enter_split = [&] {
    next.first = max(next.split * a.split, least.first / keys * keys);
    next.end = min((next.split + 1) * a.split, most.end);
  };
  std::uint32_t asked = 0, taken = 0;
  const auto stage = [&](std::uint32_t number) { return kept + number % 2 * (2 * keys * Size); };
  const auto ask = [&] {
    if (next.split < end_split) {
      __half* to = stage(asked++);
      const Seen seen{least.first, next.end};
      fill_tile<Size>(to, block, sequence, k_rows, kv_head, next.first, seen);
      fill_tile<Size>(to + keys * Size, block, sequence, v_rows, kv_head, next.first, seen);
      next.first += keys;
      if (next.first >= next.end) {
        next.split += blocks;
        enter_split();
      }
    }
    end_group_of_copies();
  };
  // What earlier runs have kept is there before the previous kernel has ended.
  enter_split();
  int early = 0;
  for (; early < 2 && min(next.first + keys, next.end) <= sequence.past; ++early) ask();
  int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
  wait_for_previous();
  for (; early < 2; ++early) ask();
  load_queries<Size>(queries, block, half_few_queries, high, low, args);
  stop = __syncthreads_or(stop);

  const std::uint32_t first_column = warp * (Size / warps);
  for (std::uint32_t split = first_split + blockIdx.z; stop == 0; split += blocks) {
    Softmax softmax[2];
    float sums[columns][4] = {};
    const std::uint32_t end = min((split + 1) * a.split, most.end);
    std::uint32_t first = max(split * a.split, least.first / keys * keys);
    for (; first < end; first += keys, ++taken) {
      wait_for_copies<1>();
      if (__syncthreads_or(stop) != 0) break;
      if (threadIdx.x == 0) stop = asked_to_stop(run) ? 1 : 0;
      float part[tiles_of_warp][4] = {};
      add_scores<Size>(part, high, low, stage(taken) + warp * (8 * tiles_of_warp * Size));
#pragma unroll
      for (int n = 0; n < tiles_of_warp; ++n)
        shared_scores[(warp * tiles_of_warp + n) * 32 + lane] = {part[n][0], part[n][1], part[n][2],
                                                                 part[n][3]};
      __syncthreads();
      float scores[tiles][4];
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        const float4 four = shared_scores[n * 32 + lane];
        scores[n][0] = four.x, scores[n][1] = four.y, scores[n][2] = four.z, scores[n][3] = four.w;
      }
      float before[2];
      weigh(queries, block, args, 0, first, scores, softmax, before);
      add_values<Size>(sums, scores, before, stage(taken) + keys * Size, first_column);
      __syncthreads();
      ask();
    }
    stop = __syncthreads_or(stop);
    if (stop != 0) break;
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t query = lane / 4 + 8 * p;
      if (query >= tile.count) continue;
      const std::uint32_t row = queries.row(query), head = queries.head(query);
      float* out = splits == 1 ? a.out + (std::size_t{row} * a.heads + head) * a.v_size
                               : part_of(a, row, head, split);
      const float factor = splits == 1 ? finish(a, softmax[p], head) : 1;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        store_two(a, out, first_column + 8 * c, sums[c][2 * p] * factor,
                  sums[c][2 * p + 1] * factor);
      if (splits == 1 || warp != 0 || lane % 4 != 0) continue;
      out[a.v_size] = softmax[p].largest;
      out[a.v_size + 1] = softmax[p].total;
    }
    if (split + blocks >= end_split) break;
  }
  wait_for_copies<0>();
  if (stop != 0) return;
  if (splits == 1 || !is_last(a.arrivals + blockIdx.x * gridDim.y + blockIdx.y, blocks)) return;
  // A warp merges 64 columns of a query.
  constexpr std::uint32_t shares = Size / 64;
  for (std::uint32_t i = warp; i < tile.count * shares; i += warps) {
    const std::uint32_t row = queries.row(i / shares);
    const Seen seen = seen_by(a, block, sequence, row);
    merge_parts<2>(a, row, queries.head(i / shares), i % shares * 64, seen.first / a.split,
                   (seen.end + a.split - 1) / a.split);
  }
}

/// A block takes some queries, and one tile of keys after the other; `shares` warps have the same
/// 16 queries, each a part of the columns. The keys of the next tile come while values are added,
/// its values while scores are. The sums of splits that are done are in shared memory.
template <int Size>
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
      if (first < seen.end) fill_tile<Size>(to, block, sequence, rows, kv_head, first, seen);
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
      add_values<Size>(part_sums, scores, before, v_tile, first_column);
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

}  // namespace

extern "C" __global__ void __launch_bounds__(half_many_threads, 2)
    many_64(const AttentionArguments a, const RunContext run) {
  attend_many<64>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * half_few_warps(64), 2)
    few_64(const AttentionArguments a, const RunContext run) {
  attend_few<64>(a, run);
}

extern "C" __global__ void __launch_bounds__(half_many_threads, 2)
    many_128(const AttentionArguments a, const RunContext run) {
  attend_many<128>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * half_few_warps(128), 2)
    few_128(const AttentionArguments a, const RunContext run) {
  attend_few<128>(a, run);
}

extern "C" __global__ void __launch_bounds__(half_many_threads, 2)
    many_256(const AttentionArguments a, const RunContext run) {
  attend_many<256>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * half_few_warps(256), 2)
    few_256(const AttentionArguments a, const RunContext run) {
  attend_few<256>(a, run);
}

}  // namespace tacet::cuda
