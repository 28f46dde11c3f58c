#pragma once

#include "backends/cuda/async_copy.cuh"
#include "backends/cuda/attention/coded_pieces.cuh"
#include "backends/cuda/attention/queries.cuh"
#include "backends/cuda/mma.cuh"

/// Attention to keys and values in f16 with tensor cores. Queries and weights are split in two
/// halves, together 22 bits, so that what is rounded does not show beside sums in f32.
namespace tacet::cuda {

/// Keys come in tiles, each at a multiple of its size.
template <int Size>
inline constexpr std::uint32_t keys_of_tile = tile_keys(Size);
/// Where the eight halves `piece` of a row lie in shared memory. Of eight rows they are in as many
/// different banks.
template <int Size>
__device__ std::uint32_t place(std::uint32_t row, std::uint32_t piece) {
  return row * Size + (piece ^ row % 8) * 8;
}

/// What belongs to a query.
struct QueryArgs {
  Seen seen;
  std::int32_t position;
  float slope;
  float scale;  ///< that scores are multiplied by
};

/// The queries of a tile, of a sequence and a head of the keys.
struct TileQueries {
  const AttentionArguments& a;
  const SequenceArgs& sequence;
  Tile tile;
  std::uint32_t kv_head;

  __device__ std::uint32_t row(std::uint32_t query) const {
    return sequence.begin + (tile.first + query) / a.group;
  }
  __device__ std::uint32_t head(std::uint32_t query) const {
    return kv_head * a.group + (tile.first + query) % a.group;
  }
  /// But for the scale.
  __device__ QueryArgs args(const RunBlock& block, std::uint32_t query) const {
    QueryArgs args{};
    if (query >= tile.count) return args;
    args.seen = seen_by(a, block, sequence, row(query));
    if (args.seen.end != 0)
      args.position = position_of(block, sequence, sequence.past + row(query) - sequence.begin);
    args.slope = slope_of(a, head(query));
    return args;
  }
};

/// Brings `count` queries to shared memory, as halves and what they lack, times a power of two for
/// each query. A warp takes a query.
template <int Size>
__device__ void load_queries(const TileQueries& queries, const RunBlock& block, std::uint32_t count,
                             __half* high, __half* low, QueryArgs* args) {
  constexpr std::uint32_t pairs = Size / 64;
  const AttentionArguments& a = queries.a;
  const std::uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x < count) args[threadIdx.x] = queries.args(block, threadIdx.x);
  __syncthreads();
  for (std::uint32_t query = threadIdx.x / 32; query < count; query += blockDim.x / 32) {
    const bool is_there = query < queries.tile.count;
    const float* from =
        a.q + (is_there ? (std::size_t{queries.row(query)} * a.heads + queries.head(query)) : 0) *
                  a.k_size;
    float2 x[pairs];
    float largest = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < pairs; ++i) {
      const std::uint32_t column = 2 * lane + 64 * i;
      x[i] = is_there && column < a.k_size ? *reinterpret_cast<const float2*>(from + column)
                                           : float2{0, 0};
      largest = fmaxf(largest, fmaxf(fabsf(x[i].x), fabsf(x[i].y)));
    }
    // The largest becomes 2^14 to 2^15.
    const std::uint32_t exponent = __float_as_uint(warp_largest(largest)) >> 23;
    const bool has_factor = exponent >= 15 && exponent < 255;
    const float factor = has_factor ? __uint_as_float((268 - exponent) << 23) : 1;
    if (lane == 0)
      args[query].scale = has_factor ? a.scale * __uint_as_float((exponent - 14) << 23) : a.scale;
#pragma unroll
    for (std::uint32_t i = 0; i < pairs; ++i) {
      const float2 scaled{x[i].x * factor, x[i].y * factor};
      const __half2 first = __float22half2_rn(scaled);
      const float2 rest{scaled.x - __low2float(first), scaled.y - __high2float(first)};
      const std::uint32_t at = place<Size>(query, lane / 4 + 8 * i) + 2 * (lane % 4);
      *reinterpret_cast<__half2*>(high + at) = first;
      *reinterpret_cast<__half2*>(low + at) = __float22half2_rn(rest);
    }
  }
}

/// Rows of keys or values of a layer and a head.
struct KeptRows {
  std::uint64_t offset;  ///< in a page
  std::uint32_t size;    ///< of a row, in elements
  std::size_t row_bytes;
  DType type;
};

