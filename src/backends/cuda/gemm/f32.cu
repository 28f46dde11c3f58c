#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/product.hpp"
#include "backends/cuda/ops/embed.cuh"

namespace tacet::cuda {

namespace {

/// A warp computes an output of eight rows; each lane adds every 32nd product.
__device__ void float_product(const FloatProduct& a, const RunContext& run) {
  const std::uint32_t lane = threadIdx.x % 32, output = blockIdx.x * 8 + threadIdx.x / 32;
  const std::uint32_t first = blockIdx.y * float_rows_at_once;
  const std::uint32_t rows = live_rows(run, a.selected);
  if (stopped(run) || output >= a.outputs || first >= rows) return;
  const float* weights = a.weights + std::size_t{output} * a.columns;
  const std::uint32_t count = min(float_rows_at_once, rows - first);
  float sums[float_rows_at_once] = {};
  for (std::uint32_t i = lane; i < a.columns; i += 32) {
    const float weight = weights[i];
#pragma unroll
    for (std::uint32_t r = 0; r < float_rows_at_once; ++r)
      if (r < count) sums[r] = fmaf(weight, a.x[std::size_t{first + r} * a.columns + i], sums[r]);
  }
#pragma unroll
  for (std::uint32_t r = 0; r < float_rows_at_once; ++r) {
    float sum = warp_sum(sums[r]);
    if (a.bias != nullptr) sum += a.bias[output];
    if (lane == 0 && r < count) a.out[std::size_t{first + r} * a.outputs + output] = sum;
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    product(const FloatProduct a, const RunContext run) {
  float_product(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    embed(const EmbedArguments a, const RunContext run) {
  embed_elements<Elements::floats>(a, run);
}

}  // namespace tacet::cuda
