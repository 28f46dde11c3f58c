#include <cuda_bf16.h>

#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/activations.hpp"

namespace tacet::cuda {

namespace {

/// A warp rounds a chunk of a row, two columns a lane.
__device__ void round_rows(const ActivationArguments& a, const RunContext& run) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t chunk = blockIdx.x * 8 + threadIdx.x / 32, row = blockIdx.y;
  const std::uint32_t column = chunk * 64 + 2 * lane;
  float x[2] = {};
  const bool live = row < live_rows(run, a.selected) && chunk < a.chunks;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    if (live && column + i < a.columns) x[i] = a.x[std::size_t{row} * a.columns + column + i];
  if (stopped(run) || !live) return;
  float largest = fmaxf(fabsf(x[0]), fabsf(x[1]));
  // fmaxf knows no NaN; a scale that is none has to spread.
  float invalid = x[0] * 0 + x[1] * 0;
#pragma unroll
  for (int distance = 8; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
    invalid += __shfl_xor_sync(~0u, invalid, distance);
  }
  const float scale = largest / 127 + invalid;
  const float inverse = scale != 0 ? 1 / scale : 0;
  int code[2], sum = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    code[i] = max(-127, min(127, __float2int_rn(x[i] * inverse)));
    sum += code[i];
  }
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  const int second = __shfl_xor_sync(~0u, sum, 8);
  CodedChunk& out = static_cast<CodedChunk*>(a.out)[std::size_t{row} * a.chunks + chunk];
  const std::uint32_t at = 2 * lane;  // of the chunk's columns
  const std::uint32_t b = at / 32, h = at / 16 % 2, q = at / 4 % 4;
  auto* halves = reinterpret_cast<std::uint16_t*>(&out.codes[4 * q + 2 * b + h]);
  halves[at % 4 / 2] = static_cast<std::uint16_t>((code[0] & 0xff) | (code[1] & 0xff) << 8);
  if (lane % 16 == 0)
    out.scales[b] = {scale, {static_cast<std::int16_t>(sum), static_cast<std::int16_t>(second)}};
}

/// A block splits a row.
template <bool Bf16>
__device__ void split(const ActivationArguments& a, const RunContext& run) {
  __shared__ float shared[8];
  const std::uint32_t row = blockIdx.x;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const float* x = a.x + std::size_t{row} * a.columns;
  float factor = 1;
  if constexpr (!Bf16) {
    float largest = 0;
    for (std::uint32_t i = threadIdx.x; i < a.columns; i += blockDim.x)
      largest = fmaxf(largest, fabsf(x[i]));
    largest = warp_largest(largest);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = largest;
    __syncthreads();
    for (unsigned i = 0; i < 8; ++i) largest = fmaxf(largest, shared[i]);
    // 2^13 to 2^14 for the largest; the exponent is kept within a float's.
    if (largest > 0 && isfinite(largest)) factor = ldexpf(1, min(126, 13 - ilogbf(largest)));
  }
  if (threadIdx.x == 0) a.factors[row] = 1 / factor;
  auto* out = static_cast<SplitChunk*>(a.out) + std::size_t{row} * a.chunks;
  for (std::uint32_t i = threadIdx.x; i < a.chunks * 64; i += blockDim.x) {
    const float value = i < a.columns ? x[i] * factor : 0;
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
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    round_to_codes(const ActivationArguments a, const RunContext run) {
  round_rows(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    split_to_halves(const ActivationArguments a, const RunContext run) {
  split<false>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    split_to_bf16(const ActivationArguments a, const RunContext run) {
  split<true>(a, run);
}

}  // namespace tacet::cuda
