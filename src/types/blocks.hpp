#pragma once

#include <cstddef>
#include <cstdint>

namespace tacet {

// The blocks of quantized types as they lie in GGUF files (ggml's layouts, little-endian). `size`
// is the number of elements x. "half" is an IEEE half. Where a byte holds two values the first is
// in its low bits.

/// x[i] = scale * values[i].
struct BlockQ8_0 {
  static constexpr std::size_t size = 32;
  std::uint16_t scale;  ///< half
  std::int8_t values[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

/// x[i] = scale * (q[i] - 8). q[i] is the low nibble of values[i], q[i + 16] the high one.
struct BlockQ4_0 {
  static constexpr std::size_t size = 32;
  std::uint16_t scale;  ///< half
  std::uint8_t values[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

/// x[i] = scale * q[i] + min. Nibbles as in Q4_0.
struct BlockQ4_1 {
  static constexpr std::size_t size = 32;
  std::uint16_t scale;  ///< half
  std::uint16_t min;    ///< half
  std::uint8_t values[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

/// x[i] = scale * (q[i] - 16). Low four bits of q as in Q4_0; the fifth of q[i] is bit i % 8 of
/// high[i / 8].
struct BlockQ5_0 {
  static constexpr std::size_t size = 32;
  std::uint16_t scale;  ///< half
  std::uint8_t high[4];
  std::uint8_t values[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

/// x[i] = scale * q[i] + min. Bits of q as in Q5_0.
struct BlockQ5_1 {
  static constexpr std::size_t size = 32;
  std::uint16_t scale;  ///< half
  std::uint16_t min;    ///< half
  std::uint8_t high[4];
  std::uint8_t values[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

/// 16 groups of 16: x = scale * (scales[g] & 15) * q - min * (scales[g] >> 4), q of 2 bits. With
/// i = 128 h + 32 s + l (h < 2, s < 4, l < 32): g = i / 16, and q is the two bits from 2 s of
/// values[32 h + l].
struct BlockQ2_K {
  static constexpr std::size_t size = 256;
  std::uint8_t scales[16];
  std::uint8_t values[64];
  std::uint16_t scale;  ///< half
  std::uint16_t min;    ///< half
};
static_assert(sizeof(BlockQ2_K) == 84);

/// 16 groups of 16: x = scale * (k[g] - 32) * (q - 4), q of 3 bits. Low two bits of q as in Q2_K;
/// with i = 128 h + 32 s + l the third is bit 4 h + s of high[l]. k has 6 bits: the low four are
/// nibbles (g < 8: low ones of scales[g], else high ones of scales[g - 8]), the high two are those
/// from 2 (g / 4) of scales[8 + g % 4].
struct BlockQ3_K {
  static constexpr std::size_t size = 256;
  std::uint8_t high[32];
  std::uint8_t values[64];
  std::uint8_t scales[12];
  std::uint16_t scale;  ///< half
};
static_assert(sizeof(BlockQ3_K) == 110);

/// 8 groups of 32: x = scale * k[g] * q - min * m[g], q of 4 bits. With i = 64 c + l, q is a nibble
/// of values[32 c + l % 32]: the low one for l < 32. k and m have 6 bits: for g < 4 the low six of
/// scales[g] and scales[g + 4]; else the low four are the low and high nibble of scales[g + 4], the
/// high two the top bits of scales[g - 4] and scales[g].
struct BlockQ4_K {
  static constexpr std::size_t size = 256;
  std::uint16_t scale;  ///< half
  std::uint16_t min;    ///< half
  std::uint8_t scales[12];
  std::uint8_t values[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

/// As Q4_K, with a fifth bit of q: with g = i / 32, bit g of high[i % 32].
struct BlockQ5_K {
  static constexpr std::size_t size = 256;
  std::uint16_t scale;  ///< half
  std::uint16_t min;    ///< half
  std::uint8_t scales[12];
  std::uint8_t high[32];
  std::uint8_t values[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

/// 16 groups of 16: x = scale * scales[i / 16] * (q - 32), q of 6 bits. With i = 128 h + 32 s + l
/// (h < 2, s < 4, l < 32) the low four are a nibble of values[64 h + 32 (s % 2) + l], the low one
/// for s < 2; the high two are those from 2 s of high[32 h + l].
struct BlockQ6_K {
  static constexpr std::size_t size = 256;
  std::uint8_t values[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  std::uint16_t scale;  ///< half
};
static_assert(sizeof(BlockQ6_K) == 210);

/// The codebook of IQ4_NL and IQ4_XS.
inline constexpr std::int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

/// x[i] = scale * iq4_values[q[i]]. Nibbles as in Q4_0.
struct BlockIQ4_NL {
  static constexpr std::size_t size = 32;
  std::uint16_t scale;  ///< half
  std::uint8_t values[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

/// 8 groups of 32: x = scale * (k[g] - 32) * iq4_values[q]. Group g's nibbles are those of
/// values[16 g] to values[16 g + 15], as in Q4_0. k has 6 bits: the low four are a nibble of
/// scales_low[g / 2], the low one for even g; the high two are those from 2 g of scales_high.
struct BlockIQ4_XS {
  static constexpr std::size_t size = 256;
  std::uint16_t scale;  ///< half
  std::uint16_t scales_high;
  std::uint8_t scales_low[4];
  std::uint8_t values[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

/// Twice the values of the 4-bit float E2M1: the top bit is the sign.
inline constexpr std::int8_t mxfp4_values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

/// x[i] = 2^(exponent - 128) * mxfp4_values[q[i]]; exponent 255 is not a number (OCP Microscaling
/// Formats 1.0). Nibbles as in Q4_0.
struct BlockMXFP4 {
  static constexpr std::size_t size = 32;
  std::uint8_t exponent;
  std::uint8_t values[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

}  // namespace tacet
