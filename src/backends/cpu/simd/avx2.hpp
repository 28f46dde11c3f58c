#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/cpu/simd/wide_avx2.hpp"

namespace tacet::cpu {

/// Eight float lanes in one AVX2 register, with FMA and F16C. To be used in isa_avx2.cpp only.
struct Avx2 {
  static constexpr std::string_view name = "avx2";
  static constexpr std::uint32_t lanes = 8;

  // What a slow core does (2.5 GHz, one memory channel for all of its cores): chunks are cut by it.
  static constexpr double mac_seconds = 1 / 20e9;          ///< a multiply-add of a large product
  static constexpr double byte_mac_seconds = 1 / 25e9;     ///< the same of bytes
  static constexpr double pair_mac_seconds = mac_seconds;  ///< of pairs of bfloat16
  static constexpr double expand_seconds = 1 / 8e9;        ///< reading a weight for a product
  static constexpr double byte_seconds = 1 / 8e9;          ///< a byte from main memory
  static constexpr double element_seconds = 1.2e-9;        ///< an element of a simple op

  // Register tiles of dot products: weight rows x activation rows.
  static constexpr int tile_weights = 4;
  static constexpr int tile_rows = 3;
  /// Vectors of an attention's values that are summed in registers, a power of two.
  static constexpr int value_vectors = 8;

  using Wide = Wide256;
  using ForAttention = Avx2;
  using F = __m256;

  [[gnu::always_inline]] static F zero() { return _mm256_setzero_ps(); }
  [[gnu::always_inline]] static F set(float x) { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] static F load(const float* p) { return _mm256_loadu_ps(p); }
  [[gnu::always_inline]] static void store(float* p, F a) { _mm256_storeu_ps(p, a); }

  [[gnu::always_inline]] static F add(F a, F b) { return _mm256_add_ps(a, b); }
  [[gnu::always_inline]] static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  [[gnu::always_inline]] static F div(F a, F b) { return _mm256_div_ps(a, b); }
  /// a * b + c
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  /// The second operand where one is not a number.
  [[gnu::always_inline]] static F max(F a, F b) { return _mm256_max_ps(a, b); }
  [[gnu::always_inline]] static F min(F a, F b) { return _mm256_min_ps(a, b); }

  /// 2^n for lanes that hold n + 1.5 * 2^23, n from -126 to 127.
  [[gnu::always_inline]] static F power_of_two(F biased) {
    const __m256i shifted = _mm256_slli_epi32(_mm256_castps_si256(biased), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(shifted, _mm256_set1_epi32(127 << 23)));
  }

  /// Eight IEEE halves, eight bfloat16, as floats.
  [[gnu::always_inline]] static F load_f16(const void* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static F load_bf16(const void* p) {
    const __m128i raw = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  }
  /// Eight of the signed bytes at `p`, the i-th eight, times `scale`.
  [[gnu::always_inline]] static F load_scaled_i8(const std::byte* p, std::size_t i, F scale) {
    const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8 * i));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(raw)), scale);
  }
  /// One IEEE half in all lanes.
  [[gnu::always_inline]] static F set_f16(const void* p) {
    std::uint16_t half;
    __builtin_memcpy(&half, p, sizeof half);
    return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(half)));
  }
  /// Eight floats as IEEE halves, rounded to nearest even.
  [[gnu::always_inline]] static void store_f16(void* p, F a) {
    const __m128i halves = _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(static_cast<__m128i*>(p), halves);
  }

  /// The sums of the lanes of four vectors: ((0+1)+(2+3)) + ((4+5)+(6+7)).
  [[gnu::always_inline]] static void sum4(float* out, F a, F b, F c, F d) {
    const F pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
  }
  /// The same for one vector: the same bits.
  [[gnu::always_inline]] static float sum(F a) {
    const F twos = _mm256_hadd_ps(a, a);
    const F fours = _mm256_hadd_ps(twos, twos);
    return _mm_cvtss_f32(
        _mm_add_ss(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1)));
  }
  /// The largest lane.
  [[gnu::always_inline]] static float largest(F a) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
  }
  [[gnu::always_inline]] static float first(F a) { return _mm256_cvtss_f32(a); }
};

}  // namespace tacet::cpu
