#pragma once

#include <cstddef>

#include "backends/cpu/simd/math.hpp"
#include "types/dtype.hpp"

namespace tacet::cpu {

// How rows of each type are read: blocks of `block` elements in `bytes` bytes. `load(p, i)` gives
// the i-th vector of the elements at `p`. The floats are exact: products of a Q8_0 value and its
// scale have 18 significant bits.

struct F32Elements {
  static constexpr std::size_t block = 1, bytes = 4;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t) {
    return S::load(reinterpret_cast<const float*>(p));
  }
};

struct F16Elements {
  static constexpr std::size_t block = 1, bytes = 2;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t) {
    return S::load_f16(p);
  }
};

struct Bf16Elements {
  static constexpr std::size_t block = 1, bytes = 2;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t) {
    return S::load_bf16(p);
  }
};

struct Q8_0Elements {
  static constexpr std::size_t block = 32, bytes = 34;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t i) {
    return S::load_scaled_i8(p + 2, i, S::set_f16(p));
  }
};

/// Reads `n` elements of a row as floats. `out` has room for whole vectors; the rest of the last
/// one becomes zero.
template <typename S, typename E>
[[gnu::always_inline]] inline void expand(const std::byte* row, std::size_t n, float* out) {
  if constexpr (E::block > 1) {
    for (std::size_t k = 0; k < n; k += E::block, row += E::bytes)
      for (std::size_t i = 0; i < E::block / S::lanes; ++i)
        S::store(out + k + S::lanes * i, E::template load<S>(row, i));
  } else {
    std::size_t k = 0;
    for (; k + S::lanes <= n; k += S::lanes)
      S::store(out + k, E::template load<S>(row + k * E::bytes, 0));
    if (k == n) return;
    std::byte part[S::lanes * E::bytes] = {};
    __builtin_memcpy(part, row + k * E::bytes, (n - k) * E::bytes);
    S::store(out + k, E::template load<S>(part, 0));
  }
}

}  // namespace tacet::cpu
