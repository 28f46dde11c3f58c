#include "backends/cuda/gemm/activations.cuh"

namespace tacet::cuda {

namespace {

/// A block rounds a row.
__device__ void round_rows(const ActivationArguments& a, const RunContext& run) {
  const std::uint32_t row = blockIdx.x;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const auto* x = reinterpret_cast<const float4*>(a.x + std::size_t{row} * a.columns);
  round_row([x](std::uint32_t i) { return x[i]; }, a.columns, a.chunks,
            static_cast<CodedChunk*>(a.out) + std::size_t{row} * a.chunks);
}

/// A block splits a row.
template <bool Bf16>
__device__ void split_rows(const ActivationArguments& a, const RunContext& run) {
  const std::uint32_t row = blockIdx.x;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const float factor =
      split_row<Bf16>(a.x + std::size_t{row} * a.columns, a.columns, a.chunks,
                      static_cast<SplitChunk*>(a.out) + std::size_t{row} * a.chunks);
  if (threadIdx.x == 0) a.factors[row] = factor;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    round_to_codes(const ActivationArguments a, const RunContext run) {
  round_rows(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    split_to_halves(const ActivationArguments a, const RunContext run) {
  split_rows<false>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    split_to_bf16(const ActivationArguments a, const RunContext run) {
  split_rows<true>(a, run);
}

}  // namespace tacet::cuda
