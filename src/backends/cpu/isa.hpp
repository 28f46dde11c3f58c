#pragma once

#include <span>
#include <string_view>

#include "backends/cpu/isa_tables.hpp"

namespace tacet::cpu {

/// The instruction sets that kernels are built for, slowest first: any machine; AVX2 with FMA and
/// F16C; that with AVX-512 F, BW, DQ, VL and VNNI; that with BF16; 64-bit Arm; that with products
/// of bytes.
enum class Isa { portable, avx2, avx512, avx512_bf16, neon, dotprod };

std::string_view name(Isa isa) noexcept;

/// The instruction sets that this machine has, slowest first; `portable` is always among them.
std::span<const Isa> available() noexcept;

/// The best one, or the one that the environment variable TACET_CPU_ISA names; an error if it is
/// unknown or missing here.
Result<Isa> choose();

/// The kernel table of an instruction set; empty if this build has none for it.
KernelTable kernel_table(Isa isa) noexcept;

}  // namespace tacet::cpu
