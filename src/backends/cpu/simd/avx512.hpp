#pragma once

#include "backends/cpu/simd/avx2.hpp"
#include "backends/cpu/simd/wide_avx512.hpp"

namespace tacet::cpu {

/// AVX-512 with VNNI: eight lanes where little is computed, sixteen in products. To be used in
/// isa_avx512.cpp only.
struct Avx512 : Avx2 {
  static constexpr std::string_view name = "avx512";

  static constexpr double mac_seconds = 1 / 25e9;
  static constexpr double byte_mac_seconds = 1 / 80e9;
  static constexpr double expand_seconds = 1 / 16e9;

  using Wide = Wide512;
};

}  // namespace tacet::cpu
