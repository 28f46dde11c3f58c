#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace tacet::cpu {

/// The vectors of products with AVX2: 8 rows of weights at a time. To be used in isa_avx2.cpp only.
/// See WidePortable for what the functions are.
struct Wide256 {
  static constexpr std::uint32_t lanes = 8;
  static constexpr int columns = 4;
  static constexpr bool any_byte = false;
  static constexpr bool has_pairs = false;

  using F = __m256;
  using I = __m256i;
  using B = __m256i;

  [[gnu::always_inline]] static F zero() { return _mm256_setzero_ps(); }
  [[gnu::always_inline]] static F set(float x) { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] static F load(const void* p) {
    return _mm256_loadu_ps(static_cast<const float*>(p));
  }
  [[gnu::always_inline]] static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  [[gnu::always_inline]] static F add(F a, F b) { return _mm256_add_ps(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  [[gnu::always_inline]] static F load_f16(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  }
  [[gnu::always_inline]] static F first_of_pairs(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(load_b(p), 16));
  }
  [[gnu::always_inline]] static F second_of_pairs(const std::byte* p) {
    const B high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return _mm256_castsi256_ps(_mm256_and_si256(load_b(p), high));
  }
  template <unsigned Shift, unsigned Mask>
  [[gnu::always_inline]] static F load_u8(const std::byte* p) {
    const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    __m256i words = _mm256_cvtepu8_epi32(raw);
    if constexpr (Shift != 0) words = _mm256_srli_epi32(words, Shift);
    if constexpr ((0xffu >> Shift & ~Mask) != 0)
      words = _mm256_and_si256(words, _mm256_set1_epi32(Mask));
    return _mm256_cvtepi32_ps(words);
  }
  [[gnu::always_inline]] static F load_s8(const std::byte* p) {
    const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(raw));
  }

  [[gnu::always_inline]] static I set_i(std::int32_t x) { return _mm256_set1_epi32(x); }
  [[gnu::always_inline]] static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  [[gnu::always_inline]] static B load_b(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static B bit_or(B a, B b) { return _mm256_or_si256(a, b); }
  template <int Shift, unsigned Mask>
  [[gnu::always_inline]] static B bits(B a) {
    if constexpr (Shift > 0) a = _mm256_srli_epi16(a, Shift);
    if constexpr (Shift < 0) a = _mm256_slli_epi16(a, -Shift);
    return _mm256_and_si256(a, _mm256_set1_epi8(static_cast<char>(Mask)));
  }
  [[gnu::always_inline]] static B look_up(const std::uint8_t* table, B indices) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), indices);
  }
  [[gnu::always_inline]] static I dot(I sums, B bytes, const std::int8_t* x) {
    return add_pairs(sums, _mm256_maddubs_epi16(bytes, four(x)));
  }
  /// Pairs of large bytes would not fit into 16 bits: the bytes less 128 are multiplied, by their
  /// magnitudes.
  [[gnu::always_inline]] static I dot_any(I sums, B bytes, const std::int8_t* x) {
    const B whole = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(0x80)));
    const B signs = _mm256_sign_epi8(four(x), whole);
    return add_pairs(sums, _mm256_maddubs_epi16(_mm256_abs_epi8(whole), signs));
  }

 private:
  [[gnu::always_inline]] static I four(const std::int8_t* x) {
    std::int32_t word;
    __builtin_memcpy(&word, x, sizeof word);
    return _mm256_set1_epi32(word);
  }
  [[gnu::always_inline]] static I add_pairs(I sums, I pairs) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

}  // namespace tacet::cpu
