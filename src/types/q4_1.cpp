#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {

void decode(const BlockQ4_1& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  const float min = f16_to_f32(block.min);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(nibble(block.values, i)) + min;
  }
}

void encode(const float* in, BlockQ4_1& block) noexcept {
  const Range range = range_of(in, 32);
  const float scale = (range.high - range.low) / 15.0F;
  const float factor = inverse(scale);
  std::uint8_t q[32];
  for (std::size_t i = 0; i < 32; ++i) q[i] = whole((in[i] - range.low) * factor + 0.5F, 15);
  block.scale = f32_to_f16(scale);
  block.min = f32_to_f16(range.low);
  set_nibbles(q, block.values);
}

}  // namespace tacet::codec
