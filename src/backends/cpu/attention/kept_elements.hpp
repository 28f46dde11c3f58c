#pragma once

#include "backends/cpu/simd/elements.hpp"

namespace tacet::cpu {

// How the types are read that keys and values are kept in, but weights are not multiplied in. A
// block of 32 has 4 bits of each number in 16 bytes, the first half of them in the low halves
// (ggml's block_q4_0, block_q4_1, block_q5_0 and block_q5_1); they are handled 8 at a time in a
// word.

/// Whether keys and values may be kept in `type`.
[[gnu::always_inline]] inline bool is_kept(DType type) {
  switch (type) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::q8_0:
    case DType::q4_0:
    case DType::q4_1:
    case DType::q5_0:
    case DType::q5_1:
      return true;
    default:
      return false;
  }
}

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
    std::uint64_t words[4];
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t numbers;
      __builtin_memcpy(&numbers, block + low_at + 8 * (i % 2), sizeof numbers);
      numbers = numbers >> 4 * (i / 2) & 0x0f0f0f0f0f0f0f0fu;
      if constexpr (Bits == 5)
        numbers |= spread_bits(static_cast<std::uint8_t>(block[high_at + i])) << 4;
      // Bytes minus `middle`, without borrowing from their neighbours.
      constexpr std::uint64_t tops = 0x8080808080808080u;
      words[i] = ((numbers | tops) - middle * 0x0101010101010101u) ^ tops;
    }
    std::byte numbers[step];
    __builtin_memcpy(numbers, words, sizeof words);
    const typename S::F scale = S::set_f16(block);
    for (std::size_t i = 0; i < step / S::lanes; ++i) {
      typename S::F values = S::load_scaled_i8(numbers, i, scale);
      if constexpr (Minimum) values = S::add(values, S::set_f16(block + 2));
      S::store(out + S::lanes * i, values);
    }
  }
};

template <typename S, typename E>
[[gnu::always_inline]] inline void expand_blocks(const std::byte* row, std::size_t n, float* out) {
  for (std::size_t k = 0; k < n; k += E::step, row += E::bytes)
    E::template expand_block<S>(row, out + k);
}

/// Reads `n` elements of a row of keys or values as floats. `out` has room for whole vectors; the
/// rest of the last one becomes zero.
template <typename S>
[[gnu::always_inline]] inline void expand_kept(DType type, const std::byte* row, std::size_t n,
                                               float* out) {
  switch (type) {
    case DType::q4_0:
      return expand_blocks<S, HalfByteElements<4, false>>(row, n, out);
    case DType::q4_1:
      return expand_blocks<S, HalfByteElements<4, true>>(row, n, out);
    case DType::q5_0:
      return expand_blocks<S, HalfByteElements<5, false>>(row, n, out);
    case DType::q5_1:
      return expand_blocks<S, HalfByteElements<5, true>>(row, n, out);
    default:
      return expand<S>(type, row, n, out);
  }
}

}  // namespace tacet::cpu
