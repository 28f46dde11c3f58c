#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {

void decode(const BlockQ5_0& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale *
             static_cast<float>(
                 static_cast<int>(nibble(block.values, i) | fifth_bit(block.high, i) << 4U) - 16);
  }
}

void encode(const float* in, BlockQ5_0& block) noexcept {
  const float scale = range_of(in, 32).signed_peak / -16.0F;
  const float factor = inverse(scale);
  std::uint8_t q[32];
  for (std::size_t i = 0; i < 32; ++i) q[i] = whole(in[i] * factor + 16.5F, 31);
  block.scale = f32_to_f16(scale);
  set_five_bits(q, block.high, block.values);
}

}  // namespace tacet::codec
