#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "types/dtype.hpp"

namespace tacet::test {

// Readers of blocks, written from the published layout byte by byte: offsets and shifts as numbers,
// elements in the order in which ggml documents them, no structs and nothing of src/types.

inline float half_at(const std::uint8_t* p) {
  const unsigned half = p[0] | static_cast<unsigned>(p[1]) << 8U;
  const float sign = (half & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = static_cast<int>(half >> 10U & 31U);
  const auto mantissa = static_cast<float>(half & 1023U);
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0F + mantissa, exponent - 25);
}

/// Low nibbles are the first half of a block of 32, high ones the second.
template <typename Value>
void nibbles_at(const std::uint8_t* p, float* out, const Value& value) {
  for (int i = 0; i < 16; ++i) {
    out[i] = value(p[i] % 16, i);
    out[i + 16] = value(p[i] / 16, i + 16);
  }
}

inline unsigned bit_of(const std::uint8_t* p, int i) {
  return p[i / 8] >> (i % 8) & 1U;
}

/// Scale and min j of the 12 packed bytes of Q4_K and Q5_K.
inline void scale_min(const std::uint8_t* q, int j, float& scale, float& min) {
  if (j < 4) {
    scale = static_cast<float>(q[j] & 63);
    min = static_cast<float>(q[j + 4] & 63);
  } else {
    scale = static_cast<float>((q[j + 4] & 0xF) | ((q[j - 4] >> 6) << 4));
    min = static_cast<float>((q[j + 4] >> 4) | ((q[j] >> 6) << 4));
  }
}

inline std::vector<float> read_by_layout(DType type, const std::uint8_t* p) {
  constexpr float kIq4[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                            1,    13,   25,  38,  53,  69,  89,  113};
  constexpr float kFp4[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  std::vector<float> out(info(type).block_size);
  float* y = out.data();
  switch (type) {
    case DType::q8_0: {
      const float d = half_at(p);
      for (int i = 0; i < 32; ++i)
        y[i] = d * static_cast<float>(static_cast<std::int8_t>(p[2 + i]));
      break;
    }
    case DType::q4_0: {
      const float d = half_at(p);
      nibbles_at(p + 2, y, [d](int q, int) { return d * static_cast<float>(q - 8); });
      break;
    }
    case DType::q4_1: {
      const float d = half_at(p), m = half_at(p + 2);
      nibbles_at(p + 4, y, [d, m](int q, int) { return d * static_cast<float>(q) + m; });
      break;
    }
    case DType::q5_0: {
      const float d = half_at(p);
      nibbles_at(p + 6, y, [d, p](int q, int i) {
        return d * static_cast<float>(q + (bit_of(p + 2, i) != 0 ? 16 : 0) - 16);
      });
      break;
    }
    case DType::q5_1: {
      const float d = half_at(p), m = half_at(p + 2);
      nibbles_at(p + 8, y, [d, m, p](int q, int i) {
        return d * static_cast<float>(q + (bit_of(p + 4, i) != 0 ? 16 : 0)) + m;
      });
      break;
    }
    case DType::q2_K: {
      const float d = half_at(p + 80), min = half_at(p + 82);
      const std::uint8_t* scale = p;
      for (const std::uint8_t* q = p + 16; q < p + 80; q += 32) {
        for (int shift = 0; shift < 8; shift += 2) {
          for (int half = 0; half < 2; ++half, ++scale) {
            const float dl = d * static_cast<float>(*scale & 0xF);
            const float ml = min * static_cast<float>(*scale >> 4);
            for (int l = 0; l < 16; ++l)
              *y++ = dl * static_cast<float>((q[16 * half + l] >> shift) & 3) - ml;
          }
        }
      }
      break;
    }
    case DType::q3_K: {
      const float d = half_at(p + 108);
      const std::uint8_t* s = p + 96;
      int group = 0;
      int mask = 1;
      for (const std::uint8_t* q = p + 32; q < p + 96; q += 32) {
        for (int shift = 0; shift < 8; shift += 2, mask *= 2) {
          for (int half = 0; half < 2; ++half, ++group) {
            const int low = group < 8 ? s[group] % 16 : s[group - 8] / 16;
            const int high = s[8 + group % 4] >> (2 * (group / 4)) & 3;
            const float dl = d * static_cast<float>(low + 16 * high - 32);
            for (int l = 16 * half; l < 16 * half + 16; ++l)
              *y++ = dl * static_cast<float>((q[l] >> shift & 3) - ((p[l] & mask) != 0 ? 0 : 4));
          }
        }
      }
      break;
    }
    case DType::q4_K:
    case DType::q5_K: {
      const bool five = type == DType::q5_K;
      const float d = half_at(p), min = half_at(p + 2);
      const std::uint8_t* q = p + (five ? 48 : 16);
      for (int group = 0; group < 8; ++group) {
        float scale = 0, m = 0;
        scale_min(p + 4, group, scale, m);
        for (int l = 0; l < 32; ++l) {
          int value = group % 2 == 0 ? q[l] & 0xF : q[l] >> 4;
          if (five && (p[16 + l] >> group & 1) != 0) value += 16;
          *y++ = d * scale * static_cast<float>(value) - min * m;
        }
        if (group % 2 == 1) q += 32;
      }
      break;
    }
    case DType::q6_K: {
      const float d = half_at(p + 208);
      const auto scale = [p, d](int i) {
        return d * static_cast<float>(static_cast<std::int8_t>(p[192 + i]));
      };
      for (int n = 0; n < 2; ++n, y += 128) {
        const std::uint8_t* low = p + 64 * n;
        const std::uint8_t* high = p + 128 + 32 * n;
        for (int l = 0; l < 32; ++l) {
          const int at = 8 * n + l / 16;
          const auto value = [](int bits) { return static_cast<float>(bits - 32); };
          y[l] = scale(at) * value((low[l] & 0xF) | ((high[l] >> 0) & 3) << 4);
          y[l + 32] = scale(at + 2) * value((low[l + 32] & 0xF) | ((high[l] >> 2) & 3) << 4);
          y[l + 64] = scale(at + 4) * value((low[l] >> 4) | ((high[l] >> 4) & 3) << 4);
          y[l + 96] = scale(at + 6) * value((low[l + 32] >> 4) | ((high[l] >> 6) & 3) << 4);
        }
      }
      break;
    }
    case DType::iq4_nl: {
      const float d = half_at(p);
      nibbles_at(p + 2, y, [&](int q, int) { return d * kIq4[q]; });
      break;
    }
    case DType::iq4_xs: {
      const float d = half_at(p);
      const int high = p[2] + 256 * p[3];
      for (int group = 0; group < 8; ++group) {
        const int low = group % 2 == 0 ? p[4 + group / 2] & 0xF : p[4 + group / 2] >> 4;
        const float dl = d * static_cast<float>((low | ((high >> (2 * group)) & 3) << 4) - 32);
        nibbles_at(p + 8 + 16 * group, y + 32 * group, [&](int q, int) { return dl * kIq4[q]; });
      }
      break;
    }
    case DType::mxfp4: {
      const double d = p[0] == 255 ? std::numeric_limits<double>::quiet_NaN()
                                   : std::ldexp(1.0, static_cast<int>(p[0]) - 127);
      nibbles_at(p + 1, y, [&](int q, int) { return static_cast<float>(d * double{kFp4[q]}); });
      break;
    }
    default:
      out.clear();
  }
  return out;
}

}  // namespace tacet::test
