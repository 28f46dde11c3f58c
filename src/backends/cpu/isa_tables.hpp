#pragma once

#include <cstddef>

#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// A kernel table, and how long a slow core takes with its kernels. Plain pointers: the files that
/// make one must not emit copies of standard functions.
struct KernelTable {
  const CpuKernel* rows;
  std::size_t count;
  double mac_seconds;      ///< a multiply-add of a large product
  double element_seconds;  ///< an element of a simple op
};

/// The tables, one from each isa_<name>.cpp.
KernelTable portable_kernels() noexcept;
#if defined(__x86_64__)
KernelTable avx2_kernels() noexcept;
KernelTable avx512_kernels() noexcept;
KernelTable avx512_bf16_kernels() noexcept;
#elif defined(__aarch64__)
KernelTable neon_kernels() noexcept;
KernelTable dotprod_kernels() noexcept;
#endif

}  // namespace tacet::cpu
