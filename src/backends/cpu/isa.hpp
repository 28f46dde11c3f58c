#pragma once

#include <span>
#include <string_view>

#include "backends/cpu/tape.hpp"

namespace tacet::cpu {

/// The instruction sets that kernels are built for, slowest first.
enum class Isa { portable, avx2, avx512 };

std::string_view name(Isa isa) noexcept;

/// The instruction sets that this machine has, slowest first; `portable` is always among them.
std::span<const Isa> available() noexcept;

/// The best one, or the one that the environment variable TACET_CPU_ISA names; an error if it is
/// unknown or missing here.
Result<Isa> choose();

/// The kernel table of an instruction set: every op, better rows first. `avx2` is AVX2 with FMA and
/// F16C; `avx512` is that with AVX-512 F, BW, DQ, VL and VNNI.
std::span<const CpuKernel> kernels(Isa isa) noexcept;

}  // namespace tacet::cpu