__device__ inline KeptRows keys_of(const AttentionArguments& a, const LayerArgs& layer) {
  return {layer.k_offset, a.k_size, kept_row_bytes(a.k_type, a.k_size), a.k_type};
}
__device__ inline KeptRows values_of(const AttentionArguments& a, const LayerArgs& layer) {
  if (a.values_in_keys)
    return {layer.k_offset, a.v_size, kept_row_bytes(a.k_type, a.k_size), a.k_type};
  return {layer.v_offset, a.v_size, kept_row_bytes(a.v_type, a.v_size), a.v_type};
}

/// Brings pieces of rows of keys or values, `rows` of them from `from(i)` to `to(i)`, as a group of
/// copies; zeros where `from` is null. With `Coded` rows may be of a type with blocks.
template <bool Coded, std::uint32_t Rows, typename From, typename To>
__device__ void bring_pieces(const KeptRows& kept, std::uint32_t piece, const void* nothing,
                             const From& from, const To& to) {
  const bool has_piece = 8 * piece < kept.size;
  if (!Coded || kept.type == DType::f16) {
#pragma unroll
    for (std::uint32_t i = 0; i < Rows; ++i) {
      const std::byte* row = has_piece ? from(i) : nullptr;
      const void* at = row != nullptr ? row + 16 * piece : nothing;
      copy_to_shared(to(i), static_cast<const uint4*>(at), row != nullptr);
    }
  } else {
    CodedPiece pieces[Rows];
#pragma unroll
    for (std::uint32_t i = 0; i < Rows; ++i)
      pieces[i] = load_piece(kept.type, has_piece ? from(i) : nullptr, piece);
#pragma unroll
    for (std::uint32_t i = 0; i < Rows; ++i) *to(i) = halves_of(kept.type, pieces[i], piece);
  }
  end_group_of_copies();
}

/// Brings a tile of rows to shared memory, those of the cells `seen` from the cell `first` on;
/// zeros stand for others, and for what a row lacks.
template <int Size, bool Coded>
__device__ void fill_tile(__half* to, const RunBlock& block, const SequenceArgs& sequence,
                          const KeptRows& rows, std::uint32_t kv_head, std::uint32_t first,
                          const Seen& seen) {
  constexpr std::uint32_t pieces = Size / 8, step = half_many_threads / pieces;
  const std::uint32_t piece = threadIdx.x % pieces, row = threadIdx.x / pieces;
  bring_pieces<Coded, keys_of_tile<Size> / step>(
      rows, piece, &block,
      [&](std::uint32_t i) -> const std::byte* {
        const std::uint32_t cell = first + row + i * step;
        if (cell < seen.first || cell >= seen.end) return nullptr;
        return kept_row(block, sequence, rows.offset, rows.row_bytes, kv_head, cell);
      },
      [&](std::uint32_t i) {
        return reinterpret_cast<uint4*>(to + place<Size>(row + i * step, piece));
      });
}

/// Adds to the scores of 16 queries and `Tiles` times 8 keys.
template <int Size, int Tiles>
__device__ void add_scores(float (&scores)[Tiles][4], const __half* high, const __half* low,
                           const __half* keys) {
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < Size / 16; ++step) {
    std::uint32_t first[4], rest[4];
    const std::uint32_t at = place<Size>(lane % 16, 2 * step + lane / 16);
    load_matrices<false>(first, high + at);
    load_matrices<false>(rest, low + at);
    std::uint32_t b[Tiles / 2 + Tiles % 2][4];
#pragma unroll
    for (int n = 0; n < Tiles; n += 2)
      // With one tile the second half of what is loaded is of no use, but there.
      load_matrices<false>(b[n / 2], keys + place<Size>(8 * n + lane % 8 + 8 * (lane / 16),
                                                        2 * step + lane / 8 % 2));
#pragma unroll
    for (int n = 0; n < Tiles; ++n)
      multiply_halves<false>(scores[n], first, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
#pragma unroll
    for (int n = 0; n < Tiles; ++n)
      multiply_halves<false>(scores[n], rest, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
  }
}

/// e^x, zero instead of what is below the normal numbers.
__device__ inline float fast_exp(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504F));
  return power;
}

