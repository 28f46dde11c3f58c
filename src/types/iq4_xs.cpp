#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_groups.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {
namespace {

using Levels = TableLevels<16, iq4_values>;

}  // namespace

void decode(const BlockIQ4_XS& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t g = 0; g < 8; ++g) {
    const unsigned low = block.scales_low[g / 2] >> (4 * (g % 2)) & 15U;
    const unsigned high = block.scales_high >> (2 * g) & 3U;
    const float step = scale * static_cast<float>(static_cast<int>(low | high << 4U) - 32);
    for (std::size_t i = 0; i < 32; ++i) {
      out[32 * g + i] = step * static_cast<float>(iq4_values[nibble(block.values + 16 * g, i)]);
    }
  }
}

void encode(const float* in, BlockIQ4_XS& block) noexcept {
  block = {};
  const Magnitudes all = magnitudes(in, 256);
  if (is_special(all, block.scale)) return;
  float weights[256];
  importance(in, 256, all.mean_square, weights);
  const auto fit = ScaleFit<Levels, 8, -32, 31>(in, weights).best(10, 0.72F, 1.06F);
  block.scale = fit.scale;
  for (std::size_t g = 0; g < 8; ++g) {
    const auto k = static_cast<unsigned>(fit.k[g] + 32);
    std::uint8_t& low = block.scales_low[g / 2];
    low = static_cast<std::uint8_t>(low | (k & 15U) << (4 * (g % 2)));
    block.scales_high = static_cast<std::uint16_t>(block.scales_high | k >> 4U << (2 * g));
    std::uint8_t q[32];
    level_numbers<Levels>(in + 32 * g, 32, fit.step(g), q);
    set_nibbles(q, block.values + 16 * g);
  }
}

}  // namespace tacet::codec
