#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Copies to shared memory that run beside what their threads do (PTX's cp.async).
namespace tacet::cuda {

/// Starts a copy of 16 bytes to shared memory; without `is_there` of zeros.
__device__ inline void copy_to_shared(uint4* to, const uint4* from, bool is_there) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(is_there ? 16 : 0)
               : "memory");
}
__device__ inline void end_group_of_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most so many groups of this thread's copies are on their way.
template <int Groups>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

}  // namespace tacet::cuda
