#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_groups.hpp"
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

void encode(const float* in, BlockQ5_K& block) noexcept {
  block = {};
  const Magnitudes all = magnitudes(in, 256);
  if (is_special(all, block.scale)) return;
  float weights[256];
  importance(in, 256, all.mean_square, weights);
  const auto fit = AffineFit<31, 8, 63>(in, weights).best(16, 0.88F, 1.02F);
  block.scale = fit.scale;
  block.min = fit.min;
  KScales k;
  for (std::size_t g = 0; g < 8; ++g) {
    k.scale[g] = static_cast<std::uint8_t>(fit.k[g]);
    k.min[g] = static_cast<std::uint8_t>(fit.m[g]);
    std::uint8_t q[32];
    affine_values(in + 32 * g, 32, fit.group(g), 31, q);
    std::uint8_t* values = block.values + 32 * (g / 2);
    for (std::size_t l = 0; l < 32; ++l) {
      values[l] = static_cast<std::uint8_t>(values[l] | (q[l] & 15U) << (4 * (g % 2)));
      block.high[l] = static_cast<std::uint8_t>(block.high[l] | (unsigned{q[l]} >> 4U) << g);
    }
  }
  pack_k_scales(k, block.scales);
}

}  // namespace tacet::codec
