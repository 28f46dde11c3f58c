#include "types/codec.hpp"
#include "types/convert.hpp"

namespace tacet::codec {

void decode(const BlockQ2_K& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  const float min = f16_to_f32(block.min);
  for (std::size_t g = 0; g < 16; ++g) {
    const float step = scale * static_cast<float>(block.scales[g] & 15U);
    const float offset = min * static_cast<float>(block.scales[g] >> 4U);
    const std::uint8_t* values = block.values + 32 * (g / 8) + 16 * (g % 2);
    const std::size_t shift = 2 * (g % 8 / 2);
    for (std::size_t l = 0; l < 16; ++l) {
      out[16 * g + l] = step * static_cast<float>(values[l] >> shift & 3U) - offset;
    }
  }
}

}  // namespace tacet::codec
