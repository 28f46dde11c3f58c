#include "backends/cuda/ops/kv_write.cuh"

namespace tacet::cuda {

namespace {

/// A warp writes a head of a row.
__device__ void write_rows(const KvWriteArguments& a, const RunContext& run) {
  const std::uint32_t row = blockIdx.y, head = blockIdx.x * 8 + threadIdx.x / 32;
  if (stopped(run) || row >= run.block->rows || head >= a.heads) return;
  write_head(a, blockIdx.z == 1, *run.block, row, head, 0, 1);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    kv_write(const KvWriteArguments a, const RunContext run) {
  write_rows(a, run);
}

}  // namespace tacet::cuda
