#include "types/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "types/codec.hpp"
#include "types/dtype.hpp"

namespace tacet {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are read as they lie in files");

constexpr std::uint32_t kQuietNaN = 0x400000;

template <typename T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* to, const T& value) noexcept {
  std::memcpy(to, &value, sizeof(T));
}

/// Shifts right and rounds to nearest, ties to even. 0 < bits < 32.
std::uint32_t shift_rounded(std::uint32_t value, unsigned bits) noexcept {
  const std::uint32_t odd = (value >> bits) & 1U;
  return (value + ((1U << (bits - 1)) - 1U) + odd) >> bits;
}

std::int32_t to_integer(float value) noexcept {
  if (std::isnan(value)) return 0;
  constexpr double low = std::numeric_limits<std::int32_t>::min();
  constexpr double high = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(static_cast<double>(std::round(value)), low, high));
}

}  // namespace

float f16_to_f32(std::uint16_t half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0x1F) {
    const std::uint32_t quiet = mantissa != 0 ? kQuietNaN : 0;
    return std::bit_cast<float>(sign | 0x7F800000U | quiet | (mantissa << 13));
  }
  if (exponent == 0) {
    // Zero or subnormal: mantissa times 2^-24, exact in a float.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t f32_to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
  }
  // 65520 is half way between the largest half and the next power of two.
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude >= 0x38800000U) {  // 2^-14, the smallest normal half
    return static_cast<std::uint16_t>(sign | (shift_rounded(magnitude, 13) - (112U << 10)));
  }
  if (magnitude <= 0x33000000U) return static_cast<std::uint16_t>(sign);  // at most 2^-25
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const unsigned shift = 126U - (magnitude >> 23);
  return static_cast<std::uint16_t>(sign | shift_rounded(mantissa, shift));
}

float bf16_to_f32(std::uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

std::uint16_t f32_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<std::uint16_t>(shift_rounded(bits, 16));
}

void dequantize(DType type, const void* data, std::span<float> out) noexcept {
  info(type).read(static_cast<const std::byte*>(data), out);
}

void quantize(DType type, std::span<const float> in, void* data) noexcept {
  info(type).write(in, static_cast<std::byte*>(data));
}

namespace codec {

void read_f32(const std::byte* from, std::span<float> out) noexcept {
  if (!out.empty()) std::memcpy(out.data(), from, out.size_bytes());
}

void read_f16(const std::byte* from, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = f16_to_f32(load<std::uint16_t>(from + 2 * i));
}

void read_bf16(const std::byte* from, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = bf16_to_f32(load<std::uint16_t>(from + 2 * i));
}

void read_i32(const std::byte* from, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(load<std::int32_t>(from + 4 * i));
  }
}

void write_f32(std::span<const float> in, std::byte* to) noexcept {
  if (!in.empty()) std::memcpy(to, in.data(), in.size_bytes());
}

void write_f16(std::span<const float> in, std::byte* to) noexcept {
  for (std::size_t i = 0; i < in.size(); ++i) store(to + 2 * i, f32_to_f16(in[i]));
}

void write_bf16(std::span<const float> in, std::byte* to) noexcept {
  for (std::size_t i = 0; i < in.size(); ++i) store(to + 2 * i, f32_to_bf16(in[i]));
}

void write_i32(std::span<const float> in, std::byte* to) noexcept {
  for (std::size_t i = 0; i < in.size(); ++i) store(to + 4 * i, to_integer(in[i]));
}

}  // namespace codec

}  // namespace tacet
