#include "backends/cuda/device_code.cuh"

namespace tacet::cuda {

/// The end of each run: stores the run's epoch in `ended`, which the host sees, unless the run is
/// to stop. A kernel that saw the stop came before this one, which then sees it too: the word is
/// not taken back before the next epoch.
extern "C" __global__ void end_of_run(std::uint32_t* ended, const RunContext run) {
  if (!asked_to_stop(run)) *reinterpret_cast<volatile std::uint32_t*>(ended) = run.block->epoch;
}

}  // namespace tacet::cuda
