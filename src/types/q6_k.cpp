#include "types/codec.hpp"
#include "types/convert.hpp"

namespace tacet::codec {

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
      const float step = scale * static_cast<float>(block.scales[(i + l) / 16]);
      out[i + l] = step * static_cast<float>(q);
    }
  }
}

}  // namespace tacet::codec
