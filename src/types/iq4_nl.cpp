#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/k_groups.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {
namespace {

using Levels = TableLevels<16, iq4_values>;

}  // namespace

void decode(const BlockIQ4_NL& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(iq4_values[nibble(block.values, i)]);
  }
}

void encode(const float* in, BlockIQ4_NL& block) noexcept {
  block = {};
  const Magnitudes all = magnitudes(in, 32);
  if (is_special(all, block.scale)) return;
  float weights[32];
  importance(in, 32, all.mean_square, weights);
  const float scale = fit_scale<Levels>(in, weights, 32, 12, 0.72F, 1.06F);
  block.scale = f32_to_f16(scale);
  std::uint8_t q[32];
  level_numbers<Levels>(in, 32, f16_to_f32(block.scale), q);
  set_nibbles(q, block.values);
}

}  // namespace tacet::codec
