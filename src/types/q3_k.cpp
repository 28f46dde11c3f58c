#include "types/codec.hpp"
#include "types/convert.hpp"

namespace tacet::codec {
namespace {

int group_scale(const BlockQ3_K& block, std::size_t g) noexcept {
  const unsigned low = g < 8 ? block.scales[g] & 15U : block.scales[g - 8] >> 4U;
  const unsigned high = block.scales[8 + g % 4] >> (2 * (g / 4)) & 3U;
  return static_cast<int>(low | high << 4U) - 32;
}

}  // namespace

void decode(const BlockQ3_K& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t g = 0; g < 16; ++g) {
    const float step = scale * static_cast<float>(group_scale(block, g));
    const std::size_t at = 16 * (g % 2);
    const std::uint8_t* values = block.values + 32 * (g / 8) + at;
    const std::size_t shift = 2 * (g % 8 / 2);
    for (std::size_t l = 0; l < 16; ++l) {
      const unsigned third = block.high[at + l] >> (g / 2) & 1U;
      const auto q = static_cast<int>((values[l] >> shift & 3U) | third << 2U) - 4;
      out[16 * g + l] = step * static_cast<float>(q);
    }
  }
}

}  // namespace tacet::codec
