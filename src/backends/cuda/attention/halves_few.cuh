#pragma once

#include "backends/cuda/attention/halves.cuh"

/// Attention of few rows to keys and values in f16: blocks share the splits of a tile of 16
/// queries, and the last one to end merges them.
namespace tacet::cuda {

/// The splits of a tile of queries, and which of them a block takes: every `step`-th from `first`.
struct BlockSplits {
  std::uint32_t keys;  ///< of a split
  Seen seen;           ///< of any query of the tile
  std::uint32_t first, end, step;
};

/// Brings the keys and values of a block's splits to shared memory, tile by tile: two of them are
/// there or on their way. Each copy is a group. Where the rows of the next tile are is looked up
/// one tile ahead.
template <int Size, bool Coded>
class TilesOfSplits {
 public:
  static constexpr std::uint32_t keys = keys_of_tile<Size>;

  __device__ TilesOfSplits(const AttentionArguments& a, const RunBlock& block,
                           const SequenceArgs& sequence, const BlockSplits& splits,
                           std::uint32_t kv_head, __half* memory)
      : block_(block),
        pages_(block, sequence),
        k_rows_(keys_of(a, block.layers[a.layer])),
        v_rows_(values_of(a, block.layers[a.layer])),
        splits_(splits),
        kv_head_(kv_head),
        past_(sequence.past),
        memory_(memory),
        split_(splits.first) {
    enter_split();
    find_rows();
  }

  __device__ __half* keys_at(std::uint32_t number) const {
    return memory_ + number % 2 * (2 * keys * Size);
  }
  __device__ __half* values_at(std::uint32_t number) const { return keys_at(number) + keys * Size; }
  /// Whether earlier runs have kept all of the tile that is next.
  __device__ bool next_is_kept() const { return min(first_ + keys, end_) <= past_; }
  /// Asks for the keys of the next tile, and then for its values.
  __device__ void ask_keys() { copy(keys_at(asked_), k_rows_); }
  __device__ void ask_values() {
    copy(values_at(asked_++), v_rows_);
    first_ += keys;
    if (first_ >= end_) {
      split_ += splits_.step;
      enter_split();
    }
    find_rows();
  }

 private:
  static constexpr std::uint32_t pieces = Size / 8;  ///< of a row: a thread copies one of each
  static constexpr std::uint32_t row_step = 32 * half_few_warps(Size) / pieces;
  static constexpr std::uint32_t rows = keys / row_step;

  __device__ static std::uint32_t piece() { return threadIdx.x % pieces; }
  __device__ static std::uint32_t row(std::uint32_t i) {
    return threadIdx.x / pieces + i * row_step;
  }
  __device__ void enter_split() {
    first_ = max(split_ * splits_.keys, splits_.seen.first / keys * keys);
    end_ = min((split_ + 1) * splits_.keys, splits_.seen.end);
  }
  __device__ void find_rows() {
#pragma unroll
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::uint32_t cell = first_ + row(i);
      const bool is_seen = split_ < splits_.end && cell >= splits_.seen.first && cell < end_;
      data_[i] = is_seen ? pages_.of(cell, in_page_[i]) : nullptr;
    }
  }
  __device__ void copy(__half* to, const KeptRows& kept) const {
    bring_pieces<Coded, rows>(
        kept, piece(), &block_,
        [&](std::uint32_t i) -> const std::byte* {
          if (data_[i] == nullptr) return nullptr;
          return data_[i] + kept.offset +
                 (std::size_t{kv_head_} * pages_.tokens + in_page_[i]) * kept.row_bytes;
        },
        [&](std::uint32_t i) {
          return reinterpret_cast<uint4*>(to + place<Size>(row(i), piece()));
        });
  }

  const RunBlock& block_;
  const Pages pages_;
  const KeptRows k_rows_, v_rows_;
  const BlockSplits& splits_;
  const std::uint32_t kv_head_, past_;
  __half* const memory_;
  std::uint32_t split_, first_ = 0, end_ = 0;  ///< of the next tile
  std::uint32_t asked_ = 0;
  const std::byte* data_[rows];
  std::uint32_t in_page_[rows];
};

