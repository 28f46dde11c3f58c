#pragma once

#include "backends/cpu/simd/avx512.hpp"

namespace tacet::cpu {

/// Products of pairs of bfloat16. The instruction takes subnormal numbers for 0 and rounds to
/// nearest even whatever the thread's float mode is.
struct Wide512Bf16 : Wide512 {
  static constexpr bool has_pairs = true;

  [[gnu::always_inline]] static F dot_pairs(F sums, B pairs, const std::byte* x) {
    std::int32_t word;
    __builtin_memcpy(&word, x, sizeof word);
    return _mm512_dpbf16_ps(sums, (__m512bh)pairs, (__m512bh)_mm512_set1_epi32(word));
  }
};

/// AVX-512 with VNNI and BF16. To be used in isa_avx512_bf16.cpp only.
struct Avx512Bf16 : Avx512 {
  static constexpr std::string_view name = "avx512_bf16";

  static constexpr double pair_mac_seconds = 1 / 50e9;

  using Wide = Wide512Bf16;
  using ForAttention = Lanes512<Avx512Bf16>;
};

}  // namespace tacet::cpu
