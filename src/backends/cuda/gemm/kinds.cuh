#pragma once

#include "backends/cuda/async_copy.cuh"
#include "backends/cuda/gemm/activations.cuh"
#include "backends/cuda/gemm/product.hpp"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/gemm/weights.cuh"
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

/// What a lane needs of a chunk of eight rows of activations: of row g the right operands of the
/// four steps of 16 columns.
template <int Parts>
struct Activations {
  uint4 words[Parts][2] = {};

  /// Null: zeros.
  __device__ static Activations load(const HalfChunk<Parts>* row, std::uint32_t lane) {
    Activations x;
    if (row == nullptr) return x;
    const auto* from = reinterpret_cast<const uint4*>(row->words) + 2 * (lane % 4);
#pragma unroll
    for (int part = 0; part < Parts; ++part)
      x.words[part][0] = from[8 * part], x.words[part][1] = from[8 * part + 1];
    return x;
  }

  /// The same of rows that lie side by side in shared memory. Of odd ones pieces of 16 bytes are
  /// swapped in pairs, so that no two lanes ask a bank for different words.
  static constexpr std::uint32_t pieces = sizeof(HalfChunk<Parts>) / 16;
  __device__ static std::uint32_t place(std::uint32_t piece) {
    return piece ^ (piece / pieces & 1);
  }
  __device__ static Activations load_staged(const uint4* stage, std::uint32_t tile,
                                            std::uint32_t lane) {
    Activations x;
    const std::uint32_t first = (8 * tile + lane / 4) * pieces + 2 * (lane % 4);
#pragma unroll
    for (int part = 0; part < Parts; ++part)
#pragma unroll
      for (std::uint32_t i = 0; i < 2; ++i) x.words[part][i] = stage[place(first + i) + 8 * part];
    return x;
  }
};

/// Adds the products of a chunk.
template <bool Bf16, int Parts>
__device__ inline void add_products(const WeightSteps& w, const Activations<Parts>& x, Sums& sums) {
#pragma unroll
  for (int part = 0; part < Parts; ++part)
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const uint4& words = x.words[part][step / 2];
      multiply_halves<Bf16>(sums.of, w.of[step], step % 2 == 0 ? words.x : words.z,
                            step % 2 == 0 ? words.y : words.w);
    }
}

/// Weights of a quantized type, which become halves, and activations in halves.
template <DType Type>
struct CodedProduct {
  using Format = TileFormat<Type>;
  using Raw = RawChunk;
  static constexpr int parts = 1;
  static constexpr bool is_bf16 = false;
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
  __device__ static WeightSteps unpack(const Raw& raw) { return weights_as_halves<Type>(raw); }
  /// What the sums of an output are multiplied by: it lies behind the tiles of its group.
  __device__ static float factor(const ProductArguments& a, const std::byte* tiles,
                                 std::uint32_t output) {
    return reinterpret_cast<const float*>(tiles + a.group_bytes - factor_bytes)[output % tile_rows];
  }
  __device__ static void embed(const EmbedArguments& a, const RunContext& run) {
    embed_codes<Type>(a, run);
  }
};

/// Weights that are halves or bfloat16, activations as two of them.
template <bool Bf16>
struct HalfProduct {
  using Raw = WeightSteps;
  static constexpr int parts = 2;
  static constexpr bool is_bf16 = Bf16;
  static constexpr std::uint32_t chunks_of_tile = 1;
  static constexpr std::uint32_t tile_bytes = tile_rows * chunk_columns * 2;

  __device__ static Raw load(const std::byte* tile, std::uint32_t, std::uint32_t lane) {
    Raw raw;
#pragma unroll
    for (int step = 0; step < 4; ++step)
      raw.set(step, __ldcs(reinterpret_cast<const uint4*>(tile) + step * 32 + lane));
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
      raw.set(step, reinterpret_cast<const uint4*>(stage)[step * 32 + lane]);
    return raw;
  }
  __device__ static const WeightSteps& unpack(const Raw& raw) {
    return raw;
  }
  __device__ static float factor(const ProductArguments&, const std::byte*, std::uint32_t) {
    return 1;
  }
  __device__ static void embed(const EmbedArguments& a, const RunContext& run) {
    embed_elements<Bf16 ? Elements::bf16 : Elements::halves>(a, run);
  }
};

}  // namespace tacet::cuda
