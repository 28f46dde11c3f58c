#include "types/codec.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {
namespace {

float scale_of(std::uint8_t exponent) noexcept {
  if (exponent == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, exponent - 128);
}

}  // namespace

void decode(const BlockMXFP4& block, float* out) noexcept {
  const float scale = scale_of(block.exponent);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(mxfp4_values[nibble(block.values, i)]);
  }
}

}  // namespace tacet::codec
