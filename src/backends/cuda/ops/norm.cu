#include "backends/cuda/device_code.cuh"
#include "backends/cuda/ops/norm.hpp"

namespace tacet::cuda {

namespace {

/// A block normalizes a group of a row: x / sqrt(mean(x^2) + epsilon) * weight.
__device__ void normalize(const NormArguments& a, const RunContext& run) {
  __shared__ float shared[threads_of_norm / 32];
  const std::uint32_t row = blockIdx.y;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const std::size_t at = (std::size_t{row} * a.groups + blockIdx.x) * a.width;
  float squares = 0;
  for (std::uint32_t i = threadIdx.x; i < a.width; i += threads_of_norm) {
    float x = a.x[at + i];
    if (a.added != nullptr) a.sum[at + i] = x += a.added[at + i];
    squares = fmaf(x, x, squares);
  }
  const float mean = block_sum(squares, shared) / static_cast<float>(a.width);
  const float factor = 1 / sqrtf(mean + a.epsilon);
  const float* x = a.added != nullptr ? a.sum : a.x;
  for (std::uint32_t i = threadIdx.x; i < a.width; i += threads_of_norm)
    a.out[at + i] = x[at + i] * factor * a.weight[i];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads_of_norm)
    rms_norm(const NormArguments a, const RunContext run) {
  normalize(a, run);
}

}  // namespace tacet::cuda
