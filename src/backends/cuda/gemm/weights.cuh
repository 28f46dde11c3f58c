#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/gemm/tiles.hpp"

/// Quantized weights become halves in registers, two at a time.
namespace tacet::cuda {

/// What a lane holds of a chunk as the left operands of four products of 16 columns.
struct WeightSteps {
  std::uint32_t of[4][4];

  __device__ void set(int step, const uint4& words) {
    of[step][0] = words.x, of[step][1] = words.y, of[step][2] = words.z, of[step][3] = words.w;
  }
};

__device__ inline __half2 as_halves(std::uint32_t word) {
  return reinterpret_cast<const __half2&>(word);
}
__device__ inline std::uint32_t as_word(__half2 pair) {
  return reinterpret_cast<const std::uint32_t&>(pair);
}
/// A small integer n in the lower byte of a half of exponent 10 makes it 1024 + n.
inline constexpr std::uint32_t offset_halves = 0x64006400u;
/// Bytes 0 and 2 of a word, or 1 and 3, less `zero`.
template <int Zero, bool Odd>
__device__ inline __half2 byte_pair(std::uint32_t word) {
  const std::uint32_t bytes = __byte_perm(word, offset_halves, Odd ? 0x7371 : 0x7270);
  return __hsub2(as_halves(bytes), __half2half2(__ushort_as_half(0x6400 + Zero)));
}
/// One of two halves, twice.
template <int Which>
__device__ inline __half2 twice(std::uint32_t word) {
  return as_halves(__byte_perm(word, 0, Which == 0 ? 0x1010 : 0x3232));
}

/// The scales of a lane's two rows for a chunk, a group of columns each, twice in a word; the mins
/// as they are added.
template <int Groups>
struct HalfScales {
  __half2 scale[2][Groups];
  __half2 min[2][Groups];
};

/// 2^(n - 243), or no number for 255.
__device__ inline std::uint32_t half_of_exponent(std::uint32_t n) {
  if (n == 255) return 0x7e00u;
  if (n < 219) return 0;
  return n < 229 ? 1u << (n - 219) : (n - 228) << 10;
}

template <DType Type>
__device__ inline void unpack_half_scales(const RawChunk& raw,
                                          HalfScales<TileFormat<Type>::groups>& to) {
  using F = TileFormat<Type>;
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const std::uint32_t word = raw.scales[p], more = raw.more[p];
    if constexpr (F::scales == Scales::half || F::scales == Scales::half_min) {
      to.scale[p][0] = twice<0>(word), to.scale[p][1] = twice<1>(word);
      if constexpr (F::has_min) to.min[p][0] = twice<0>(more), to.min[p][1] = twice<1>(more);
    } else if constexpr (F::scales == Scales::exponent) {
      for (int g = 0; g < 2; ++g)
        to.scale[p][g] = twice<0>(half_of_exponent(word >> (8 * g) & 255u));
    } else {
      const __half2 shared = twice<0>(more);
      if constexpr (F::scales == Scales::k_min) {
        // Bytes k0, k1, m0, m1.
        const __half2 even = byte_pair<0, false>(word), odd = byte_pair<0, true>(word);
        const __half2 shared_min = twice<1>(more ^ 0x80000000u);
        const __half2 k0 = __low2half2(even), k1 = __low2half2(odd);
        to.scale[p][0] = __hmul2(shared, k0), to.scale[p][1] = __hmul2(shared, k1);
        to.min[p][0] = __hmul2(shared_min, __high2half2(even));
        to.min[p][1] = __hmul2(shared_min, __high2half2(odd));
      } else if constexpr (F::scales == Scales::k_min_16) {
        const __half2 shared_min = twice<1>(more ^ 0x80000000u);
        const std::uint32_t k = word & 0x0f0f0f0fu, m = word >> 4 & 0x0f0f0f0fu;
        const auto spread = [](__half2 by, std::uint32_t bytes, __half2(&out)[4]) {
          const __half2 even = __hmul2(by, byte_pair<0, false>(bytes));
          const __half2 odd = __hmul2(by, byte_pair<0, true>(bytes));
          out[0] = __low2half2(even), out[1] = __low2half2(odd);
          out[2] = __high2half2(even), out[3] = __high2half2(odd);
        };
        spread(shared, k, to.scale[p]);
        spread(shared_min, m, to.min[p]);
      } else {
        // Signed bytes.
        const std::uint32_t k = word ^ 0x80808080u;
        const __half2 even = __hmul2(shared, byte_pair<128, false>(k));
        const __half2 odd = __hmul2(shared, byte_pair<128, true>(k));
        to.scale[p][0] = __low2half2(even), to.scale[p][1] = __low2half2(odd);
        if constexpr (F::groups == 4)
          to.scale[p][2] = __high2half2(even), to.scale[p][3] = __high2half2(odd);
      }
    }
  }
}

/// A weight is code - zero, multiplied by its scale, plus its min, with one rounding.
template <DType Type>
__device__ inline WeightSteps weights_as_halves(const RawChunk& raw) {
  using F = TileFormat<Type>;
  constexpr bool is_signed = F::codes == Codes::eight || F::codes == Codes::four_by_table;
  constexpr int zero = is_signed ? 128 : F::zero;
  std::uint32_t words[8];
  unpack_codes<Type>(raw, words);
  HalfScales<F::groups> scales;
  unpack_half_scales<Type>(raw, scales);
  WeightSteps weights;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int step = i / 2, p = i % 2, group = step * F::groups / 4;
    const std::uint32_t word = is_signed ? words[i] ^ 0x80808080u : words[i];
    const auto weight = [&](__half2 code) {
      if constexpr (F::has_min)
        return as_word(__hfma2(code, scales.scale[p][group], scales.min[p][group]));
      return as_word(__hmul2(code, scales.scale[p][group]));
    };
    weights.of[step][p] = weight(byte_pair<zero, false>(word));
    weights.of[step][2 + p] = weight(byte_pair<zero, true>(word));
  }
  return weights;
}

}  // namespace tacet::cuda
