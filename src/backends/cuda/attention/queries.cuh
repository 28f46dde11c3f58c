#pragma once

#include "backends/cuda/attention/attention.hpp"
#include "backends/cuda/attention/kept.cuh"

/// What kernels of attention share. A query is a head of a row. What its result is made of, and in
/// which order, depends on its keys alone: keys come in splits at multiples of `split`, in each the
/// softmax starts anew, and then the splits are merged one after the other (FlashAttention,
/// arXiv:2205.14135; split keys as in FlashDecoding). With few rows a block takes a split, and the
/// last one to end merges them; with many a block takes one after the other.
namespace tacet::cuda {

/// A softmax that is not finished: the largest score, and the sums of exponentials relative to it.
struct Softmax {
  float largest = -INFINITY;
  float total = 0;
};

/// How much what is relative to `largest` counts where `now` is the largest.
__device__ inline float share(float largest, float now) {
  return largest == -INFINITY ? 0 : expf(largest - now);
}

/// The cells that a row sees: from `first` up to before `end`.
struct Seen {
  std::uint32_t first, end;
};
__device__ inline std::int32_t position_of(const RunBlock& block, const SequenceArgs& sequence,
                                           std::uint32_t cell) {
  return sequence.first_position == SequenceArgs::none
             ? static_cast<std::int32_t>(cell)
             : block.cell_positions[sequence.first_position + cell];
}
__device__ inline Seen seen_by(const AttentionArguments& a, const RunBlock& block,
                               const SequenceArgs& sequence, std::uint32_t row) {
  if (sequence.page_count == 0) return {0, 0};
  const std::uint32_t own = sequence.past + row - sequence.begin;
  Seen seen{0, a.causal ? own + 1 : sequence.past + sequence.end - sequence.begin};
  if (a.window == 0) return seen;
  // Positions never fall: the first one that is near enough, in a binary search.
  const std::int64_t least = std::int64_t{position_of(block, sequence, own)} - a.window + 1;
  std::uint32_t low = 0, high = seen.end;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (position_of(block, sequence, middle) < least)
      low = middle + 1;
    else
      high = middle;
  }
  seen.first = low;
  return seen;
}

/// Some queries of one sequence and one head of the keys: query i is the row i / group and the head
/// i % group of the heads that share the keys.
struct Tile {
  const SequenceArgs* sequence;
  std::uint32_t first;  ///< query
  std::uint32_t count;
};
/// How many tiles of `queries` queries the sequences of a run have, those of one head of the keys.
__device__ inline std::uint32_t tiles_in(const AttentionArguments& a, const RunBlock& block,
                                         std::uint32_t queries) {
  std::uint32_t count = 0;
  for (std::uint32_t s = 0; s < block.sequence_count; ++s)
    count +=
        ((block.sequences[s].end - block.sequences[s].begin) * a.group + queries - 1) / queries;
  return count;
}
__device__ inline Tile tile_at(const AttentionArguments& a, const RunBlock& block,
                               std::uint32_t index, std::uint32_t queries) {
  for (std::uint32_t s = 0; s < block.sequence_count; ++s) {
    const SequenceArgs& sequence = block.sequences[s];
    const std::uint32_t all = (sequence.end - sequence.begin) * a.group;
    const std::uint32_t tiles = (all + queries - 1) / queries;
    if (index < tiles) return {&sequence, index * queries, min(queries, all - index * queries)};
    index -= tiles;
  }
  return {nullptr, 0, 0};
}

__device__ inline float slope_of(const AttentionArguments& a, std::uint32_t head) {
  if (a.max_bias == 0) return 0;
  const auto heads = a.heads;
  const std::uint32_t power = 1u << (31 - __clz(static_cast<int>(heads)));
  const double exponent = head < power ? (head + 1.0) / power : (head - power + 0.5) / power;
  return static_cast<float>(exp2(-a.max_bias * exponent));
}

__device__ inline float* part_of(const AttentionArguments& a, std::uint32_t row, std::uint32_t head,
                                 std::uint32_t split) {
  const std::size_t query = std::size_t{row} * a.heads + head;
  return a.parts + (query * a.most_splits + split) * part_floats(a.v_size);
}

