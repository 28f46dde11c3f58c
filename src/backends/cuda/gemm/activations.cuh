#pragma once

#include <cuda_bf16.h>

#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/activations.hpp"

namespace tacet::cuda {

/// A warp rounds 128 columns of a row, or two chunks, four columns a lane: `chunk` is the one that
/// a lane's half of the warp writes, null for none. Zeros stand for columns that a row lacks.
__device__ inline void round_columns(const float4& x, CodedChunk* chunk, std::uint32_t lane) {
  float largest = fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
  // fmaxf knows no NaN; a scale that is none has to spread.
  float invalid = (x.x * 0 + x.y * 0) + (x.z * 0 + x.w * 0);
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
    invalid += __shfl_xor_sync(~0u, invalid, distance);
  }
  const float scale = largest / 127 + invalid;
  const float inverse = scale != 0 ? 1 / scale : 0;
  const float values[4] = {x.x, x.y, x.z, x.w};
  std::uint32_t codes = 0;
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int code = max(-127, min(127, __float2int_rn(values[i] * inverse)));
    sum += code;
    codes |= (static_cast<std::uint32_t>(code) & 0xffu) << (8 * i);
  }
  sum += __shfl_xor_sync(~0u, sum, 2);
  sum += __shfl_xor_sync(~0u, sum, 1);
  if (chunk == nullptr) return;
  const std::uint32_t b = lane / 8 % 2, h = lane / 4 % 2, q = lane % 4;
  chunk->codes[4 * q + 2 * b + h] = codes;
  if (q != 0) return;
  chunk->sums[2 * b + h] = static_cast<std::int16_t>(sum);
  chunk->scaled_sums[2 * b + h] = scale * static_cast<float>(sum);
  if (h == 0) chunk->scales[b] = scale;
}

/// Rounds a row of `columns` columns, `at(i)` being columns 4 i to 4 i + 3, with all threads of a
/// block. Columns come in fours.
template <typename Columns>
__device__ void round_row(const Columns& at, std::uint32_t columns, std::uint32_t chunks,
                          CodedChunk* out) {
  const std::uint32_t lane = threadIdx.x % 32;
  // Whole warps take part.
  for (std::uint32_t i = threadIdx.x; i - lane < chunks * 16; i += blockDim.x) {
    const float4 x = 4 * i < columns ? at(i) : float4{};
    round_columns(x, i < chunks * 16 ? out + i / 16 : nullptr, lane);
  }
}

/// Splits a row with all threads of a block, at most 1024. Returns what sums of its products are
/// to be multiplied by.
template <bool Bf16>
__device__ float split_row(const float* x, std::uint32_t columns, std::uint32_t chunks,
                           SplitChunk* out) {
  __shared__ float shared[32];
  float factor = 1;
  if constexpr (!Bf16) {
    float largest = 0;
    for (std::uint32_t i = threadIdx.x; i < columns; i += blockDim.x)
      largest = fmaxf(largest, fabsf(x[i]));
    largest = warp_largest(largest);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = largest;
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x / 32; ++i) largest = fmaxf(largest, shared[i]);
    // 2^13 to 2^14 for the largest; the exponent is kept within a float's.
    if (largest > 0 && isfinite(largest)) factor = ldexpf(1, min(126, 13 - ilogbf(largest)));
  }
  for (std::uint32_t i = threadIdx.x; i < chunks * 64; i += blockDim.x) {
    const float value = i < columns ? x[i] * factor : 0;
    const std::uint32_t at = i % 64, step = at / 16, h = at / 8 % 2, q = at % 8 / 2;
    for (int part = 0; part < 2; ++part) {
      std::uint16_t bits[2];
      if constexpr (Bf16) {
        const __nv_bfloat16 first = __float2bfloat16_rn(value);
        const float rest = value - __bfloat162float(first);
        bits[0] = __bfloat16_as_ushort(first);
        bits[1] = __bfloat16_as_ushort(__float2bfloat16_rn(isfinite(rest) ? rest : 0));
      } else {
        const __half first = __float2half_rn(value);
        const float rest = value - __half2float(first);
        bits[0] = __half_as_ushort(first);
        bits[1] = __half_as_ushort(__float2half_rn(isfinite(rest) ? rest : 0));
      }
      auto* halves =
          reinterpret_cast<std::uint16_t*>(&out[i / 64].words[32 * part + 8 * q + 2 * step + h]);
      halves[at % 2] = bits[part];
    }
  }
  return 1 / factor;
}

}  // namespace tacet::cuda
