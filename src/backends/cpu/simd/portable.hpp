#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/cpu/simd/wide_portable.hpp"

namespace tacet::cpu {

/// Eight float lanes as two vectors of four, which every compiler and machine can lower.
struct Portable {
  static constexpr std::string_view name = "portable";
  static constexpr std::uint32_t lanes = 8;

  // See Avx2.
  static constexpr double mac_seconds = 1 / 2.5e9;
  static constexpr double byte_mac_seconds = 1 / 1e9;
  static constexpr double pair_mac_seconds = mac_seconds;
  static constexpr double expand_seconds = 1 / 1.2e9;
  static constexpr double byte_seconds = 1 / 4e9;
  static constexpr double element_seconds = 4e-9;

  static constexpr int tile_weights = 2;
  static constexpr int tile_rows = 2;
  static constexpr int value_vectors = 4;

  using Lanes [[gnu::vector_size(16)]] = float;
  using Words [[gnu::vector_size(16)]] = std::uint32_t;
  using Ints [[gnu::vector_size(16)]] = std::int32_t;
  using Halves [[gnu::vector_size(8)]] = std::uint16_t;
  using Bytes [[gnu::vector_size(4)]] = std::int8_t;
  using Wide = WidePortable;
  using ForAttention = Portable;
  struct F {
    Lanes low, high;
  };

  [[gnu::always_inline]] static F zero() { return set(0); }
  [[gnu::always_inline]] static F set(float x) { return {Lanes{x, x, x, x}, Lanes{x, x, x, x}}; }
  [[gnu::always_inline]] static F load(const float* p) {
    F a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
  }
  [[gnu::always_inline]] static void store(float* p, F a) { __builtin_memcpy(p, &a, sizeof a); }

  [[gnu::always_inline]] static F add(F a, F b) { return {a.low + b.low, a.high + b.high}; }
  [[gnu::always_inline]] static F sub(F a, F b) { return {a.low - b.low, a.high - b.high}; }
  [[gnu::always_inline]] static F mul(F a, F b) { return {a.low * b.low, a.high * b.high}; }
  [[gnu::always_inline]] static F div(F a, F b) { return {a.low / b.low, a.high / b.high}; }
  [[gnu::always_inline]] static F fma(F a, F b, F c) {
    return {a.low * b.low + c.low, a.high * b.high + c.high};
  }
  [[gnu::always_inline]] static F max(F a, F b) {
    return {a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
  }
  [[gnu::always_inline]] static F min(F a, F b) {
    return {a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  }

  [[gnu::always_inline]] static F power_of_two(F biased) {
    const Words bias = {127u << 23, 127u << 23, 127u << 23, 127u << 23};
    return {(Lanes)(((Words)biased.low << 23) + bias), (Lanes)(((Words)biased.high << 23) + bias)};
  }

  [[gnu::always_inline]] static F load_f16(const void* p) {
    const auto [low, high] = load_words(p);
    return {half_to_float(low), half_to_float(high)};
  }
  [[gnu::always_inline]] static F load_bf16(const void* p) {
    const auto [low, high] = load_words(p);
    return {(Lanes)(low << 16), (Lanes)(high << 16)};
  }
  [[gnu::always_inline]] static F load_scaled_i8(const std::byte* p, std::size_t i, F scale) {
    Bytes low, high;
    __builtin_memcpy(&low, p + 8 * i, sizeof low);
    __builtin_memcpy(&high, p + 8 * i + 4, sizeof high);
    return {__builtin_convertvector(__builtin_convertvector(low, Ints), Lanes) * scale.low,
            __builtin_convertvector(__builtin_convertvector(high, Ints), Lanes) * scale.high};
  }
  [[gnu::always_inline]] static F set_f16(const void* p) {
    std::uint16_t half;
    __builtin_memcpy(&half, p, sizeof half);
    const std::uint32_t word = half;
    const Lanes all = half_to_float(Words{word, word, word, word});
    return {all, all};
  }
  [[gnu::always_inline]] static void store_f16(void* p, F a) {
    std::uint16_t halves[8];
    for (int i = 0; i < 4; ++i) {
      halves[i] = f32_to_f16(a.low[i]);
      halves[i + 4] = f32_to_f16(a.high[i]);
    }
    __builtin_memcpy(p, halves, sizeof halves);
  }

  [[gnu::always_inline]] static float sum(F a) {
    return ((a.low[0] + a.low[1]) + (a.low[2] + a.low[3])) +
           ((a.high[0] + a.high[1]) + (a.high[2] + a.high[3]));
  }
  [[gnu::always_inline]] static void sum4(float* out, F a, F b, F c, F d) {
    out[0] = sum(a);
    out[1] = sum(b);
    out[2] = sum(c);
    out[3] = sum(d);
  }
  [[gnu::always_inline]] static float largest(F a) {
    const Lanes m = a.low > a.high ? a.low : a.high;
    const float x = m[0] > m[1] ? m[0] : m[1], y = m[2] > m[3] ? m[2] : m[3];
    return x > y ? x : y;
  }
  [[gnu::always_inline]] static float first(F a) { return a.low[0]; }

 private:
  struct WordPair {
    Words low, high;
  };
  [[gnu::always_inline]] static WordPair load_words(const void* p) {
    Halves halves[2];
    __builtin_memcpy(halves, p, sizeof halves);
    return {__builtin_convertvector(halves[0], Words), __builtin_convertvector(halves[1], Words)};
  }
  /// Moves exponent and fraction in place and lets a multiplication set the bias, which makes
  /// subnormal halves right as well.
  [[gnu::always_inline]] static Lanes half_to_float(Words half) {
    const Words magnitude = (half & 0x7fffu) << 13;
    const Words special = (Words)(magnitude >= 0x0f800000u) & 0x7f800000u;
    const Lanes scaled = (Lanes)magnitude * 0x1p112f;
    return (Lanes)((Words)scaled | special | ((half & 0x8000u) << 16));
  }
};

}  // namespace tacet::cpu