/// What the sums of a finished softmax are multiplied by.
__device__ inline float finish(const AttentionArguments& a, Softmax softmax, std::uint32_t head) {
  if (softmax.largest == -INFINITY) return 0;
  float largest = softmax.largest;
  if (a.sinks != nullptr) {
    largest = fmaxf(largest, a.sinks[head]);
    softmax.total = softmax.total * share(softmax.largest, largest) + expf(a.sinks[head] - largest);
  }
  return share(softmax.largest, largest) / softmax.total;
}

/// A warp merges the parts of a query, `Columns` times 32 columns from `column` on, in their order.
/// What each counts depends on the largest score so far alone, so lanes compute that for 32 of them
/// at a time; sums are asked for some at a time.
template <int Columns>
__device__ void merge_parts(const AttentionArguments& a, std::uint32_t row, std::uint32_t head,
                            std::uint32_t column, std::uint32_t first, std::uint32_t end) {
  constexpr std::uint32_t at_once = Columns <= 2    ? 32
                                    : Columns <= 4  ? 16
                                    : Columns <= 8  ? 8
                                    : Columns <= 16 ? 4
                                                    : 2;
  const std::uint32_t lane = threadIdx.x % 32;
  column += lane;
  Softmax whole;
  float sums[Columns] = {};
  for (; first < end; first += 32) {
    Softmax one;
    if (first + lane < end) {
      const float* part = part_of(a, row, head, first + lane);
      one = {__ldcg(part + a.v_size), __ldcg(part + a.v_size + 1)};
    }
    float largest = fmaxf(one.largest, whole.largest);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float other = __shfl_up_sync(~0u, largest, distance);
      if (lane >= distance) largest = fmaxf(largest, other);
    }
    float previous = __shfl_up_sync(~0u, largest, 1);
    if (lane == 0) previous = whole.largest;
    const float before = share(previous, largest), now = share(one.largest, largest);
    const std::uint32_t counts = __ballot_sync(~0u, one.largest != -INFINITY);
    whole.largest = __shfl_sync(~0u, largest, 31);
    for (std::uint32_t batch = 0; batch < 32 && first + batch < end; batch += at_once) {
      float values[at_once][Columns];
#pragma unroll
      for (std::uint32_t i = 0; i < at_once; ++i) {
        const float* part = part_of(a, row, head, min(first + batch + i, end - 1));
#pragma unroll
        for (int c = 0; c < Columns; ++c)
          values[i][c] = column + 32 * c < a.v_size ? __ldcg(part + column + 32 * c) : 0;
      }
#pragma unroll
      for (std::uint32_t i = 0; i < at_once; ++i) {
        const float old = __shfl_sync(~0u, before, batch + i);
        const float factor = __shfl_sync(~0u, now, batch + i);
        const float total = __shfl_sync(~0u, one.total, batch + i);
        if ((counts >> (batch + i) & 1) == 0) continue;
        whole.total = whole.total * old + total * factor;
#pragma unroll
        for (int c = 0; c < Columns; ++c) sums[c] = sums[c] * old + values[i][c] * factor;
      }
    }
  }
  const float factor = finish(a, whole, head);
  float* out = a.out + (std::size_t{row} * a.heads + head) * a.v_size;
#pragma unroll
  for (int c = 0; c < Columns; ++c)
    if (column + 32 * c < a.v_size) out[column + 32 * c] = sums[c] * factor;
}

/// Whether this block is the last of `expected` that came here with its parts, which it may then
/// read. The same answer for all threads.
__device__ inline bool is_last(std::uint32_t* arrivals, std::uint32_t expected) {
  __threadfence();
  __syncthreads();
  int last = 0;
  if (threadIdx.x == 0 && (expected == 1 || atomicAdd(arrivals, 1u) + 1 == expected)) {
    *arrivals = 0;
    last = 1;
  }
  last = __syncthreads_or(last);
  __threadfence();
  return last != 0;
}

}  // namespace tacet::cuda
