#include <algorithm>

#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {

void decode(const BlockQ8_0& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(block.values[i]);
}

void encode(const float* in, BlockQ8_0& block) noexcept {
  const float scale = std::fabs(range_of(in, 32).signed_peak) / 127.0F;
  const float factor = inverse(scale);
  block.scale = f32_to_f16(scale);
  for (std::size_t i = 0; i < 32; ++i) {
    const float x = std::round(in[i] * factor);
    block.values[i] =
        std::isnan(x) ? std::int8_t{0} : static_cast<std::int8_t>(std::clamp(x, -128.0F, 127.0F));
  }
}

}  // namespace tacet::codec
