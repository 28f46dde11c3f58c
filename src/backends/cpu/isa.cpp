#include "backends/cpu/isa.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tacet::cpu {
namespace {

/// What is known of an instruction set of this build; each needs those before it.
struct IsaInfo {
  Isa isa;
  bool (*is_here)() noexcept;
  KernelTable (*table)() noexcept;
};

bool always() noexcept {
  return true;
}

#if defined(__x86_64__)
bool machine_has_avx2() noexcept {
  // clang 14 does not know the name of F16C.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool machine_has_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}
bool machine_has_avx512_bf16() noexcept {
  return __builtin_cpu_supports("avx512bf16");
}
constexpr std::array all{IsaInfo{Isa::portable, always, portable_kernels},
                         IsaInfo{Isa::avx2, machine_has_avx2, avx2_kernels},
                         IsaInfo{Isa::avx512, machine_has_avx512, avx512_kernels},
                         IsaInfo{Isa::avx512_bf16, machine_has_avx512_bf16, avx512_bf16_kernels}};
#elif defined(__aarch64__)
bool machine_has_dotprod() noexcept {
  constexpr unsigned long asimddp = 1UL << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & asimddp) != 0;
}
constexpr std::array all{IsaInfo{Isa::portable, always, portable_kernels},
                         IsaInfo{Isa::neon, always, neon_kernels},
                         IsaInfo{Isa::dotprod, machine_has_dotprod, dotprod_kernels}};
#else
constexpr std::array all{IsaInfo{Isa::portable, always, portable_kernels}};
#endif

constexpr auto sets = [] {
  std::array<Isa, all.size()> isas{};
  for (std::size_t i = 0; i < isas.size(); ++i) isas[i] = all[i].isa;
  return isas;
}();

}  // namespace

std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::neon:
      return "neon";
    case Isa::dotprod:
      return "dotprod";
  }
  return "portable";
}

std::span<const Isa> available() noexcept {
  std::size_t count = 0;
  while (count < all.size() && all[count].is_here()) ++count;
  return std::span(sets).first(count);
}

Result<Isa> choose() {
  const char* wanted = std::getenv("TACET_CPU_ISA");
  if (wanted == nullptr || *wanted == '\0') return available().back();
  std::string names;
  for (const Isa isa : sets) {
    if (name(isa) == wanted) {
      if (std::ranges::find(available(), isa) != available().end()) return isa;
      return fail(
          Code::unsupported,
          "This machine lacks the instruction set {} that TACET_CPU_ISA asks for; unset it.",
          wanted);
    }
    names += names.empty() ? "" : ", ";
    names += name(isa);
  }
  return fail(Code::invalid_argument,
              "TACET_CPU_ISA is \"{}\", but has to be one of {}; unset it or use one of them.",
              wanted, names);
}

KernelTable kernel_table(Isa isa) noexcept {
  const auto found = std::ranges::find(all, isa, &IsaInfo::isa);
  return found != all.end() ? found->table() : KernelTable{};
}

}  // namespace tacet::cpu
