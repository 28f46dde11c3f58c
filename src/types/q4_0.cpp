#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {

void decode(const BlockQ4_0& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(static_cast<int>(nibble(block.values, i)) - 8);
  }
}

void encode(const float* in, BlockQ4_0& block) noexcept {
  const float scale = range_of(in, 32).signed_peak / -8.0F;
  const float factor = inverse(scale);
  std::uint8_t q[32];
  for (std::size_t i = 0; i < 32; ++i) q[i] = whole(in[i] * factor + 8.5F, 15);
  block.scale = f32_to_f16(scale);
  set_nibbles(q, block.values);
}

}  // namespace tacet::codec
