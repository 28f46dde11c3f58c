#pragma once

#include "backends/cpu/simd/math.hpp"

namespace tacet::cpu {

/// `n` rounded up to whole vectors.
template <typename S>
[[gnu::always_inline]] inline constexpr std::uint32_t padded(std::uint32_t n) {
  return ceil_div(n, S::lanes) * S::lanes;
}

inline constexpr float no_score = -__FLT_MAX__;

/// A softmax over some keys in the making: the largest score, the sum of e^(score - largest), and
/// the values weighted so (arXiv:1805.02867). While there are no scores, or only -infinity, the
/// largest is `no_score` and the sums are 0.
struct Softmax {
  float largest;
  float sum;
  float* values;
};

template <typename S>
[[gnu::always_inline]] inline void clear(Softmax& state, std::uint32_t size) {
  state.largest = no_score;
  state.sum = 0;
  for (std::uint32_t i = 0; i < size; i += S::lanes) S::store(state.values + i, S::zero());
}

/// Adds a later part to `whole`, with the values [begin, end). Parts are added in order of their
/// keys.
template <typename S>
[[gnu::always_inline]] inline void merge(Softmax& whole, const Softmax& part, std::uint32_t begin,
                                         std::uint32_t end) {
  using F = typename S::F;
  const float largest = most(whole.largest, part.largest);
  const float a = exp<S>(whole.largest - largest), b = exp<S>(part.largest - largest);
  whole.largest = largest;
  whole.sum = whole.sum * a + part.sum * b;
  for_vectors<S>(
      begin, end, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
        const F scaled = S::mul(load(whole.values + i), S::set(a));
        store(whole.values + i, S::fma(load(part.values + i), S::set(b), scaled));
      });
}

/// The first part: what merging with nothing gives.
[[gnu::always_inline]] inline void copy(Softmax& whole, const Softmax& part, std::uint32_t begin,
                                        std::uint32_t end) {
  whole.largest = part.largest;
  whole.sum = part.sum;
  __builtin_memcpy(whole.values + begin, part.values + begin, (end - begin) * sizeof(float));
}

/// The answer of a finished softmax to which a score without a value is added, -infinity: none.
/// `out` may be its values.
template <typename S>
[[gnu::always_inline]] inline void finish(const Softmax& whole, float sink, std::uint32_t begin,
                                          std::uint32_t end, float* out) {
  const float sum = whole.sum + exp<S>(sink - whole.largest);
  const typename S::F factor = S::set(whole.sum == 0 ? 0 : 1.0f / sum);
  for_vectors<S>(
      begin, end, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
        store(out + i, S::mul(load(whole.values + i), factor));
      });
}

}  // namespace tacet::cpu
