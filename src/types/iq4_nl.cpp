#include "types/codec.hpp"
#include "types/convert.hpp"
#include "types/nibbles.hpp"

namespace tacet::codec {

void decode(const BlockIQ4_NL& block, float* out) noexcept {
  const float scale = f16_to_f32(block.scale);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(iq4_values[nibble(block.values, i)]);
  }
}

}  // namespace tacet::codec
