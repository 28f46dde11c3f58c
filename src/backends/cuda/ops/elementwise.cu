#include "backends/cuda/device_code.cuh"
#include "backends/cuda/ops/elementwise.hpp"

namespace tacet::cuda {

namespace {

template <Function F>
__device__ float apply(float a, float b) {
  if constexpr (F == Function::add) return a + b;
  if constexpr (F == Function::mul) return a * b;
  const float silu = a / (1 + expf(-a));
  return F == Function::gate ? silu * b : silu;
}

template <Function F>
__device__ void elementwise(const ElementwiseArguments& a, const RunContext& run) {
  const std::uint32_t column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (stopped(run) || row >= live_rows(run, a.selected) || column >= a.width) return;
  const std::size_t i = std::size_t{row} * a.width + column;
  const float b = F == Function::silu ? 0 : a.b[a.b_is_vector ? column : i];
  a.out[i] = apply<F>(a.a[i], b);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    add(const ElementwiseArguments a, const RunContext run) {
  elementwise<Function::add>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    mul(const ElementwiseArguments a, const RunContext run) {
  elementwise<Function::mul>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    silu(const ElementwiseArguments a, const RunContext run) {
  elementwise<Function::silu>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    gate(const ElementwiseArguments a, const RunContext run) {
  elementwise<Function::gate>(a, run);
}

}  // namespace tacet::cuda
