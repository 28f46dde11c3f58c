#pragma once

#include <cstddef>
#include <cstdint>

#include "types/convert.hpp"

namespace tacet::cpu {

/// The vectors of products on any machine: 4 rows of weights at a time, as vectors that every
/// compiler can lower. This is also what the other sets of such vectors have.
struct WidePortable {
  static constexpr std::uint32_t lanes = 4;
  /// Activation rows of a tile.
  static constexpr int columns = 2;
  /// Whether `dot_any` multiplies bytes up to 255 as they are; else it multiplies them less 128.
  static constexpr bool any_byte = true;
  /// Whether there is `dot_pairs(sums, pairs, x)`, which adds, for each row, the products of its
  /// pair of bfloat16 with the pair at `x`; else activations are multiplied as floats.
  static constexpr bool has_pairs = false;

  using F [[gnu::vector_size(16)]] = float;
  using I [[gnu::vector_size(16)]] = std::int32_t;
  using B [[gnu::vector_size(16)]] = std::uint8_t;  ///< four bytes of each row

  [[gnu::always_inline]] static F zero() { return set(0); }
  [[gnu::always_inline]] static F set(float x) { return F{x, x, x, x}; }
  [[gnu::always_inline]] static F load(const void* p) {
    F a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
  }
  [[gnu::always_inline]] static void store(float* p, F a) { __builtin_memcpy(p, &a, sizeof a); }
  [[gnu::always_inline]] static F add(F a, F b) { return a + b; }
  [[gnu::always_inline]] static F mul(F a, F b) { return a * b; }
  /// a * b + c
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return a * b + c; }
  /// The rows' halves, bfloat16, parts of unsigned bytes, signed bytes, as floats.
  [[gnu::always_inline]] static F load_f16(const std::byte* p) {
    std::uint16_t h[4];
    __builtin_memcpy(h, p, sizeof h);
    return F{f16_to_f32(h[0]), f16_to_f32(h[1]), f16_to_f32(h[2]), f16_to_f32(h[3])};
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) {
    std::uint16_t h[4];
    __builtin_memcpy(h, p, sizeof h);
    return (F)(Words{h[0], h[1], h[2], h[3]} << 16);
  }
  /// The first, the second bfloat16 of each row's pair.
  [[gnu::always_inline]] static F first_of_pairs(const std::byte* p) {
    return (F)(load_words(p) << 16);
  }
  [[gnu::always_inline]] static F second_of_pairs(const std::byte* p) {
    return (F)(load_words(p) & 0xffff0000u);
  }
  template <unsigned Shift, unsigned Mask>
  [[gnu::always_inline]] static F load_u8(const std::byte* p) {
    std::uint8_t b[4];
    __builtin_memcpy(b, p, sizeof b);
    return __builtin_convertvector((I{b[0], b[1], b[2], b[3]} >> Shift) & static_cast<int>(Mask),
                                   F);
  }
  [[gnu::always_inline]] static F load_s8(const std::byte* p) {
    std::int8_t b[4];
    __builtin_memcpy(b, p, sizeof b);
    return __builtin_convertvector((I{b[0], b[1], b[2], b[3]}), F);
  }

  [[gnu::always_inline]] static I set_i(std::int32_t x) { return I{x, x, x, x}; }
  [[gnu::always_inline]] static F to_float(I a) { return __builtin_convertvector(a, F); }
  [[gnu::always_inline]] static B load_b(const std::byte* p) {
    B a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
  }
  [[gnu::always_inline]] static B bit_or(B a, B b) { return a | b; }
  /// Each byte shifted right (left if negative), and what is under the mask.
  template <int Shift, unsigned Mask>
  [[gnu::always_inline]] static B bits(B a) {
    const auto mask = static_cast<std::uint8_t>(Mask);
    if constexpr (Shift >= 0) return (a >> Shift) & mask;
    return (a << -Shift) & mask;
  }
  /// The entries of a table of 16 that the bytes name.
  [[gnu::always_inline]] static B look_up(const std::uint8_t* table, B indices) {
    B found{};
    for (int i = 0; i < 16; ++i) found[i] = table[indices[i]];
    return found;
  }
  /// Adds, for each row, the products of its four bytes (up to 63) with the four at `x`.
  [[gnu::always_inline]] static I dot(I sums, B bytes, const std::int8_t* x) {
    for (int row = 0; row < 4; ++row)
      sums[row] += bytes[4 * row] * x[0] + bytes[4 * row + 1] * x[1] + bytes[4 * row + 2] * x[2] +
                   bytes[4 * row + 3] * x[3];
    return sums;
  }
  /// The same for any bytes, see any_byte.
  [[gnu::always_inline]] static I dot_any(I sums, B bytes, const std::int8_t* x) {
    return dot(sums, bytes, x);
  }

 private:
  using Words [[gnu::vector_size(16)]] = std::uint32_t;
  [[gnu::always_inline]] static Words load_words(const std::byte* p) {
    Words a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
  }
};

}  // namespace tacet::cpu
