#pragma once

#include <arm_neon.h>

#include <string_view>

#include "backends/cpu/simd/wide_neon.hpp"

namespace tacet::cpu {

/// Eight float lanes in two NEON registers of 64-bit Arm; `Dot` says whether there are products of
/// bytes (FEAT_DotProd). To be used in isa_neon.cpp and isa_dotprod.cpp only.
template <bool Dot>
struct BasicNeon {
  static constexpr std::string_view name = Dot ? "dotprod" : "neon";
  static constexpr std::uint32_t lanes = 8;

  // See Avx2: a slow core of a phone.
  static constexpr double mac_seconds = 1 / 10e9;
  static constexpr double byte_mac_seconds = Dot ? 1 / 25e9 : 1 / 10e9;
  static constexpr double pair_mac_seconds = mac_seconds;
  static constexpr double expand_seconds = 1 / 6e9;
  static constexpr double byte_seconds = 1 / 5e9;
  static constexpr double element_seconds = 2e-9;

  static constexpr int tile_weights = 4;
  static constexpr int tile_rows = 3;
  static constexpr int value_vectors = 8;

  using Wide = WideNeon<Dot>;
  struct F {
    float32x4_t low, high;
  };

  [[gnu::always_inline]] static F zero() { return set(0); }
  [[gnu::always_inline]] static F set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
  [[gnu::always_inline]] static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
  [[gnu::always_inline]] static void store(float* p, F a) {
    vst1q_f32(p, a.low);
    vst1q_f32(p + 4, a.high);
  }

  [[gnu::always_inline]] static F add(F a, F b) {
    return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
  }
  [[gnu::always_inline]] static F sub(F a, F b) {
    return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
  }
  [[gnu::always_inline]] static F mul(F a, F b) {
    return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
  }
  [[gnu::always_inline]] static F div(F a, F b) {
    return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)};
  }
  [[gnu::always_inline]] static F fma(F a, F b, F c) {
    return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
  }
  // The second operand where one is not a number, as on the others: vmaxq_f32 would give that one.
  [[gnu::always_inline]] static F max(F a, F b) {
    return {vbslq_f32(vcgtq_f32(a.low, b.low), a.low, b.low),
            vbslq_f32(vcgtq_f32(a.high, b.high), a.high, b.high)};
  }
  [[gnu::always_inline]] static F min(F a, F b) {
    return {vbslq_f32(vcltq_f32(a.low, b.low), a.low, b.low),
            vbslq_f32(vcltq_f32(a.high, b.high), a.high, b.high)};
  }

  [[gnu::always_inline]] static F power_of_two(F biased) {
    return {power_of_two(biased.low), power_of_two(biased.high)};
  }

  [[gnu::always_inline]] static F load_f16(const void* p) {
    const float16x8_t halves = vreinterpretq_f16_u16(load_halves(p));
    return {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
  }
  [[gnu::always_inline]] static F load_bf16(const void* p) {
    const uint16x8_t halves = load_halves(p);
    return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(halves), 16)),
            vreinterpretq_f32_u32(vshll_high_n_u16(halves, 16))};
  }
  [[gnu::always_inline]] static F load_scaled_i8(const std::byte* p, std::size_t i, F scale) {
    const int16x8_t words = vmovl_s8(vld1_s8(reinterpret_cast<const std::int8_t*>(p) + 8 * i));
    return {vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))), scale.low),
            vmulq_f32(vcvtq_f32_s32(vmovl_high_s16(words)), scale.high)};
  }
  [[gnu::always_inline]] static F set_f16(const void* p) {
    std::uint16_t half;
    __builtin_memcpy(&half, p, sizeof half);
    const float32x4_t all = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
    return {all, all};
  }
  [[gnu::always_inline]] static void store_f16(void* p, F a) {
    const float16x8_t halves = vcvt_high_f16_f32(vcvt_f16_f32(a.low), a.high);
    __builtin_memcpy(p, &halves, sizeof halves);
  }

  [[gnu::always_inline]] static float sum(F a) {
    const float32x4_t pairs = vpaddq_f32(a.low, a.high);
    const float32x4_t fours = vpaddq_f32(pairs, pairs);
    return vgetq_lane_f32(fours, 0) + vgetq_lane_f32(fours, 1);
  }
  [[gnu::always_inline]] static void sum4(float* out, F a, F b, F c, F d) {
    out[0] = sum(a);
    out[1] = sum(b);
    out[2] = sum(c);
    out[3] = sum(d);
  }
  [[gnu::always_inline]] static float largest(F a) { return vmaxvq_f32(vmaxq_f32(a.low, a.high)); }
  [[gnu::always_inline]] static float first(F a) { return vgetq_lane_f32(a.low, 0); }

 private:
  [[gnu::always_inline]] static uint16x8_t load_halves(const void* p) {
    uint16x8_t halves;
    __builtin_memcpy(&halves, p, sizeof halves);
    return halves;
  }
  [[gnu::always_inline]] static float32x4_t power_of_two(float32x4_t biased) {
    const uint32x4_t shifted = vshlq_n_u32(vreinterpretq_u32_f32(biased), 23);
    return vreinterpretq_f32_u32(vaddq_u32(shifted, vdupq_n_u32(127u << 23)));
  }
};

struct Neon : BasicNeon<false> {
  using ForAttention = Neon;
};
struct Dotprod : BasicNeon<true> {
  using ForAttention = Dotprod;
};

}  // namespace tacet::cpu
