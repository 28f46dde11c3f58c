#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/run_block.hpp"

/// What kernels share.
namespace tacet::cuda {

__device__ inline std::uint32_t load_relaxed(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}

/// One thread's look at the stop. It takes as long as a load that misses all caches: let other
/// loads go before what uses it.
__device__ inline bool asked_to_stop(const RunContext& run) {
  return load_relaxed(run.stop) == run.block->epoch;
}

/// On GPUs of 9.x a kernel begins while the one before still works (the driver is told so in
/// tape.cpp): it lets the next one begin, may then load weights and what a run brings along, and
/// has to wait before it touches anything else, in all its threads, before any of them returns.
__device__ inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Begins a kernel that has nothing to do before it waits. Whether the run is to stop, the same
/// answer for all threads of a block, which it synchronizes.
__device__ inline bool stopped(const RunContext& run) {
  let_next_begin();
  int stop = 0;
  if (threadIdx.x == 0) stop = asked_to_stop(run) ? 1 : 0;
  wait_for_previous();
  return __syncthreads_or(stop) != 0;
}

/// Rows that a node computes in this run.
__device__ inline std::uint32_t live_rows(const RunContext& run, bool selected) {
  return selected ? run.block->outputs : run.block->rows;
}

/// The sequence that a row is in.
__device__ inline const SequenceArgs& sequence_of(const RunBlock& block, std::uint32_t row) {
  const SequenceArgs* sequence = block.sequences;
  while (row >= sequence->end) ++sequence;
  return *sequence;
}

/// The sum, or the largest, of the values of a warp, in a fixed order: all lanes get it.
__device__ inline float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(~0u, value, distance);
  return value;
}
__device__ inline float warp_largest(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}

/// The sum of the values of a block of whole warps, in a fixed order. `shared` holds a float a
/// warp.
__device__ inline float block_sum(float value, float* shared) {
  const unsigned lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  const float sum = warp_sum(lane < blockDim.x / 32 ? shared[lane] : 0);
  __syncthreads();
  return sum;
}

__device__ inline float bf16_to_float(std::uint16_t bits) {
  return __uint_as_float(std::uint32_t{bits} << 16);
}

}  // namespace tacet::cuda
