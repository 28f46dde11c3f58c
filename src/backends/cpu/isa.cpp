#include "backends/cpu/isa.hpp"

#include <array>
#include <cstdlib>

#include "backends/cpu/isa_tables.hpp"
#ifdef TACET_CPU_X86
#include <cpuid.h>
#endif

namespace tacet::cpu {
namespace {

constexpr std::array all{Isa::portable, Isa::avx2, Isa::avx512};

bool machine_has_avx2() noexcept {
#ifdef TACET_CPU_X86
  // clang 14 does not know the name of F16C.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool machine_has_avx512() noexcept {
#ifdef TACET_CPU_X86
  return machine_has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

}  // namespace

std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "portable";
}

std::span<const Isa> available() noexcept {
  return std::span(all).first(machine_has_avx512() ? 3 : machine_has_avx2() ? 2 : 1);
}

Result<Isa> choose() {
  const char* wanted = std::getenv("TACET_CPU_ISA");
  if (wanted == nullptr || *wanted == '\0') return available().back();
  for (const Isa isa : all) {
    if (name(isa) != wanted) continue;
    for (const Isa here : available())
      if (here == isa) return isa;
    return fail(Code::unsupported,
                "This machine lacks the instruction set {} that TACET_CPU_ISA asks for; unset it.",
                wanted);
  }
  return fail(Code::invalid_argument,
              "TACET_CPU_ISA is \"{}\", but may only be portable, avx2 or avx512; "
              "unset it or use one of them.",
              wanted);
}

std::span<const CpuKernel> kernels(Isa isa) noexcept {
  std::size_t count = 0;
  const CpuKernel* rows = nullptr;
#ifdef TACET_CPU_X86
  if (isa == Isa::avx512) rows = avx512_kernels(count);
  if (isa == Isa::avx2) rows = avx2_kernels(count);
#endif
  if (isa == Isa::portable) rows = portable_kernels(count);
  return {rows, count};
}

}  // namespace tacet::cpu
