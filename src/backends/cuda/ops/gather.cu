#include "backends/cuda/ops/embed.cuh"

namespace tacet::cuda {

extern "C" __global__ void __launch_bounds__(256)
    select_rows(const SelectArguments a, const RunContext run) {
  const std::uint32_t column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  const std::uint32_t rows = run.block->rows;
  if (stopped(run) || row >= run.block->outputs || column >= a.width || rows == 0) return;
  const std::uint32_t from = clamped(run.block->output_rows[row], rows);
  a.out[std::size_t{row} * a.width + column] = a.x[std::size_t{from} * a.width + column];
}

}  // namespace tacet::cuda
