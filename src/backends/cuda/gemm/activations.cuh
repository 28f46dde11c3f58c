#pragma once

#include <cuda_bf16.h>

#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/activations.hpp"

namespace tacet::cuda {

/// Two halves (or bfloat16) in a word, the nearest to `low` and `high`, which become what is left.
template <bool Bf16>
__device__ inline std::uint32_t take_pair(float& low, float& high) {
  const auto left = [](float value, float taken) {
    const float rest = value - taken;
    return isfinite(rest) ? rest : 0;
  };
  if constexpr (Bf16) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    low = left(low, __low2float(pair)), high = left(high, __high2float(pair));
    return reinterpret_cast<const std::uint32_t&>(pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    low = left(low, __low2float(pair)), high = left(high, __high2float(pair));
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
}

/// A warp brings 128 columns of a row, or two chunks, into the form of halves, four columns a lane:
/// `chunk` is the one that a lane's half of the warp writes, null for none. Zeros stand for columns
/// that a row lacks.
template <bool Bf16, int Parts>
__device__ inline void halve_columns(float4 x, HalfChunk<Parts>* chunk, std::uint32_t lane) {
  float scale = 1;
  if constexpr (!Bf16) {
    float largest = fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
    // 2^13 to 2^14 for the largest, if both powers are normal; what is infinite stays so.
    const std::uint32_t exponent = __float_as_uint(largest) >> 23;
    const std::uint32_t e = exponent == 255 ? 140 : max(exponent, 14u);
    scale = __uint_as_float((e - 13) << 23);
    const float by = __uint_as_float((267 - e) << 23);
    x = {x.x * by, x.y * by, x.z * by, x.w * by};
  }
  if (chunk == nullptr) return;
  const std::uint32_t s = lane / 4 % 4, q = lane % 4;
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const std::uint32_t even = take_pair<Bf16>(x.x, x.z), odd = take_pair<Bf16>(x.y, x.w);
    *reinterpret_cast<uint2*>(chunk->words + 32 * part + 8 * q + 2 * s) = {even, odd};
  }
  if (lane % 16 == 0) chunk->scale = scale;
}

/// Brings a row of `columns` columns into that form, `at(i)` being columns 4 i to 4 i + 3, with all
/// threads of a block. Its chunks are `rows` apart in `out`.
template <bool Bf16, int Parts, typename Columns>
__device__ void halve_row(const Columns& at, std::uint32_t columns, std::uint32_t chunks,
                          HalfChunk<Parts>* out, std::uint32_t rows) {
  const std::uint32_t lane = threadIdx.x % 32;
  // Whole warps take part.
  for (std::uint32_t i = threadIdx.x; i - lane < chunks * 16; i += blockDim.x) {
    const float4 x = 4 * i < columns ? at(i) : float4{};
    halve_columns<Bf16>(x, i < chunks * 16 ? out + std::size_t{i / 16} * rows : nullptr, lane);
  }
}

/// The columns of a row in memory, which may end within four.
struct RowColumns {
  const float* x;
  std::uint32_t columns;

  __device__ float4 operator()(std::uint32_t i) const {
    if (columns % 4 == 0) return reinterpret_cast<const float4*>(x)[i];
    const auto one = [this, i](std::uint32_t j) { return 4 * i + j < columns ? x[4 * i + j] : 0; };
    return {one(0), one(1), one(2), one(3)};
  }
};

}  // namespace tacet::cuda
