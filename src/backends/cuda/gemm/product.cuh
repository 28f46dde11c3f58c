#pragma once

#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/activations.hpp"
#include "backends/cuda/gemm/product.hpp"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/ops/embed.cuh"

/// Products with tensor cores. What one output is made of, and in which order it is added, depends
/// on the matrix alone, not on how many rows there are or which kernel computes it:
///
/// The columns are cut in slices. In each, the chunks of 64 columns are added one after the other,
/// and then the slices are. With few rows each warp of a block takes a slice; with many a warp
/// takes one after the other.
namespace tacet::cuda {

__device__ inline std::uint32_t slice_begin(std::uint32_t chunks, std::uint32_t slice) {
  return chunks * slice / slices;
}

/// 16 rows of weights by 8 rows of activations; of each lane's four sums [2 p + i] is of the rows
/// g + 8 p and 2 q + i.
struct Sums {
  float of[4] = {};
};

/// A small integer is added to this float's bits, and is then what the float has more.
inline constexpr std::uint32_t magic_bits = 0x4b400000u;
inline constexpr float magic = 12582912.0F;

__device__ inline void multiply_16x32(std::int32_t (&c)[4], const std::uint32_t* a,
                                      std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void multiply_16x16(std::int32_t (&c)[4], const std::uint32_t* a,
                                      std::uint32_t b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}
template <bool Bf16>
__device__ inline void multiply_halves(float (&c)[4], const std::uint32_t* a, std::uint32_t b0,
                                       std::uint32_t b1) {
  if constexpr (Bf16)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Weights of a quantized type, activations of 8 bits.
template <DType Type>
struct CodedProduct {
  using Format = TileFormat<Type>;
  using Raw = RawChunk;
  struct Weights {
    std::uint32_t codes[8];
    ChunkScales<Format::groups> scales;
  };
  struct Activations {
    uint4 codes;              ///< of row g of eight
    CodedScale scales[2][2];  ///< of the rows 2 q and 2 q + 1
  };
  static constexpr std::uint32_t chunks_of_tile = Format::chunks;
  static constexpr std::uint32_t tile_bytes = Format::tile_bytes;

  __device__ static Raw load(const std::byte* tile, std::uint32_t chunk, std::uint32_t lane) {
    return load_chunk<Format>(tile, chunk, lane);
  }
  __device__ static Weights unpack(const Raw& raw) {
    Weights weights;
    unpack_codes<Type>(raw, weights.codes);
    unpack_scales<Type>(raw, weights.scales);
    return weights;
  }
  /// Of eight rows from `row` on, of which those from `rows` on count as zeros.
  __device__ static Activations load_activations(const ProductArguments& a, std::uint32_t row,
                                                 std::uint32_t rows, std::uint32_t chunk,
                                                 std::uint32_t lane) {
    const auto* x = static_cast<const CodedChunk*>(a.activations);
    const std::uint32_t g = lane / 4, q = lane % 4;
    Activations loaded;
    loaded.codes = uint4{};
    if (row + g < rows)
      loaded.codes = __ldg(
          reinterpret_cast<const uint4*>(x[std::size_t{row + g} * a.chunks + chunk].codes + 4 * q));
    for (std::uint32_t i = 0; i < 2; ++i) {
      uint4 scales{};
      if (row + 2 * q + i < rows)
        scales = __ldg(reinterpret_cast<const uint4*>(
            x[std::size_t{row + 2 * q + i} * a.chunks + chunk].scales));
      loaded.scales[i][0] = {__uint_as_float(scales.x),
                             {static_cast<std::int16_t>(scales.y & 0xffffu),
                              static_cast<std::int16_t>(scales.y >> 16)}};
      loaded.scales[i][1] = {__uint_as_float(scales.z),
                             {static_cast<std::int16_t>(scales.w & 0xffffu),
                              static_cast<std::int16_t>(scales.w >> 16)}};
    }
    return loaded;
  }
  __device__ static void add(const Weights& w, const Activations& x, Sums& sums) {
    const std::uint32_t codes[4] = {x.codes.x, x.codes.y, x.codes.z, x.codes.w};
#pragma unroll
    for (int group = 0; group < Format::groups; ++group) {
      const int b = group * 2 / Format::groups;
      std::int32_t c[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const CodedScale& scale = x.scales[i][b];
        const std::int32_t sum =
            Format::of_sixteen ? scale.sums[group % 2] : scale.sums[0] + scale.sums[1];
        c[i] = c[2 + i] = static_cast<std::int32_t>(magic_bits) - Format::zero * sum;
      }
      if constexpr (Format::of_sixteen)
        multiply_16x16(c, w.codes + 2 * group, codes[group]);
      else
        multiply_16x32(c, w.codes + 4 * group, codes[2 * b], codes[2 * b + 1]);
#pragma unroll
      for (int p = 0; p < 2; ++p)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const CodedScale& scale = x.scales[i][b];
          const float value = __int_as_float(c[2 * p + i]) - magic;
          float& to = sums.of[2 * p + i];
          to = fmaf(w.scales.scale[p][group] * scale.scale, value, to);
          if constexpr (Format::has_min) {
            const std::int32_t sum =
                Format::of_sixteen ? scale.sums[group % 2] : scale.sums[0] + scale.sums[1];
            to = fmaf(w.scales.min[p][group] * scale.scale, static_cast<float>(sum), to);
          }
        }
    }
  }
  __device__ static void embed(const EmbedArguments& a, const RunContext& run) {
    embed_codes<Type>(a, run);
  }
  /// What the sums of row `row` of the activations are multiplied by.
  __device__ static float factor(const ProductArguments&, std::uint32_t) {
    return 1;
  }
};

/// Weights that are halves or bfloat16, activations as two of them.
template <bool Bf16>
struct HalfProduct {
  struct Raw {
    uint4 steps[4];
  };
  using Weights = Raw;
  struct Activations {
    uint4 parts[2][2];
  };
  static constexpr std::uint32_t chunks_of_tile = 1;
  static constexpr std::uint32_t tile_bytes = tile_rows * chunk_columns * 2;

  __device__ static Raw load(const std::byte* tile, std::uint32_t, std::uint32_t lane) {
    Raw raw;
#pragma unroll
    for (int step = 0; step < 4; ++step)
      raw.steps[step] = __ldcs(reinterpret_cast<const uint4*>(tile) + step * 32 + lane);
    return raw;
  }
  __device__ static const Weights& unpack(const Raw& raw) {
    return raw;
  }
  __device__ static Activations load_activations(const ProductArguments& a, std::uint32_t row,
                                                 std::uint32_t rows, std::uint32_t chunk,
                                                 std::uint32_t lane) {
    const auto* x = static_cast<const SplitChunk*>(a.activations);
    const std::uint32_t g = lane / 4, q = lane % 4;
    Activations loaded = {};
    if (row + g >= rows) return loaded;
    const auto* words =
        reinterpret_cast<const uint4*>(x[std::size_t{row + g} * a.chunks + chunk].words);
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        loaded.parts[part][half] = __ldg(words + 8 * part + 2 * q + half);
    return loaded;
  }
  __device__ static void add(const Weights& w, const Activations& x, Sums& sums) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const std::uint32_t a[4] = {w.steps[step].x, w.steps[step].y, w.steps[step].z,
                                  w.steps[step].w};
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const uint4& words = x.parts[part][step / 2];
        multiply_halves<Bf16>(sums.of, a, step % 2 == 0 ? words.x : words.z,
                              step % 2 == 0 ? words.y : words.w);
      }
    }
  }
  __device__ static void embed(const EmbedArguments& a, const RunContext& run) {
    embed_elements<Bf16 ? Elements::bf16 : Elements::halves>(a, run);
  }
  __device__ static float factor(const ProductArguments& a, std::uint32_t row) {
    return a.factors[row];
  }
};

