#pragma once

#include <cstddef>

#include "backends/cpu/simd/math.hpp"
#include "types/dtype.hpp"

namespace tacet::cpu {

// How rows of each type are read. `step` elements lie in `bytes` bytes; `load(p, i)` gives the i-th
// eight of the step at `p`. The floats are exact: products of a Q8_0 value and its scale have 18
// significant bits.

struct F32Elements {
  static constexpr DType type = DType::f32;
  static constexpr std::size_t step = 8, bytes = 32, element_bytes = 4;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t) {
    return S::load(reinterpret_cast<const float*>(p));
  }
};

struct F16Elements {
  static constexpr DType type = DType::f16;
  static constexpr std::size_t step = 8, bytes = 16, element_bytes = 2;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t) {
    return S::load_f16(p);
  }
};

struct Bf16Elements {
  static constexpr DType type = DType::bf16;
  static constexpr std::size_t step = 8, bytes = 16, element_bytes = 2;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t) {
    return S::load_bf16(p);
  }
};

struct Q8_0Elements {
  static constexpr DType type = DType::q8_0;
  static constexpr std::size_t step = 32, bytes = 34, element_bytes = 1;
  template <typename S>
  [[gnu::always_inline]] static typename S::F load(const std::byte* p, std::size_t i) {
    return S::load_scaled_i8(p + 2, i, S::set_f16(p));
  }
};

/// The last `n` (below 8) elements of a row, zeros behind. Rows of blocks have no such part.
template <typename S, typename E>
[[gnu::always_inline]] inline typename S::F load_part(const std::byte* p, std::size_t n) {
  std::byte lanes[E::bytes] = {};
  __builtin_memcpy(lanes, p, n * E::element_bytes);
  return E::template load<S>(lanes, 0);
}

/// Whether the kernels read rows of `type`: those that `expand` and `offset` know.
[[gnu::always_inline]] inline bool is_read(DType type) {
  switch (type) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::q8_0:
      return true;
    default:
      return false;
  }
}

/// Reads `n` elements of a row as floats. `out` has room for whole eights; the rest of the last one
/// becomes zero.
template <typename S, typename E>
[[gnu::always_inline]] inline void expand(const std::byte* row, std::size_t n, float* out) {
  std::size_t k = 0;
  for (; k + E::step <= n; k += E::step, row += E::bytes)
    for (std::size_t i = 0; i < E::step / 8; ++i)
      S::store(out + k + 8 * i, E::template load<S>(row, i));
  if constexpr (E::step == 8)
    if (k < n) S::store(out + k, load_part<S, E>(row, n - k));
}

/// The same for a type that is known at run time only, one of `is_read`.
template <typename S>
[[gnu::always_inline]] inline void expand(DType type, const std::byte* row, std::size_t n,
                                          float* out) {
  switch (type) {
    case DType::f32:
      return expand<S, F32Elements>(row, n, out);
    case DType::f16:
      return expand<S, F16Elements>(row, n, out);
    case DType::bf16:
      return expand<S, Bf16Elements>(row, n, out);
    case DType::q8_0:
      return expand<S, Q8_0Elements>(row, n, out);
    default:
      return;
  }
}

/// The bytes of `n` elements, whole blocks.
[[gnu::always_inline]] inline std::size_t offset(DType type, std::size_t n) {
  switch (type) {
    case DType::f32:
    case DType::i32:
      return n * 4;
    case DType::f16:
    case DType::bf16:
      return n * 2;
    case DType::q8_0:
      return n / 32 * 34;
    default:
      return 0;
  }
}

}  // namespace tacet::cpu
