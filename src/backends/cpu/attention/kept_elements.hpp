#pragma once

#include "backends/cpu/simd/elements.hpp"

namespace tacet::cpu {

// How the types are read that keys and values are kept in, but weights are not multiplied in. A
// block of 32 has 4 bits of each number in 16 bytes, the first half of them in the low halves
// (ggml's block_q4_0, block_q4_1, block_q5_0 and block_q5_1); they are handled 8 at a time in a
// word.

/// Byte `i` is 1 if bit `i` of `bits` is.
[[gnu::always_inline]] inline std::uint64_t spread_bits(std::uint8_t bits) {
  const std::uint64_t one_each = (bits * 0x0101010101010101u) & 0x8040201008040201u;
  return (one_each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

/// Blocks of 32 numbers of 4 or 5 bits: scale, with `Minimum` the least value, the fifth bits, and
/// the others. Without a minimum, zero is in the middle.
template <int Bits, bool Minimum>
struct HalfByteElements {
  static constexpr std::size_t step = 32;
  static constexpr std::size_t high_at = Minimum ? 4 : 2;
  static constexpr std::size_t low_at = high_at + (Bits == 5 ? 4 : 0);
  static constexpr std::size_t bytes = low_at + 16;
  static constexpr std::uint64_t middle = Minimum ? 0 : (Bits == 5 ? 16 : 8);

  template <typename S>
  [[gnu::always_inline]] static void expand_block(const std::byte* block, float* out) {
    const typename S::F scale = S::set_f16(block);
    const typename S::F least = Minimum ? S::set_f16(block + 2) : S::zero();
    for (std::size_t i = 0; i < step / S::lanes; ++i) {
      typename S::F values;
      if constexpr (S::lanes == 16) {
        std::uint16_t fifth = 0;
        if constexpr (Bits == 5) __builtin_memcpy(&fifth, block + high_at + 2 * i, sizeof fifth);
        values = S::scaled_halves(block + low_at, i, fifth, static_cast<char>(middle), scale);
      } else {
        std::byte numbers[8];
        const std::uint64_t eight = word(block, i);
        __builtin_memcpy(numbers, &eight, sizeof eight);
        values = S::load_scaled_i8(numbers, 0, scale);
      }
      if constexpr (Minimum) values = S::add(values, least);
      S::store(out + S::lanes * i, values);
    }
  }

 private:
  /// The i-th eight numbers as signed bytes.
  [[gnu::always_inline]] static std::uint64_t word(const std::byte* block, std::size_t i) {
    std::uint64_t numbers;
    __builtin_memcpy(&numbers, block + low_at + 8 * (i % 2), sizeof numbers);
    numbers = numbers >> 4 * (i / 2) & 0x0f0f0f0f0f0f0f0fu;
    if constexpr (Bits == 5)
      numbers |= spread_bits(static_cast<std::uint8_t>(block[high_at + i])) << 4;
    // Bytes minus `middle`, without borrowing from their neighbours.
    constexpr std::uint64_t tops = 0x8080808080808080u;
    return ((numbers | tops) - middle * 0x0101010101010101u) ^ tops;
  }
};

/// Reads rows of `n` elements, `row_bytes` apart, as floats, `out_floats` apart. `out` has room for
/// whole vectors; the rest of the last one of a row becomes zero.
struct KeptRows {
  const std::byte* rows;
  std::size_t row_bytes, count, n;
  float* out;
  std::size_t out_floats;
};
template <typename S, typename E>
[[gnu::always_inline]] inline void expand_rows(const KeptRows& r) {
  const std::byte* row = r.rows;
  float* out = r.out;
  const std::size_t n = r.n, row_bytes = r.row_bytes, out_floats = r.out_floats;
  for (std::size_t left = r.count; left > 0; --left, row += row_bytes, out += out_floats)
    if constexpr (requires { E::middle; })
      for (std::size_t k = 0; k < n; k += E::step)
        E::template expand_block<S>(row + k / E::step * E::bytes, out + k);
    else
      expand<S, E>(row, n, out);
}
template <typename S>
[[gnu::always_inline]] inline void expand_kept(DType type, const KeptRows& rows) {
  switch (type) {
    case DType::f32:
      return expand_rows<S, F32Elements>(rows);
    case DType::f16:
      return expand_rows<S, F16Elements>(rows);
    case DType::bf16:
      return expand_rows<S, Bf16Elements>(rows);
    case DType::q8_0:
      return expand_rows<S, Q8_0Elements>(rows);
    case DType::q4_0:
      return expand_rows<S, HalfByteElements<4, false>>(rows);
    case DType::q4_1:
      return expand_rows<S, HalfByteElements<4, true>>(rows);
    case DType::q5_0:
      return expand_rows<S, HalfByteElements<5, false>>(rows);
    case DType::q5_1:
      return expand_rows<S, HalfByteElements<5, true>>(rows);
    default:
      return;
  }
}

}  // namespace tacet::cpu