/// A matrix of a launch and a group of its rows.
struct Group {
  std::uint32_t matrix;
  std::uint32_t number;
};
__device__ inline Group group_of(const ProductArguments& a, std::uint32_t block) {
  std::uint32_t matrix = 0;
  while (matrix + 1 < a.matrices && block >= a.matrix[matrix].groups)
    block -= a.matrix[matrix++].groups;
  return {matrix, block};
}

__device__ inline void store(const ProductArguments& a, std::uint32_t matrix, std::uint32_t output,
                             std::uint32_t row, float sum) {
  const ProductMatrix& m = a.matrix[matrix];
  if (m.bias != nullptr) sum += m.bias[output];
  m.out[std::size_t{row} * m.outputs + output] = sum;
}
__device__ inline float gated(float gate, float up) {
  return gate / (1 + expf(-gate)) * up;
}

/// Up to 8 * Tiles rows: a block computes a group of 16 outputs of them, each warp a slice of the
/// columns. With `Pair` two matrices of one shape, whose outputs are gated.
template <typename Kind, int Tiles, bool Pair>
__device__ void product_of_few(const ProductArguments& a, const RunContext& run) {
  constexpr int matrices = Pair ? 2 : 1;
  const std::uint32_t lane = threadIdx.x % 32, slice = threadIdx.x / 32;
  const Group group = Pair ? Group{0, blockIdx.x} : group_of(a, blockIdx.x);
  const std::uint32_t first_row = blockIdx.y * (8 * Tiles);
  const std::uint32_t begin = slice_begin(a.chunks, slice), end = slice_begin(a.chunks, slice + 1);
  const std::byte* tiles[matrices];
#pragma unroll
  for (int m = 0; m < matrices; ++m)
    tiles[m] = a.matrix[group.matrix + m].tiles + group.number * a.group_bytes;

  const int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
  const std::uint32_t rows = live_rows(run, a.selected);
  Sums sums[matrices][Tiles];
  constexpr int ahead = sizeof(typename Kind::Raw) > 64 || Pair ? 2 : 4;
  typename Kind::Raw raw[ahead][matrices];
  const auto load = [&](std::uint32_t chunk) {
#pragma unroll
    for (int i = 0; i < ahead; ++i)
#pragma unroll
      for (int m = 0; m < matrices; ++m) {
        const std::uint32_t at = min(chunk + i, end - 1);
        raw[i][m] = Kind::load(tiles[m] + std::size_t{at / Kind::chunks_of_tile} * Kind::tile_bytes,
                               at % Kind::chunks_of_tile, lane);
      }
  };
  if (begin < end) load(begin);
  if (__syncthreads_or(stop) != 0) return;
  for (std::uint32_t chunk = begin; chunk < end; chunk += ahead) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      if (chunk + i >= end) break;
      typename Kind::Activations x[Tiles];
#pragma unroll
      for (int t = 0; t < Tiles; ++t)
        x[t] = Kind::load_activations(a, first_row + 8 * t, rows, chunk + i, lane);
#pragma unroll
      for (int m = 0; m < matrices; ++m) {
        const typename Kind::Weights w = Kind::unpack(raw[i][m]);
#pragma unroll
        for (int t = 0; t < Tiles; ++t) Kind::add(w, x[t], sums[m][t]);
      }
    }
    if (chunk + ahead < end) load(chunk + ahead);
  }

  __shared__ float parts[slices][matrices][Tiles * 8][tile_rows + 1];
  const std::uint32_t g = lane / 4, q = lane % 4;
