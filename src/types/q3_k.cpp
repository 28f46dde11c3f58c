#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_groups.hpp"

namespace tacet::codec {
namespace {

using Levels = IntegerLevels<-4, 3>;

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

void encode(const float* in, BlockQ3_K& block) noexcept {
  block = {};
  const Magnitudes all = magnitudes(in, 256);
  if (is_special(all, block.scale)) return;
  float weights[256];
  importance(in, 256, all.mean_square, weights);
  const auto fit = ScaleFit<Levels, 16, -32, 31>(in, weights).best(12, 0.55F, 1.1F);
  block.scale = fit.scale;
  for (std::size_t g = 0; g < 16; ++g) {
    const auto k = static_cast<unsigned>(fit.k[g] + 32);
    std::uint8_t& low = block.scales[g % 8];
    low = static_cast<std::uint8_t>(low | (k & 15U) << (4 * (g / 8)));
    std::uint8_t& high = block.scales[8 + g % 4];
    high = static_cast<std::uint8_t>(high | k >> 4U << (2 * (g / 4)));
    std::uint8_t q[16];
    level_numbers<Levels>(in + 16 * g, 16, fit.step(g), q);
    const std::size_t at = 16 * (g % 2);
    std::uint8_t* values = block.values + 32 * (g / 8) + at;
    for (std::size_t l = 0; l < 16; ++l) {
      values[l] = static_cast<std::uint8_t>(values[l] | (q[l] & 3U) << (2 * (g % 8 / 2)));
      std::uint8_t& thirds = block.high[at + l];
      thirds = static_cast<std::uint8_t>(thirds | (unsigned{q[l]} >> 2U) << (g / 2));
    }
  }
}

}  // namespace tacet::codec
