#pragma once

#include <cstddef>

#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// The kernel tables, one from each isa_<name>.cpp. Plain pointers: those files must not emit
/// copies of standard functions.
const CpuKernel* portable_kernels(std::size_t& count) noexcept;
const CpuKernel* avx2_kernels(std::size_t& count) noexcept;
const CpuKernel* avx512_kernels(std::size_t& count) noexcept;

}  // namespace tacet::cpu
