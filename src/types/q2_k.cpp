#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_groups.hpp"

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

void encode(const float* in, BlockQ2_K& block) noexcept {
  block = {};
  const Magnitudes all = magnitudes(in, 256);
  if (is_special(all, block.scale)) return;
  float weights[256];
  importance(in, 256, all.mean_square, weights);
  const auto fit = AffineFit<3, 16, 15>(in, weights).best(24, 0.4F, 1.1F);
  block.scale = fit.scale;
  block.min = fit.min;
  for (std::size_t g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<std::uint8_t>(fit.k[g] | fit.m[g] << 4);
    std::uint8_t q[16];
    affine_values(in + 16 * g, 16, fit.group(g), 3, q);
    std::uint8_t* values = block.values + 32 * (g / 8) + 16 * (g % 2);
    for (std::size_t l = 0; l < 16; ++l) {
      values[l] = static_cast<std::uint8_t>(values[l] | q[l] << (2 * (g % 8 / 2)));
    }
  }
}

}  // namespace tacet::codec
