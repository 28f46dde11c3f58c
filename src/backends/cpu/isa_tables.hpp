#pragma once

#include <cstddef>

#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// A kernel table, and how long a slow core takes with its kernels. Plain pointers: the files that
/// make one must not emit copies of standard functions.
struct KernelTable {
  const CpuKernel* first = nullptr;  ///< of the rows: every op, better ones first
  const CpuKernel* last = nullptr;
  double mac_seconds = 0;      ///< a multiply-add of a large product
  double element_seconds = 0;  ///< an element of a simple op
  double byte_seconds = 0;     ///< a byte from main memory

  const CpuKernel* begin() const noexcept { return first; }
  const CpuKernel* end() const noexcept { return last; }
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