#pragma unroll
  for (int m = 0; m < matrices; ++m)
#pragma unroll
    for (int t = 0; t < Tiles; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        parts[slice][m][8 * t + 2 * q + i % 2][g + 8 * (i / 2)] = sums[m][t].of[i];
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
      total[m] *= Kind::factor(a, row);
    }
    store(a, group.matrix, output, row, Pair ? gated(total[0], total[matrices - 1]) : total[0]);
  }
}

/// Many rows: a block computes 128 outputs (with `Pair` 64 of two matrices) of 64 rows, each warp
/// 32 (16) of 32 rows.

template <typename Kind, bool Pair>
__device__ void product_of_many(const ProductArguments& a, const RunContext& run) {
  constexpr int tiles_of_warp = 4;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t rows = live_rows(run, a.selected);
  const std::uint32_t first_row = blockIdx.x * rows_of_block + warp / 4 * 32;
  const std::uint32_t place =
      blockIdx.y * (Pair ? groups_of_block / 2 : groups_of_block) + warp % 4 * (Pair ? 1 : 2);
  const std::byte* tiles[2];
  Group group[2];
  bool has_group[2];
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const std::uint32_t number = Pair ? place : place + m;
    has_group[m] = number < a.groups;
    group[m] = Pair ? Group{static_cast<std::uint32_t>(m), number} : group_of(a, number);
    if (!has_group[m]) group[m] = {0, 0};
    tiles[m] = a.matrix[group[m].matrix].tiles + group[m].number * a.group_bytes;
  }
  if (first_row >= rows || !has_group[0]) return;

  Sums total[2][tiles_of_warp];
  typename Kind::Raw next[2];
  const auto load = [&](std::uint32_t chunk) {
#pragma unroll
    for (int m = 0; m < 2; ++m)
      next[m] = Kind::load(tiles[m] + std::size_t{chunk / Kind::chunks_of_tile} * Kind::tile_bytes,
                           chunk % Kind::chunks_of_tile, lane);
  };
  load(0);
  // One lane looks at the stop every eight chunks, and what it saw is used eight chunks later.
  std::uint32_t seen = 0;
  const std::uint32_t epoch = run.block->epoch;
  for (std::uint32_t slice = 0; slice < slices; ++slice) {
    Sums sums[2][tiles_of_warp];
    const std::uint32_t end = slice_begin(a.chunks, slice + 1);
    for (std::uint32_t chunk = slice_begin(a.chunks, slice); chunk < end; ++chunk) {
      if (chunk % 8 == 0) {
        if (__shfl_sync(~0u, seen, 0) == epoch) return;
        if (lane == 0) seen = load_relaxed(run.stop);
      }
      typename Kind::Weights w[2] = {Kind::unpack(next[0]), Kind::unpack(next[1])};
      if (chunk + 1 < a.chunks) load(chunk + 1);
#pragma unroll
      for (int t = 0; t < tiles_of_warp; ++t) {
        const auto x = Kind::load_activations(a, first_row + 8 * t, rows, chunk, lane);
#pragma unroll
        for (int m = 0; m < 2; ++m) Kind::add(w[m], x, sums[m][t]);
      }
    }
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int t = 0; t < tiles_of_warp; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i) total[m][t].of[i] += sums[m][t].of[i];
  }
  const std::uint32_t g = lane / 4, q = lane % 4;
#pragma unroll
  for (int t = 0; t < tiles_of_warp; ++t)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t row = first_row + 8 * t + 2 * q + i % 2;
      if (row >= rows) continue;
      const float factor = Kind::factor(a, row);
      const std::uint32_t in_group = g + 8 * (i / 2);
      if constexpr (Pair) {
        const std::uint32_t output = group[0].number * tile_rows + in_group;
        if (output < a.matrix[0].outputs)
          store(a, 0, output, row, gated(total[0][t].of[i] * factor, total[1][t].of[i] * factor));
      } else {
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const std::uint32_t output = group[m].number * tile_rows + in_group;
          if (has_group[m] && output < a.matrix[group[m].matrix].outputs)
            store(a, group[m].matrix, output, row, total[m][t].of[i] * factor);
        }
      }
    }
}

}  // namespace tacet::cuda