/// Merges the parts of each query of a tile, one split after the other. What each
/// counts depends on the largest scores alone: a warp computes it for 32 splits at a time, into
/// `factors`, which has room for `most_splits` of 16 queries. Then a warp takes 64 columns of a
/// query, with the parts of the next 16 splits on their way.
template <int Size>
__device__ void merge_tile(const AttentionArguments& a, const TileQueries& queries,
                           std::uint32_t first, std::uint32_t end, float4* factors) {
  constexpr std::uint32_t warps = half_few_warps(Size), shares = Size / 64, batch = 16;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t count = queries.tile.count, splits = end - first;
  const std::uint32_t pitch = part_floats(a.v_size);
  const auto parts_of = [&](std::uint32_t query) {
    return part_of(a, queries.row(query), queries.head(query), first);
  };
  const float* part = nullptr;
  const auto load = [&](float2(&to)[batch], std::uint32_t split) {
    if (split >= splits) return;
#pragma unroll
    for (std::uint32_t i = 0; i < batch; ++i)
      to[i] = __ldcg(reinterpret_cast<const float2*>(part + min(split + i, splits - 1) * pitch));
  };
  float2 now[batch] = {}, next[batch] = {};
  const auto enter = [&](std::uint32_t unit) {
    // Instead of columns that it lacks some that it has.
    part = parts_of(unit / shares) + min(unit % shares * 64 + 2 * lane, a.v_size - 2);
    load(now, 0);
  };
  if (warp < count * shares) enter(warp);
  for (std::uint32_t query = warp; query < count; query += warps) {
    const float* behind_sums = parts_of(query) + a.v_size;
    float4* own = factors + query * most_splits;
    float before = -INFINITY;  // the largest score of the splits before
    for (std::uint32_t s = 0; s < splits; s += 32) {
      Softmax one;
      if (s + lane < splits) {
        const auto* from = reinterpret_cast<const float2*>(behind_sums + (s + lane) * pitch);
        const float2 two = __ldcg(from);
        one = {two.x, two.y};
      }
      float largest = fmaxf(one.largest, before);
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const float other = __shfl_up_sync(~0u, largest, distance);
        if (lane >= distance) largest = fmaxf(largest, other);
      }
      float previous = __shfl_up_sync(~0u, largest, 1);
      if (lane == 0) previous = before;
      before = __shfl_sync(~0u, largest, 31);
      own[s + lane] = {share(previous, largest), share(one.largest, largest), one.total, 0};
    }
    __syncwarp();
    if (lane == 0) own[0].w = before;
  }
  __syncthreads();
  for (std::uint32_t unit = warp; unit < count * shares; unit += warps) {
    if (unit != warp) enter(unit);
    const std::uint32_t query = unit / shares, column = unit % shares * 64 + 2 * lane;
    const float4* own = factors + query * most_splits;
    float2 sums{0, 0};
    float total = 0;
    const auto add = [&](const float2(&values)[batch], std::uint32_t split) {
#pragma unroll
      for (std::uint32_t i = 0; i < batch; ++i) {
        const float4 factor = own[split + i];
        // The largest score of a part adds 1 to its total, unless all are -infinity. No branches:
        // they would keep loads behind them.
        const bool counts = factor.z != 0;
        const float with_total = total * factor.x + factor.z * factor.y;
        const float with_x = sums.x * factor.x + values[i].x * factor.y;
        const float with_y = sums.y * factor.x + values[i].y * factor.y;
        total = counts ? with_total : total;
        sums.x = counts ? with_x : sums.x;
        sums.y = counts ? with_y : sums.y;
      }
    };
    for (std::uint32_t split = 0; split < splits; split += 2 * batch) {
      load(next, split + batch);
      add(now, split);
      load(now, split + 2 * batch);
      add(next, split + batch);
    }
    if (column >= a.v_size) continue;
    const std::uint32_t head = queries.head(query);
    const float factor = finish(a, {own[0].w, total}, head);
    float* out = a.out + (std::size_t{queries.row(query)} * a.heads + head) * a.v_size + column;
    *reinterpret_cast<float2*>(out) = {sums.x * factor, sums.y * factor};
  }
}