/// Makes of products what weights are made of: of the queries from `first_query` + 8p on and the
/// keys from the cell `first` on. -infinity where a query does not see a key. Returns the largest
/// of the lane's query.
template <int Tiles>
__device__ float bound_scores(const TileQueries& queries, const RunBlock& block,
                              const QueryArgs& query, int p, std::uint32_t first,
                              float (&scores)[Tiles][4]) {
  const AttentionArguments& a = queries.a;
  const auto each = [&](const auto& change) {
#pragma unroll
    for (int n = 0; n < Tiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        change(scores[n][2 * p + i], first + 8 * n + 2 * (threadIdx.x % 4) + i);
  };
  each([&](float& s, std::uint32_t) { s *= query.scale; });
  if (a.softcap != 0) each([&](float& s, std::uint32_t) { s = a.softcap * tanhf(s / a.softcap); });
  if (a.max_bias != 0)
    each([&](float& s, std::uint32_t cell) {
      if (cell >= query.seen.end) return;
      s -= query.slope *
           fabsf(static_cast<float>(query.position - position_of(block, queries.sequence, cell)));
    });
  float largest = -INFINITY;
  const std::uint32_t count = query.seen.end - query.seen.first;
  each([&](float& s, std::uint32_t cell) {
    if (cell - query.seen.first >= count) s = -INFINITY;
    largest = fmaxf(largest, s);
  });
  largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
  return fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
}

/// What weights are relative to where `largest` is the largest score.
__device__ inline float base_of(float largest) {
  return largest == -INFINITY ? 0 : largest;
}

/// Makes weights of the scores of a tile of keys from the cell `first` on, of 16 queries from
/// `first_query` on. `before` becomes what earlier sums are multiplied by.
template <int Tiles>
__device__ void weigh(const TileQueries& queries, const RunBlock& block, const QueryArgs* args,
                      std::uint32_t first_query, std::uint32_t first, float (&scores)[Tiles][4],
                      Softmax (&softmax)[2], float (&before)[2]) {
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    before[p] = 1;
    // With one row there are few queries; all lanes skip those that are not there.
    if (first_query + 8 * p >= queries.tile.count) continue;
    const QueryArgs query = args[first_query + threadIdx.x % 32 / 4 + 8 * p];
    const float largest =
        fmaxf(softmax[p].largest, bound_scores(queries, block, query, p, first, scores));
    const float base = base_of(largest);
    float total = 0;
#pragma unroll
    for (int n = 0; n < Tiles; ++n)
#pragma unroll
      for (int i = 2 * p; i < 2 * p + 2; ++i) {
        scores[n][i] = fast_exp(scores[n][i] - base);
        total += scores[n][i];
      }
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    before[p] = share(softmax[p].largest, largest);
    softmax[p].total = softmax[p].total * before[p] + total;
    softmax[p].largest = largest;
  }
}

/// Two weights as halves, and what those lack.
__device__ inline void split_weights(float u, float v, std::uint32_t& high, std::uint32_t& low) {
  const __half2 first = __floats2half2_rn(u, v);
  const __half2 rest = __floats2half2_rn(u - __low2float(first), v - __high2float(first));
  high = *reinterpret_cast<const std::uint32_t*>(&first);
  low = *reinterpret_cast<const std::uint32_t*>(&rest);
}

/// The left operand of the products with 16 keys: weights of 16 queries as halves, and what those
/// lack.
struct WeightHalves {
  std::uint32_t high[4], low[4];
};

/// Multiplies the sums of `Columns` times 8 columns from `first` on by `before`, and adds the
/// values of `Tiles` times 8 keys, those of `weights_of(step)` at a time.
template <int Size, int Tiles, int Columns, typename WeightsOf>
__device__ void add_values(float (&sums)[Columns][4], const WeightsOf& weights_of,
                           const float (&before)[2], const __half* values, std::uint32_t first) {
  static_assert(Tiles % 2 == 0 && Columns % 2 == 0);
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (int c = 0; c < Columns; ++c)
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[c][i] *= before[i / 2];
#pragma unroll
  for (int step = 0; step < Tiles / 2; ++step) {
    const WeightHalves weights = weights_of(step);
    constexpr int at_once = Columns < 8 ? Columns : 8;
#pragma unroll
    for (int c = 0; c < Columns; c += at_once) {
      std::uint32_t b[at_once / 2][4];
#pragma unroll
      for (int i = 0; i < at_once / 2; ++i)
        load_matrices<true>(
            b[i], values + place<Size>(16 * step + lane % 16, first / 8 + c + 2 * i + lane / 16));
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        multiply_halves<false>(sums[c + i], weights.high, b[i / 2][i % 2 * 2],
                               b[i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        multiply_halves<false>(sums[c + i], weights.low, b[i / 2][i % 2 * 2],
                               b[i / 2][i % 2 * 2 + 1]);
    }
  }
}

/// Writes a lane's two of eight columns of a query from the column `first` on.
__device__ inline void store_two(const AttentionArguments& a, float* out, std::uint32_t first,
                                 float u, float v) {
  const std::uint32_t column = first + 2 * (threadIdx.x % 4);
  if (column < a.v_size) *reinterpret_cast<float2*>(out + column) = {u, v};
}

}  // namespace tacet::cuda
