#pragma once

#include "backends/cuda/async_copy.cuh"
#include "backends/cuda/gemm/activations.cuh"
#include "backends/cuda/gemm/product.hpp"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/ops/embed.cuh"

/// The kinds of products with tensor cores: how weights and activations of 64 columns are loaded
/// and multiplied.
namespace tacet::cuda {

/// 16 rows of weights by 8 rows of activations; of each lane's four sums [2 p + i] is of the rows
/// g + 8 p and 2 q + i.
struct Sums {
  float of[4] = {};
};

/// A small integer is added to this float's bits, and is then what the float has more.
inline constexpr std::uint32_t magic_bits = 0x4b400000u;
inline constexpr float magic = 12582912.0F;

/// A warp starts a copy to shared memory.
template <std::uint32_t Bytes>
__device__ inline void copy_bytes(std::byte* to, const std::byte* from, std::uint32_t lane) {
  static_assert(Bytes % 16 == 0);
#pragma unroll
  for (std::uint32_t first = 0; first < Bytes / 16; first += 32) {
    const std::uint32_t i = first + lane;
    if (i < Bytes / 16)
      copy_to_shared(reinterpret_cast<uint4*>(to) + i, reinterpret_cast<const uint4*>(from) + i,
                     true);
  }
}

/// Weights of a quantized type, activations of 8 bits.
template <DType Type>
struct CodedProduct {
  using Format = TileFormat<Type>;
  using Raw = RawChunk;
  using Chunk = CodedChunk;
  struct Weights {
    std::uint32_t codes[8];
    ChunkScales<Format::groups> scales;
  };
  /// What belongs to the codes of a row.
  struct RowScales {
    uint4 words;  ///< two scales, four sums
    float4 scaled_sums;

    __device__ float scale(int b) const { return __uint_as_float(b == 0 ? words.x : words.y); }
    /// Of a group of columns.
    __device__ std::int32_t sum(int group) const {
      const auto of_sixteen = [this](int i) {
        const std::uint32_t both = i < 2 ? words.z : words.w;
        return static_cast<std::int32_t>(static_cast<std::int16_t>(both >> (16 * (i % 2))));
      };
      return Format::of_sixteen ? of_sixteen(group)
                                : of_sixteen(2 * group) + of_sixteen(2 * group + 1);
    }
    __device__ float scaled_sum(int group) const {
      const float of[4] = {scaled_sums.x, scaled_sums.y, scaled_sums.z, scaled_sums.w};
      return Format::of_sixteen ? of[group] : of[2 * group] + of[2 * group + 1];
    }
  };
  struct Activations {
    uint4 codes = {};        ///< of row g of eight
    RowScales rows[2] = {};  ///< 2 q and 2 q + 1
  };
  static constexpr unsigned blocks_of_many = 2;  ///< that a multiprocessor is to hold
  static constexpr std::uint32_t chunks_of_tile = Format::chunks;
  static constexpr std::uint32_t tile_bytes = Format::tile_bytes;

  __device__ static Raw load(const std::byte* tile, std::uint32_t chunk, std::uint32_t lane) {
    return load_chunk<Format>(tile, chunk, lane);
  }
  /// Bytes of a chunk in shared memory, with what its tile shares.
  static constexpr std::uint32_t stage_bytes = Format::stage_bytes;
  /// A warp starts the copy of a chunk to shared memory; what was copied is then loaded.
  __device__ static void copy(std::byte* stage, const std::byte* tile, std::uint32_t chunk,
                              std::uint32_t lane) {
    copy_bytes<Format::chunk_bytes>(stage, tile + chunk * Format::chunk_bytes, lane);
    constexpr std::uint32_t shared_bytes = stage_bytes - Format::chunk_bytes;
    if constexpr (shared_bytes != 0)
      copy_bytes<shared_bytes>(stage + Format::chunk_bytes, tile + Format::shared_at, lane);
  }
  __device__ static Raw load_copied(const std::byte* stage, std::uint32_t lane) {
    return load_parts<Format, false>(stage, stage + Format::chunk_bytes, lane);
  }
  __device__ static Weights unpack(const Raw& raw) {
    Weights weights;
    unpack_codes<Type>(raw, weights.codes);
    unpack_scales<Type>(raw, weights.scales);
    return weights;
  }

  /// Brings a row of floats into the form of activations, with all threads of a block; returns its
  /// factor.
  __device__ static float prepare(const ProductArguments& a, Chunk* out) {
    const auto* x = reinterpret_cast<const float4*>(a.row);
    round_row([x](std::uint32_t i) { return x[i]; }, a.columns, a.chunks, out);
    return 1;
  }
  /// What the sums of row `row` of the activations are multiplied by.
  __device__ static float factor(const ProductArguments&, std::uint32_t) { return 1; }

  /// What a lane needs of rows: of row g, and of the rows 2 q and 2 q + 1; null: zeros.
  __device__ static Activations load(const Chunk* row, const Chunk* first, const Chunk* second,
                                     std::uint32_t lane) {
    Activations x;
    if (row != nullptr) x.codes = reinterpret_cast<const uint4*>(row->codes)[lane % 4];
    if (first != nullptr) x.rows[0] = load_scales(first->scales);
    if (second != nullptr) x.rows[1] = load_scales(second->scales);
    return x;
  }
  __device__ static RowScales load_scales(const void* scales) {
    const auto* from = static_cast<const uint4*>(scales);
    RowScales loaded{from[0], {}};
    if constexpr (Format::has_min) loaded.scaled_sums = *reinterpret_cast<const float4*>(from + 1);
    return loaded;
  }

