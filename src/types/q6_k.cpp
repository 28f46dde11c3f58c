#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_groups.hpp"

namespace tacet::codec {
namespace {

using Levels = IntegerLevels<-32, 31>;

}  // namespace

void decode(const BlockQ6_K& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t i = 0; i < 256; i += 32) {
    const std::size_t half = i / 128;
    const std::size_t s = i % 128 / 32;
    const std::uint8_t* values = block.values + 64 * half + 32 * (s % 2);
    const std::uint8_t* high = block.high + 32 * half;
    for (std::size_t l = 0; l < 32; ++l) {
      const unsigned low = values[l] >> (4 * (s / 2)) & 15U;
      const auto q = static_cast<int>(low | (high[l] >> (2 * s) & 3U) << 4U) - 32;
      const std::size_t group = (i + l) / 16;
      const float step = scale * static_cast<float>(block.scales[group]);
      out[i + l] = step * static_cast<float>(q);
    }
  }
}

void encode(const float* in, BlockQ6_K& block) noexcept {
  block = {};
  const Magnitudes all = magnitudes(in, 256);
  if (is_special(all, block.scale)) return;
  float weights[256];
  importance(in, 256, all.mean_square, weights);
  const auto fit = ScaleFit<Levels, 16, -128, 127>(in, weights).best(8, 0.95F, 1.03F);
  block.scale = fit.scale;
  for (std::size_t i = 0; i < 256; i += 16) {
    const std::size_t g = i / 16;
    block.scales[g] = static_cast<std::int8_t>(fit.k[g]);
    std::uint8_t q[16];
    level_numbers<Levels>(in + i, 16, fit.step(g), q);
    const std::size_t s = i % 128 / 32;
    std::uint8_t* values = block.values + 64 * (i / 128) + 32 * (s % 2) + i % 32;
    std::uint8_t* high = block.high + 32 * (i / 128) + i % 32;
    for (std::size_t l = 0; l < 16; ++l) {
      values[l] = static_cast<std::uint8_t>(values[l] | (q[l] & 15U) << (4 * (s / 2)));
      high[l] = static_cast<std::uint8_t>(high[l] | (unsigned{q[l]} >> 4U) << (2 * s));
    }
  }
}

}  // namespace tacet::codec
