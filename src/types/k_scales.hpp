#pragma once

#include <cstddef>
#include <cstdint>

namespace tacet::codec {

/// The 6-bit scales and mins of the eight groups of a Q4_K or Q5_K block.
struct KScales {
  std::uint8_t scale[8];
  std::uint8_t min[8];
};

inline KScales unpack_k_scales(const std::uint8_t (&packed)[12]) noexcept {
  KScales k;
  for (std::size_t g = 0; g < 4; ++g) {
    k.scale[g] = packed[g] & 63U;
    k.min[g] = packed[g + 4] & 63U;
    k.scale[g + 4] =
        static_cast<std::uint8_t>((packed[g + 8] & 15U) | (unsigned{packed[g]} >> 6U) << 4U);
    k.min[g + 4] = static_cast<std::uint8_t>((unsigned{packed[g + 8]} >> 4U) |
                                             (unsigned{packed[g + 4]} >> 6U) << 4U);
  }
  return k;
}

inline void pack_k_scales(const KScales& k, std::uint8_t (&packed)[12]) noexcept {
  for (std::size_t g = 0; g < 4; ++g) {
    packed[g] = static_cast<std::uint8_t>(k.scale[g] | (unsigned{k.scale[g + 4]} >> 4U) << 6U);
    packed[g + 4] = static_cast<std::uint8_t>(k.min[g] | (unsigned{k.min[g + 4]} >> 4U) << 6U);
    packed[g + 8] = static_cast<std::uint8_t>((k.scale[g + 4] & 15U) | (k.min[g + 4] & 15U) << 4U);
  }
}

}  // namespace tacet::codec
