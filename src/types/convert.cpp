#include "types/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

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

template <typename T>
T to_integer(float value) noexcept {
  if (std::isnan(value)) return 0;
  constexpr auto low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto high = static_cast<double>(std::numeric_limits<T>::max());
  return static_cast<T>(std::clamp(static_cast<double>(std::round(value)), low, high));
}

BlockQ8_0 quantize_block(const float* in) noexcept {
  float largest = 0.0F;
  bool is_number = true;
  for (int i = 0; i < 32; ++i) {
    largest = std::max(largest, std::fabs(in[i]));
    is_number = is_number && !std::isnan(in[i]);
  }
  // One that is no number makes the block none: as 0 it would go unseen.
  if (!is_number) largest = std::numeric_limits<float>::quiet_NaN();
  const float scale = largest / 127.0F;
  const float inverse = scale != 0.0F ? 1.0F / scale : 0.0F;
  BlockQ8_0 block;
  block.scale = f32_to_f16(scale);
  for (int i = 0; i < 32; ++i) block.values[i] = to_integer<std::int8_t>(in[i] * inverse);
  return block;
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
  const auto* from = static_cast<const std::byte*>(data);
  switch (type) {
    case DType::f32:
      if (!out.empty()) std::memcpy(out.data(), from, out.size_bytes());
      return;
    case DType::f16:
      for (float& x : out) {
        x = f16_to_f32(load<std::uint16_t>(from));
        from += 2;
      }
      return;
    case DType::bf16:
      for (float& x : out) {
        x = bf16_to_f32(load<std::uint16_t>(from));
        from += 2;
      }
      return;
    case DType::i32:
      for (float& x : out) {
        x = static_cast<float>(load<std::int32_t>(from));
        from += 4;
      }
      return;
    case DType::q8_0:
      for (std::size_t i = 0; i + 32 <= out.size(); i += 32) {
        const auto block = load<BlockQ8_0>(from);
        const float scale = f16_to_f32(block.scale);
        for (std::size_t j = 0; j < 32; ++j) {
          out[i + j] = scale * static_cast<float>(block.values[j]);
        }
        from += sizeof(BlockQ8_0);
      }
      return;
  }
}

void quantize(DType type, std::span<const float> in, void* data) noexcept {
  auto* to = static_cast<std::byte*>(data);
  switch (type) {
    case DType::f32:
      if (!in.empty()) std::memcpy(to, in.data(), in.size_bytes());
      return;
    case DType::f16:
      for (const float x : in) {
        store(to, f32_to_f16(x));
        to += 2;
      }
      return;
    case DType::bf16:
      for (const float x : in) {
        store(to, f32_to_bf16(x));
        to += 2;
      }
      return;
    case DType::i32:
      for (const float x : in) {
        store(to, to_integer<std::int32_t>(x));
        to += 4;
      }
      return;
    case DType::q8_0:
      for (std::size_t i = 0; i + 32 <= in.size(); i += 32) {
        store(to, quantize_block(in.data() + i));
        to += sizeof(BlockQ8_0);
      }
      return;
  }
}

}  // namespace tacet
