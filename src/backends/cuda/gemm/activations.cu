#include "backends/cuda/gemm/activations.cuh"

namespace tacet::cuda {

namespace {

/// A block takes a row.
template <bool Bf16, int Parts>
__device__ void halve_rows(const ActivationArguments& a, const RunContext& run) {
  const std::uint32_t row = blockIdx.x;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const RowColumns x{a.x + std::size_t{row} * a.columns, a.columns};
  halve_row<Bf16>(x, x, a.chunks, static_cast<HalfChunk<Parts>*>(a.out) + row, a.scales + row,
                  a.rows);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    halves(const ActivationArguments a, const RunContext run) {
  halve_rows<false, 1>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    split_halves(const ActivationArguments a, const RunContext run) {
  halve_rows<false, 2>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    split_bf16(const ActivationArguments a, const RunContext run) {
  halve_rows<true, 2>(a, run);
}

}  // namespace tacet::cuda
