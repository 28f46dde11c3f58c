#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {

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

}  // namespace tacet::codec
