#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_scales.hpp"

namespace tacet::codec {

void decode(const BlockQ5_K& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  const float min = f16_to_f32(block.min);
  const KScales k = unpack_k_scales(block.scales);
  for (std::size_t g = 0; g < 8; ++g) {
    const float step = scale * static_cast<float>(k.scale[g]);
    const float offset = min * static_cast<float>(k.min[g]);
    const std::uint8_t* values = block.values + 32 * (g / 2);
    const std::size_t shift = 4 * (g % 2);
    for (std::size_t l = 0; l < 32; ++l) {
      const unsigned fifth = block.high[l] >> g & 1U;
      const unsigned q = (values[l] >> shift & 15U) | fifth << 4U;
      out[32 * g + l] = step * static_cast<float>(q) - offset;
    }
  }
}

}  // namespace tacet::codec
