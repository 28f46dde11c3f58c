#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace tacet::cpu {

/// The vectors of products with AVX-512 VNNI: 16 rows of weights at a time. To be used in
/// isa_avx512.cpp only. See WidePortable for what the functions are.
struct Wide512 {
  static constexpr std::uint32_t lanes = 16;
  static constexpr int columns = 8;
  static constexpr bool any_byte = true;
  static constexpr bool has_pairs = false;

  using F = __m512;
  using I = __m512i;
  using B = __m512i;

  [[gnu::always_inline]] static F zero() { return _mm512_setzero_ps(); }
  [[gnu::always_inline]] static F set(float x) { return _mm512_set1_ps(x); }
  [[gnu::always_inline]] static F load(const void* p) { return _mm512_loadu_ps(p); }
  [[gnu::always_inline]] static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  [[gnu::always_inline]] static F add(F a, F b) { return _mm512_add_ps(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  [[gnu::always_inline]] static F load_f16(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) {
    const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
  }
  [[gnu::always_inline]] static F first_of_pairs(const std::byte* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(load_b(p), 16));
  }
  [[gnu::always_inline]] static F second_of_pairs(const std::byte* p) {
    const B high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    return _mm512_castsi512_ps(_mm512_and_si512(load_b(p), high));
  }
  template <unsigned Shift, unsigned Mask>
  [[gnu::always_inline]] static F load_u8(const std::byte* p) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    __m512i words = _mm512_cvtepu8_epi32(raw);
    if constexpr (Shift != 0) words = _mm512_srli_epi32(words, Shift);
    if constexpr ((0xffu >> Shift & ~Mask) != 0)
      words = _mm512_and_si512(words, _mm512_set1_epi32(Mask));
    return _mm512_cvtepi32_ps(words);
  }
  [[gnu::always_inline]] static F load_s8(const std::byte* p) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(raw));
  }

  [[gnu::always_inline]] static I set_i(std::int32_t x) { return _mm512_set1_epi32(x); }
  [[gnu::always_inline]] static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  [[gnu::always_inline]] static B load_b(const std::byte* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static B bit_or(B a, B b) { return _mm512_or_si512(a, b); }
  template <int Shift, unsigned Mask>
  [[gnu::always_inline]] static B bits(B a) {
    if constexpr (Shift > 0) a = _mm512_srli_epi16(a, Shift);
    if constexpr (Shift < 0) a = _mm512_slli_epi16(a, -Shift);
    return _mm512_and_si512(a, _mm512_set1_epi8(Mask));
  }
  [[gnu::always_inline]] static B look_up(const std::uint8_t* table, B indices) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), indices);
  }
  [[gnu::always_inline]] static I dot(I sums, B bytes, const std::int8_t* x) {
    return _mm512_dpbusd_epi32(sums, bytes, four(x));
  }
  [[gnu::always_inline]] static I dot_any(I sums, B bytes, const std::int8_t* x) {
    return dot(sums, bytes, x);
  }

 private:
  [[gnu::always_inline]] static I four(const std::int8_t* x) {
    std::int32_t word;
    __builtin_memcpy(&word, x, sizeof word);
    return _mm512_set1_epi32(word);
  }
};

}  // namespace tacet::cpu