/// A block takes splits for 16 queries. For a tile of keys each warp makes weights of some, and
/// sums up a part of the columns of the values.
template <int Size, bool Coded>
__device__ void attend_few(const AttentionArguments& a, const RunContext& run) {
  constexpr std::uint32_t keys = keys_of_tile<Size>, warps = half_few_warps(Size);
  constexpr int tiles = keys / 8, tiles_of_warp = tiles / warps;
  constexpr int columns = Size / 8 / warps;
  extern __shared__ uint4 memory[];
  auto* high = reinterpret_cast<__half*>(memory);
  __half* low = high + half_few_queries * Size;
  __half* kept = low + half_few_queries * Size;
  // Of each tile of eight keys what a lane needs: as halves of the lane's two queries, what those
  // lack; and as floats.
  auto* weights = reinterpret_cast<uint4*>(kept + 4 * keys * Size);
  __shared__ float4 plain_weights[tiles * 32];
  __shared__ float largest_of[half_few_queries][warps];
  __shared__ float totals[half_few_queries];
  __shared__ QueryArgs args[half_few_queries];
  const RunBlock& block = *run.block;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t kv_head = blockIdx.y;
  let_next_begin();
  const Tile tile = tile_at(a, block, blockIdx.x, half_few_queries);
  if (tile.sequence == nullptr) return wait_for_previous();
  const SequenceArgs& sequence = *tile.sequence;
  const TileQueries queries{a, sequence, tile, kv_head};
  const Seen seen{seen_by(a, block, sequence, queries.row(0)).first,
                  seen_by(a, block, sequence, queries.row(tile.count - 1)).end};
  const std::uint32_t first_split = seen.first / a.split;
  const std::uint32_t end_split = (seen.end + a.split - 1) / a.split;
  const std::uint32_t split_count = max(1u, end_split - first_split);
  const std::uint32_t blocks = min(gridDim.z, split_count);
  if (blockIdx.z >= blocks) return wait_for_previous();
  const BlockSplits splits{a.split, seen, first_split + blockIdx.z, end_split, blocks};
  TilesOfSplits<Size, Coded> kept_tiles(a, block, sequence, splits, kv_head, kept);
  // What earlier runs have kept is there before the previous kernel has ended.
  const bool first_is_early = kept_tiles.next_is_kept();
  if (first_is_early) {
    kept_tiles.ask_keys();
    kept_tiles.ask_values();
  }
  const bool second_is_early = first_is_early && kept_tiles.next_is_kept();
  if (second_is_early) kept_tiles.ask_keys();
  int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
  wait_for_previous();
  if (!first_is_early) {
    kept_tiles.ask_keys();
    kept_tiles.ask_values();
  }
  if (!second_is_early) kept_tiles.ask_keys();
  load_queries<Size>(queries, block, half_few_queries, high, low, args);
  stop = __syncthreads_or(stop);

  const std::uint32_t first_column = warp * (Size / warps);
  std::uint32_t taken = 0;
  for (std::uint32_t split = splits.first; stop == 0; split += blocks) {
    Softmax softmax[2];  // the totals are those of the first warp
    float sums[columns][4] = {};
    const std::uint32_t end = min((split + 1) * a.split, seen.end);
    std::uint32_t first = max(split * a.split, seen.first / keys * keys);
    for (; first < end; first += keys, ++taken) {
      wait_for_copies<1>();
      if (__syncthreads_or(stop) != 0) break;
      kept_tiles.ask_values();  // of the next tile, where those before are of no use any more
      if (threadIdx.x == 0) stop = asked_to_stop(run) ? 1 : 0;
      constexpr std::uint32_t keys_of_warp = 8 * tiles_of_warp;
      float scores[tiles_of_warp][4] = {};
      add_scores<Size>(scores, high, low, kept_tiles.keys_at(taken) + warp * keys_of_warp * Size);
      const int halves = tile.count > 8 ? 2 : 1;
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        if (p >= halves) break;
        const std::uint32_t query = lane / 4 + 8 * p;
        const float largest =
            bound_scores(queries, block, args[query], p, first + warp * keys_of_warp, scores);
        if (lane % 4 == 0) largest_of[query][warp] = largest;
      }
      __syncthreads();
      float before[2] = {1, 1};
      uint4 halves_of[tiles_of_warp] = {};
      float4 plain[tiles_of_warp] = {};
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        if (p >= halves) break;
        float largest = softmax[p].largest;
#pragma unroll
        for (std::uint32_t w = 0; w < warps; ++w)
          largest = fmaxf(largest, largest_of[lane / 4 + 8 * p][w]);
        before[p] = share(softmax[p].largest, largest);
        softmax[p].largest = largest;
        const float base = base_of(largest);
#pragma unroll
        for (int n = 0; n < tiles_of_warp; ++n) {
          const float u = fast_exp(scores[n][2 * p] - base);
          const float v = fast_exp(scores[n][2 * p + 1] - base);
          split_weights(u, v, p == 0 ? halves_of[n].x : halves_of[n].y,
                        p == 0 ? halves_of[n].z : halves_of[n].w);
          (p == 0 ? plain[n].x : plain[n].z) = u;
          (p == 0 ? plain[n].y : plain[n].w) = v;
        }
      }
#pragma unroll
      for (int n = 0; n < tiles_of_warp; ++n) {
        weights[(warp * tiles_of_warp + n) * 32 + lane] = halves_of[n];
        plain_weights[(warp * tiles_of_warp + n) * 32 + lane] = plain[n];
      }
      __syncthreads();
      kept_tiles.ask_keys();  // of the tile behind the next one: the scores have been computed
      add_values<Size, tiles>(
          sums,
          [&](int step) -> WeightHalves {
            const uint4 u = weights[2 * step * 32 + lane], v = weights[(2 * step + 1) * 32 + lane];
            return {{u.x, u.y, v.x, v.y}, {u.z, u.w, v.z, v.w}};
          },
          before, kept_tiles.values_at(taken), first_column);
      if (warp != 0) continue;
      float total[2] = {};
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
        const float4 four = plain_weights[n * 32 + lane];
        total[0] += four.x;
        total[0] += four.y;
        total[1] += four.z;
        total[1] += four.w;
      }
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        total[p] += __shfl_xor_sync(~0u, total[p], 1);
        total[p] += __shfl_xor_sync(~0u, total[p], 2);
        softmax[p].total = softmax[p].total * before[p] + total[p];
      }
    }
    if (split_count == 1 && warp == 0 && lane % 4 == 0)
      for (int p = 0; p < 2; ++p) totals[lane / 4 + 8 * p] = softmax[p].total;
    stop = __syncthreads_or(stop);
    if (stop != 0) break;
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t query = lane / 4 + 8 * p;
      if (query >= tile.count) continue;
      const std::uint32_t row = queries.row(query), head = queries.head(query);
      float* out = split_count == 1 ? a.out + (std::size_t{row} * a.heads + head) * a.v_size
                                    : part_of(a, row, head, split);
      const float factor =
          split_count == 1 ? finish(a, {softmax[p].largest, totals[query]}, head) : 1;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        store_two(a, out, first_column + 8 * c, sums[c][2 * p] * factor,
                  sums[c][2 * p + 1] * factor);
      if (split_count == 1 || warp != 0 || lane % 4 != 0) continue;
      out[a.v_size] = softmax[p].largest;
      out[a.v_size + 1] = softmax[p].total;
    }
    if (split + blocks >= end_split) break;
  }
  wait_for_copies<0>();
  if (stop != 0 || split_count == 1) return;
  if (is_last(a.arrivals + blockIdx.x * gridDim.y + blockIdx.y, blocks))
    merge_tile<Size>(a, queries, first_split, end_split, reinterpret_cast<float4*>(kept));
}

}  // namespace tacet::cuda
