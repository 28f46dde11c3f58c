#pragma once

#include <cstddef>

#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// The kernel tables, one from each isa_<name>.cpp. Plain pointers: those files must not emit
/// copies of standard functions.
const CpuKernel* portable_kernels(std::size_t& count) noexcept;
#if defined(__x86_64__)
const CpuKernel* avx2_kernels(std::size_t& count) noexcept;
const CpuKernel* avx512_kernels(std::size_t& count) noexcept;
const CpuKernel* avx512_bf16_kernels(std::size_t& count) noexcept;
#elif defined(__aarch64__)
const CpuKernel* neon_kernels(std::size_t& count) noexcept;
const CpuKernel* dotprod_kernels(std::size_t& count) noexcept;
#endif

}  // namespace tacet::cpu
