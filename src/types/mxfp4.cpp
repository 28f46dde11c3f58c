#include <algorithm>

#include "types/codec.hpp"
#include "types/fit.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {
namespace {

constexpr std::int8_t kAscending[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
using Levels = TableLevels<15, kAscending>;

float scale_of(std::uint8_t exponent) noexcept {
  if (exponent == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, exponent - 128);
}

}  // namespace

void decode(const BlockMXFP4& block, float* out) noexcept {
  const float scale = scale_of(block.exponent);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(mxfp4_values[nibble(block.values, i)]);
  }
}

void encode(const float* in, BlockMXFP4& block) noexcept {
  block = {};
  float peak = 0.0F;
  bool finite = true;
  for (std::size_t i = 0; i < 32; ++i) {
    peak = std::fmax(peak, std::fabs(in[i]));
    finite = finite && std::isfinite(in[i]);
  }
  if (!finite) block.exponent = 255;
  if (!finite || peak == 0.0F) return;
  // With the specification's exponent the peak is 4 to 8, and what is more than 6 is cut; with the
  // next one all are coarser.
  const int first = std::clamp(std::ilogb(peak) + 125, 0, 253);
  float scaled[2][32];
  float errors[2];
  for (int i = 0; i < 2; ++i) {
    const double factor = std::ldexp(1.0, 128 - first - i);
    for (std::size_t j = 0; j < 32; ++j) scaled[i][j] = static_cast<float>(in[j] * factor);
    float weights[32];
    importance(scaled[i], 32, magnitudes(scaled[i], 32).mean_square, weights);
    errors[i] = scale_error<Levels>(scaled[i], weights, 32, 1.0F);
  }
  const int better = 4.0F * errors[1] < errors[0] ? 1 : 0;
  block.exponent = static_cast<std::uint8_t>(first + better);
  std::uint8_t q[32];
  level_numbers<Levels>(scaled[better], 32, 1.0F, q);
  // The levels ascend; the type has the positive ones from 0 on and the negative ones from 8 on.
  for (std::uint8_t& x : q) x = static_cast<std::uint8_t>(x >= 7 ? x - 7 : 15 - x);
  set_nibbles(q, block.values);
}

}  // namespace tacet::codec
