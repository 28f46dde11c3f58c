#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tacet::codec {

/// Value i of 32 that lie as nibbles: the first sixteen low, the others high.
inline unsigned nibble(const std::uint8_t* values, std::size_t i) noexcept {
  return i < 16 ? values[i] & 15U : values[i - 16] >> 4U;
}

/// Stores 32 values below 16 as nibbles.
inline void set_nibbles(const std::uint8_t* q, std::uint8_t* values) noexcept {
  for (std::size_t i = 0; i < 16; ++i) {
    values[i] = static_cast<std::uint8_t>(q[i] | (q[i + 16] << 4U));
  }
}

/// Bit i of 32.
inline unsigned fifth_bit(const std::uint8_t* high, std::size_t i) noexcept {
  return high[i / 8] >> (i % 8) & 1U;
}

/// Stores values below 32 as nibbles and fifth bits.
inline void set_five_bits(const std::uint8_t* q, std::uint8_t* high,
                          std::uint8_t* values) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    unsigned bits = 0;
    for (std::size_t j = 0; j < 8; ++j) bits |= (unsigned{q[8 * i + j]} >> 4U) << j;
    high[i] = static_cast<std::uint8_t>(bits);
  }
  for (std::size_t i = 0; i < 16; ++i) {
    values[i] = static_cast<std::uint8_t>((q[i] & 15U) | ((q[i + 16] & 15U) << 4U));
  }
}

/// The integer part of `x` between 0 and `most`; 0 for what is no number.
inline std::uint8_t whole(float x, unsigned most) noexcept {
  if (!(x > 0.0F)) return 0;
  const auto limit = static_cast<float>(most);
  return static_cast<std::uint8_t>(x < limit ? x : limit);
}

/// What 32 floats span. `signed_peak` is the first of the largest magnitude; all are not a number
/// if one of the floats is.
struct Range {
  float low = 0.0F;
  float high = 0.0F;
  float signed_peak = 0.0F;
};

inline Range range_of(const float* in, std::size_t n) noexcept {
  Range range{in[0], in[0], 0.0F};
  bool is_number = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (in[i] < range.low) range.low = in[i];
    if (in[i] > range.high) range.high = in[i];
    if (std::fabs(in[i]) > std::fabs(range.signed_peak)) range.signed_peak = in[i];
    is_number = is_number && !std::isnan(in[i]);
  }
  if (is_number) return range;
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  return {none, none, none};
}

inline float inverse(float scale) noexcept {
  return scale != 0.0F ? 1.0F / scale : 0.0F;
}

}  // namespace tacet::codec
