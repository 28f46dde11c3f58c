#include "backends/cuda/device_code.cuh"
#include "backends/cuda/gemm/activations.cuh"
#include "backends/cuda/ops/norm.hpp"

namespace tacet::cuda {

namespace {

/// The sum of x and what is added.
struct Summed {
  const NormArguments& a;
  std::size_t at;  ///< of the group

  __device__ float operator[](std::uint32_t i) const {
    return a.added != nullptr ? a.x[at + i] + a.added[at + i] : a.x[at + i];
  }
  __device__ float4 four(std::uint32_t i) const {
    float4 x = reinterpret_cast<const float4*>(a.x + at)[i];
    if (a.added == nullptr) return x;
    const float4 b = reinterpret_cast<const float4*>(a.added + at)[i];
    return {x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w};
  }
};

__device__ float square(const float4& x, float sum) {
  return fmaf(x.w, x.w, fmaf(x.z, x.z, fmaf(x.y, x.y, fmaf(x.x, x.x, sum))));
}

/// A block normalizes a group of a row: x / sqrt(mean(x^2) + epsilon) * weight. What a thread needs
/// first it loads once, the weights before the kernel may touch anything else.
__device__ void normalize(const NormArguments& a, const RunContext& run) {
  __shared__ float shared[most_threads_of_norm / 32];
  const std::uint32_t row = blockIdx.y;
  const auto* weights = reinterpret_cast<const float4*>(a.weight);
  const bool by_four = a.width % 4 == 0;
  const bool is_first = by_four && threadIdx.x < a.width / 4;
  let_next_begin();
  const float4 first_weight = is_first ? weights[threadIdx.x] : float4{};
  const int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
  const bool is_live = row < live_rows(run, a.selected);
  wait_for_previous();
  const Summed x{a, (std::size_t{row} * a.groups + blockIdx.x) * a.width};
  const float4 first = is_first && is_live ? x.four(threadIdx.x) : float4{};
  if (__syncthreads_or(stop) != 0 || !is_live) return;
  float squares = square(first, 0);
  if (by_four)
    for (std::uint32_t i = threadIdx.x + blockDim.x; i < a.width / 4; i += blockDim.x)
      squares = square(x.four(i), squares);
  else
    for (std::uint32_t i = threadIdx.x; i < a.width; i += blockDim.x)
      squares = fmaf(x[i], x[i], squares);
  const float mean = block_sum(squares, shared) / static_cast<float>(a.width);
  const float factor = 1 / sqrtf(mean + a.epsilon);
  if (!by_four) {
    for (std::uint32_t i = threadIdx.x; i < a.width; i += blockDim.x) {
      const float value = x[i];
      if (a.sum != nullptr) a.sum[x.at + i] = value;
      a.out[x.at + i] = value * factor * a.weight[i];
    }
    return;
  }
  const auto finish = [&](std::uint32_t i) {
    const bool is_loaded = i == threadIdx.x;
    const float4 value = is_loaded ? first : x.four(i);
    const float4 weight = is_loaded ? first_weight : weights[i];
    if (a.sum != nullptr) reinterpret_cast<float4*>(a.sum + x.at)[i] = value;
    const float4 out{value.x * factor * weight.x, value.y * factor * weight.y,
                     value.z * factor * weight.z, value.w * factor * weight.w};
    reinterpret_cast<float4*>(a.out + x.at)[i] = out;
    return out;
  };
  if (a.halves != nullptr)
    halve_row<false>(finish, RowColumns{a.out + x.at, a.width}, a.chunks, a.halves + row,
                     a.scales + row, gridDim.y);
  else
    for (std::uint32_t i = threadIdx.x; i < a.width / 4; i += blockDim.x) finish(i);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(most_threads_of_norm)
    rms_norm(const NormArguments a, const RunContext run) {
  normalize(a, run);
}

}  // namespace tacet::cuda
