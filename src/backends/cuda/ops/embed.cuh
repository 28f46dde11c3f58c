#pragma once

#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/ops/gather.hpp"

namespace tacet::cuda {

/// The number of a row is never taken on trust.
__device__ inline std::uint32_t clamped(std::int32_t row, std::uint32_t rows) {
  return static_cast<std::uint32_t>(max(0, min(row, static_cast<std::int32_t>(rows) - 1)));
}

/// A warp reads 64 columns of a row of a table of a quantized type.
template <DType Type>
__device__ void embed_codes(const EmbedArguments& a, const RunContext& run) {
  using F = TileFormat<Type>;
  const std::uint32_t lane = threadIdx.x % 32, row = blockIdx.y;
  const std::uint32_t chunk = blockIdx.x * 8 + threadIdx.x / 32;
  if (stopped(run) || row >= run.block->rows || chunk * chunk_columns >= a.width) return;
  const std::uint32_t from = clamped(run.block->tokens[row], a.table_rows);
  const std::uint32_t r = from % tile_rows;
  const std::byte* group = a.table + from / tile_rows * a.group_bytes;
  const std::byte* tile = group + chunk / F::chunks * F::tile_bytes;
  if (lane / 4 != r % 8) return;
  const RawChunk raw = load_chunk<F>(tile, chunk % F::chunks, lane);
  std::uint32_t words[8];
  ChunkScales<F::groups> scales;
  unpack_codes<Type>(raw, words);
  const float factor = reinterpret_cast<const float*>(group + a.group_bytes - factor_bytes)[r];
  unpack_scales<Type>(raw, {factor, factor}, scales);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i % 2 != static_cast<int>(r / 8)) continue;
    const int group = i / 2 * F::groups / 4;
    const float scale = scales.scale[i % 2][group], min = scales.min[i % 2][group];
    const std::uint32_t column = chunk * chunk_columns + 16 * (i / 2) + 4 * (lane % 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (column + j >= a.width) continue;
      const auto code = static_cast<std::int8_t>(words[i] >> (8 * j));
      const float value = scale * static_cast<float>(code - F::zero);
      a.out[std::size_t{row} * a.width + column + j] = F::has_min ? value + min : value;
    }
  }
}

/// The same of halves or bfloat16, in tiles, and of floats, in rows; a thread reads an element.
enum class Elements { floats, halves, bf16 };
template <Elements E>
__device__ void embed_elements(const EmbedArguments& a, const RunContext& run) {
  const std::uint32_t column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (stopped(run) || row >= run.block->rows || column >= a.width) return;
  const std::uint32_t from = clamped(run.block->tokens[row], a.table_rows);
  float value = 0;
  if constexpr (E == Elements::floats) {
    value = reinterpret_cast<const float*>(a.table)[std::size_t{from} * a.width + column];
  } else {
    const std::uint32_t r = from % tile_rows, chunk = column / 64, step = column % 64 / 16;
    const std::uint32_t h = column % 2, q = column % 16 / 4, lane = 4 * (r % 8) + q;
    const auto* group =
        reinterpret_cast<const std::uint16_t*>(a.table + from / tile_rows * a.group_bytes);
    const std::uint16_t bits = group[((std::size_t{chunk} * 4 + step) * 32 + lane) * 8 +
                                     (2 * h + r / 8) * 2 + column % 4 / 2];
    value = E == Elements::bf16 ? bf16_to_float(bits) : half_to_float(bits);
  }
  a.out[std::size_t{row} * a.width + column] = value;
}

}  // namespace tacet::cuda