  /// Where the pieces of 16 bytes of a chunk of a row lie in a stage of `rows_of_block` rows, so
  /// that no two lanes ask a bank for different words.
  static constexpr std::uint32_t pieces = sizeof(Chunk) / 16;
  __device__ static std::uint32_t place(std::uint32_t row, std::uint32_t piece) {
    return piece < 4 ? 4 * row + piece : 4 * rows_of_block + 2 * row + piece - 4;
  }
  /// Of the tile `tile` of eight rows of a stage.
  __device__ static Activations load_staged(const uint4* stage, std::uint32_t tile,
                                            std::uint32_t lane) {
    Activations x;
    x.codes = stage[place(8 * tile + lane / 4, lane % 4)];
    for (std::uint32_t i = 0; i < 2; ++i)
      x.rows[i] = load_scales(stage + place(8 * tile + 2 * (lane % 4) + i, 4));
    return x;
  }

  /// Adds to the sums; with Rows = 1 only to those with i = 0.
  template <int Rows = 2>
  __device__ static void add(const Weights& w, const Activations& x, Sums& sums) {
    const std::uint32_t codes[4] = {x.codes.x, x.codes.y, x.codes.z, x.codes.w};
#pragma unroll
    for (int group = 0; group < Format::groups; ++group) {
      const int b = group * 2 / Format::groups;
      std::int32_t start[2] = {static_cast<std::int32_t>(magic_bits),
                               static_cast<std::int32_t>(magic_bits)};
      if constexpr (Format::zero != 0)
#pragma unroll
        for (int i = 0; i < Rows; ++i) start[i] -= Format::zero * x.rows[i].sum(group);
      std::int32_t c[4];
      if constexpr (Format::of_sixteen)
        multiply_16x16(c, w.codes + 2 * group, codes[group], start);
      else
        multiply_16x32(c, w.codes + 4 * group, codes[2 * b], codes[2 * b + 1], start);
#pragma unroll
      for (int i = 0; i < Rows; ++i)
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          const float value = __int_as_float(c[2 * p + i]) - magic;
          float& to = sums.of[2 * p + i];
          to = fmaf(w.scales.scale[p][group] * x.rows[i].scale(b), value, to);
          if constexpr (Format::has_min)
            to = fmaf(w.scales.min[p][group], x.rows[i].scaled_sum(group), to);
        }
    }
  }
  __device__ static void embed(const EmbedArguments& a, const RunContext& run) {
    embed_codes<Type>(a, run);
  }
};

/// Weights that are halves or bfloat16, activations as two of them.
template <bool Bf16>
struct HalfProduct {
  struct Raw {
    uint4 steps[4];
  };
  using Weights = Raw;
  using Chunk = SplitChunk;
  struct Activations {
    uint4 parts[2][2] = {};  ///< of row g of eight
  };
  static constexpr unsigned blocks_of_many = 1;
  static constexpr std::uint32_t chunks_of_tile = 1;
  static constexpr std::uint32_t tile_bytes = tile_rows * chunk_columns * 2;

  __device__ static Raw load(const std::byte* tile, std::uint32_t, std::uint32_t lane) {
    Raw raw;
#pragma unroll
    for (int step = 0; step < 4; ++step)
      raw.steps[step] = __ldcs(reinterpret_cast<const uint4*>(tile) + step * 32 + lane);
    return raw;
  }
  static constexpr std::uint32_t stage_bytes = tile_bytes;
  __device__ static void copy(std::byte* stage, const std::byte* tile, std::uint32_t,
                              std::uint32_t lane) {
    copy_bytes<stage_bytes>(stage, tile, lane);
  }
  __device__ static Raw load_copied(const std::byte* stage, std::uint32_t lane) {
    Raw raw;
#pragma unroll
    for (int step = 0; step < 4; ++step)
      raw.steps[step] = reinterpret_cast<const uint4*>(stage)[step * 32 + lane];
    return raw;
  }
  __device__ static const Weights& unpack(const Raw& raw) {
    return raw;
  }

  __device__ static float prepare(const ProductArguments& a, Chunk* out) {
    return split_row<Bf16>(a.row, a.columns, a.chunks, out);
  }
  __device__ static float factor(const ProductArguments& a, std::uint32_t row) {
    return a.factors[row];
  }
  __device__ static Activations load(const Chunk* row, const Chunk*, const Chunk*,
                                     std::uint32_t lane) {
    Activations x;
    if (row == nullptr) return x;
    const auto* words = reinterpret_cast<const uint4*>(row->words);
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i)
      x.parts[i / 2][i % 2] = words[8 * (i / 2) + 2 * (lane % 4) + i % 2];
    return x;
  }

  static constexpr std::uint32_t pieces = sizeof(Chunk) / 16;
  __device__ static std::uint32_t place(std::uint32_t row, std::uint32_t piece) {
    return pieces * row + (piece ^ (row & 1));
  }
  __device__ static Activations load_staged(const uint4* stage, std::uint32_t tile,
                                            std::uint32_t lane) {
    Activations x;
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i)
      x.parts[i / 2][i % 2] =
          stage[place(8 * tile + lane / 4, 8 * (i / 2) + 2 * (lane % 4) + i % 2)];
    return x;
  }

  template <int Rows = 2>
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
};

}  // namespace tacet::cuda
