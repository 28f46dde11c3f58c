#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace tacet::cpu {

/// The vectors of products with NEON: 4 rows of weights at a time. See WidePortable for what the
/// functions are.
template <bool Dot>
struct WideNeon {
  static constexpr std::uint32_t lanes = 4;
  static constexpr int columns = 8;
  static constexpr bool any_byte = false;
  static constexpr bool has_pairs = false;

  using F = float32x4_t;
  using I = int32x4_t;
  using B = uint8x16_t;

  [[gnu::always_inline]] static F zero() { return vdupq_n_f32(0); }
  [[gnu::always_inline]] static F set(float x) { return vdupq_n_f32(x); }
  [[gnu::always_inline]] static F load(const void* p) {
    return vld1q_f32(static_cast<const float*>(p));
  }
  [[gnu::always_inline]] static void store(float* p, F a) { vst1q_f32(p, a); }
  [[gnu::always_inline]] static F add(F a, F b) { return vaddq_f32(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) { return vmulq_f32(a, b); }
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  [[gnu::always_inline]] static F load_f16(const std::byte* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(load_halves(p)));
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(load_halves(p), 16));
  }
  [[gnu::always_inline]] static F first_of_pairs(const std::byte* p) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_u8(load_b(p)), 16));
  }
  [[gnu::always_inline]] static F second_of_pairs(const std::byte* p) {
    return vreinterpretq_f32_u8(vandq_u8(load_b(p), vreinterpretq_u8_u32(vdupq_n_u32(0xffff0000))));
  }
  template <unsigned Shift, unsigned Mask>
  [[gnu::always_inline]] static F load_u8(const std::byte* p) {
    const auto* b = reinterpret_cast<const std::uint8_t*>(p);
    const uint32x4_t words{(b[0] >> Shift) & Mask, (b[1] >> Shift) & Mask, (b[2] >> Shift) & Mask,
                           (b[3] >> Shift) & Mask};
    return vcvtq_f32_u32(words);
  }
  [[gnu::always_inline]] static F load_s8(const std::byte* p) {
    const auto* b = reinterpret_cast<const std::int8_t*>(p);
    return vcvtq_f32_s32(int32x4_t{b[0], b[1], b[2], b[3]});
  }

  [[gnu::always_inline]] static I set_i(std::int32_t x) { return vdupq_n_s32(x); }
  [[gnu::always_inline]] static F to_float(I a) { return vcvtq_f32_s32(a); }
  [[gnu::always_inline]] static B load_b(const std::byte* p) {
    return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p));
  }
  [[gnu::always_inline]] static B bit_or(B a, B b) { return vorrq_u8(a, b); }
  template <int Shift, unsigned Mask>
  [[gnu::always_inline]] static B bits(B a) {
    if constexpr (Shift > 0) a = vshrq_n_u8(a, Shift);
    if constexpr (Shift < 0) a = vshlq_n_u8(a, -Shift);
    return vandq_u8(a, vdupq_n_u8(Mask));
  }
  [[gnu::always_inline]] static B look_up(const std::uint8_t* table, B indices) {
    return vqtbl1q_u8(vld1q_u8(table), indices);
  }
  [[gnu::always_inline]] static I dot(I sums, B bytes, const std::int8_t* x) {
    const int8x16_t w = vreinterpretq_s8_u8(bytes), four = load_four(x);
#ifdef __ARM_FEATURE_DOTPROD
    if constexpr (Dot) return vdotq_s32(sums, w, four);
#endif
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(four));
    const int16x8_t high = vmull_high_s8(w, four);
    return vpadalq_s16(sums, vpaddq_s16(low, high));
  }
  [[gnu::always_inline]] static I dot_any(I sums, B bytes, const std::int8_t* x) {
    return dot(sums, veorq_u8(bytes, vdupq_n_u8(0x80)), x);
  }

 private:
  [[gnu::always_inline]] static uint16x4_t load_halves(const std::byte* p) {
    uint16x4_t halves;
    __builtin_memcpy(&halves, p, sizeof halves);
    return halves;
  }
  [[gnu::always_inline]] static int8x16_t load_four(const std::int8_t* x) {
    std::int32_t word;
    __builtin_memcpy(&word, x, sizeof word);
    return vreinterpretq_s8_s32(vdupq_n_s32(word));
  }
};

}  // namespace tacet::cpu
