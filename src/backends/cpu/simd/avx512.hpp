#pragma once

#include "backends/cpu/simd/avx2.hpp"
#include "backends/cpu/simd/wide_avx512.hpp"

namespace tacet::cpu {

/// Sixteen float lanes, the part of Avx2 that attention needs. `Owner` has the rest.
template <typename Owner>
struct Lanes512 {
  static constexpr std::string_view name = Owner::name;
  static constexpr std::uint32_t lanes = 16;

  static constexpr double mac_seconds = Owner::mac_seconds;
  static constexpr double element_seconds = Owner::element_seconds;

  static constexpr int tile_weights = 4;
  static constexpr int tile_rows = 5;
  static constexpr int value_vectors = 8;

  using F = __m512;

  [[gnu::always_inline]] static F zero() { return _mm512_setzero_ps(); }
  [[gnu::always_inline]] static F set(float x) { return _mm512_set1_ps(x); }
  [[gnu::always_inline]] static F load(const float* p) { return _mm512_loadu_ps(p); }
  [[gnu::always_inline]] static void store(float* p, F a) { _mm512_storeu_ps(p, a); }

  [[gnu::always_inline]] static F add(F a, F b) { return _mm512_add_ps(a, b); }
  [[gnu::always_inline]] static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  [[gnu::always_inline]] static F div(F a, F b) { return _mm512_div_ps(a, b); }
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  [[gnu::always_inline]] static F max(F a, F b) { return _mm512_max_ps(a, b); }
  [[gnu::always_inline]] static F min(F a, F b) { return _mm512_min_ps(a, b); }

  [[gnu::always_inline]] static F power_of_two(F biased) {
    const __m512i shifted = _mm512_slli_epi32(_mm512_castps_si512(biased), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(shifted, _mm512_set1_epi32(127 << 23)));
  }

  [[gnu::always_inline]] static F load_f16(const std::byte* p) { return Wide512::load_f16(p); }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) { return Wide512::load_bf16(p); }
  [[gnu::always_inline]] static F load_scaled_i8(const std::byte* p, std::size_t i, F scale) {
    return mul(Wide512::load_s8(p + 16 * i), scale);
  }
  /// The low (0) or high (1) halves of 16 bytes, with a fifth bit each, less `middle`, times
  /// `scale`.
  [[gnu::always_inline]] static F scaled_halves(const std::byte* p, std::size_t half,
                                                std::uint16_t fifth, char middle, F scale) {
    __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    if (half == 1) raw = _mm_srli_epi16(raw, 4);
    raw = _mm_and_si128(raw, _mm_set1_epi8(15));
    raw = _mm_or_si128(raw, _mm_maskz_set1_epi8(fifth, 16));
    raw = _mm_sub_epi8(raw, _mm_set1_epi8(middle));
    return mul(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(raw)), scale);
  }
  [[gnu::always_inline]] static F set_f16(const void* p) {
    std::uint16_t half;
    __builtin_memcpy(&half, p, sizeof half);
    return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(half)));
  }

  /// Lane i is first added to lane i + 8, and then as in Avx2.
  [[gnu::always_inline]] static void sum4(float* out, F a, F b, F c, F d) {
    Avx2::sum4(out, half_sums(a), half_sums(b), half_sums(c), half_sums(d));
  }
  [[gnu::always_inline]] static float sum(F a) { return Avx2::sum(half_sums(a)); }
  [[gnu::always_inline]] static float largest(F a) {
    return Avx2::largest(_mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1)));
  }
  [[gnu::always_inline]] static float first(F a) { return _mm512_cvtss_f32(a); }

 private:
  [[gnu::always_inline]] static __m256 half_sums(F a) {
    return _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  }
};

/// AVX-512 with VNNI: eight lanes where little is computed, sixteen in products and attention. To
/// be used in isa_avx512.cpp only.
struct Avx512 : Avx2 {
  static constexpr std::string_view name = "avx512";

  static constexpr double mac_seconds = 1 / 25e9;
  static constexpr double byte_mac_seconds = 1 / 80e9;
  static constexpr double pair_mac_seconds = mac_seconds;
  static constexpr double expand_seconds = 1 / 16e9;

  using Wide = Wide512;
  using ForAttention = Lanes512<Avx512>;
};

}  // namespace tacet::cpu
