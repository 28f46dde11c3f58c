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

/// The power of two that brings what is at most `largest` to at most 2^14, and its inverse. Both
/// are normal; what is infinite stays so.
struct PowerOfTwo {
  float by, back;
};
__device__ inline PowerOfTwo power_for(float largest) {
  const std::uint32_t exponent = __float_as_uint(largest) >> 23;
  const std::uint32_t e = exponent == 255 ? 140 : max(exponent, 14u);
  return {__uint_as_float((267 - e) << 23), __uint_as_float((e - 13) << 23)};
}

__device__ inline float largest_of(const float4& x) {
  return fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
}

/// Writes the columns 4 i to 4 i + 3 of a chunk.
template <bool Bf16, int Parts>
__device__ inline void write_four(HalfChunk<Parts>& chunk, std::uint32_t i, float4 x, float by) {
  if constexpr (!Bf16) x = {x.x * by, x.y * by, x.z * by, x.w * by};
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const std::uint32_t even = take_pair<Bf16>(x.x, x.z), odd = take_pair<Bf16>(x.y, x.w);
    *reinterpret_cast<uint2*>(chunk.words + 32 * part + 8 * (i % 4) + 2 * (i / 4)) = {even, odd};
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

/// Brings a row into that form with all threads of a block: `at(i)` is its columns 4 i to 4 i + 3,
/// and is called once for each i; `row` is where they then are. Chunks and scales are `rows` apart.
template <bool Bf16, int Parts, typename Columns>
__device__ void halve_row(const Columns& at, const RowColumns& row, std::uint32_t chunks,
                          HalfChunk<Parts>* out, float* scales, std::uint32_t rows) {
  __shared__ std::uint32_t largest[slices];
  const std::uint32_t lane = threadIdx.x % 32, count = row.columns;
  if (threadIdx.x < slices) largest[threadIdx.x] = 0;
  __syncthreads();
  float4 first{};
  // Whole warps take part.
  for (std::uint32_t i = threadIdx.x; i - lane < chunks * 16; i += blockDim.x) {
    const float4 x = 4 * i < count ? at(i) : float4{};
    if (i == threadIdx.x) first = x;
    float most = largest_of(x);
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2)
      most = fmaxf(most, __shfl_xor_sync(~0u, most, distance));
    if (i % 16 == 0 && i < chunks * 16)
      atomicMax(&largest[slice_of(chunks, i / 16)], __float_as_uint(most));
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < chunks * 16; i += blockDim.x) {
    const float4 x = i == threadIdx.x ? first : 4 * i < count ? row(i) : float4{};
    const float most = __uint_as_float(largest[slice_of(chunks, i / 16)]);
    write_four<Bf16>(out[std::size_t{i / 16} * rows], i % 16, x, power_for(most).by);
  }
  if (threadIdx.x < slices)
    scales[std::size_t{threadIdx.x} * rows] =
        Bf16 ? 1 : power_for(__uint_as_float(largest[threadIdx.x])).back;
}

/// A warp brings its slice of a row into that form, alone: the chunks from `begin` to `end`.
/// Returns the scale.
template <bool Bf16, int Parts>
__device__ float halve_slice(const RowColumns& row, std::uint32_t begin, std::uint32_t end,
                             HalfChunk<Parts>* out) {
  const std::uint32_t lane = threadIdx.x % 32;
  const auto at = [&](std::uint32_t i) {
    return i < end * 16 && 4 * i < row.columns ? row(i) : float4{};
  };
  // Most slices are loaded once.
  constexpr std::uint32_t count = 4;
  const std::uint32_t first = begin * 16 + lane, behind = first + 32 * count;
  float4 loaded[count];
  float largest = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < count; ++i) loaded[i] = at(first + 32 * i);
#pragma unroll
  for (std::uint32_t i = 0; i < count; ++i) largest = fmaxf(largest, largest_of(loaded[i]));
#pragma unroll 2
  for (std::uint32_t i = behind; i < end * 16; i += 32) largest = fmaxf(largest, largest_of(at(i)));
  const PowerOfTwo power = power_for(warp_largest(largest));
#pragma unroll
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t four = first + 32 * i;
    if (four < end * 16) write_four<Bf16>(out[four / 16], four % 16, loaded[i], power.by);
  }
#pragma unroll 2
  for (std::uint32_t i = behind; i < end * 16; i += 32)
    write_four<Bf16>(out[i / 16], i % 16, at(i), power.by);
  return Bf16 ? 1 : power.back;
}

}  // namespace tacet::cuda
