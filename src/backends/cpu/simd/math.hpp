#pragma once

#include <cstddef>
#include <cstdint>

namespace tacet::cpu {

// Everything here is always inlined: a copy of an ordinary inline function from isa_avx2.cpp could
// be the one that the linker keeps for the whole program, and fail on a machine without AVX2.

template <typename T>
[[gnu::always_inline]] inline constexpr T least(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
[[gnu::always_inline]] inline constexpr T most(T a, T b) {
  return a < b ? b : a;
}
[[gnu::always_inline]] inline constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return a / b + (a % b != 0);
}

/// The first `n` floats of `p`, fewer than a vector has, zeros behind.
template <typename S>
[[gnu::always_inline]] inline typename S::F load_part(const float* p, std::size_t n) {
  float lanes[S::lanes] = {};
  __builtin_memcpy(lanes, p, n * sizeof(float));
  return S::load(lanes);
}
template <typename S>
[[gnu::always_inline]] inline void store_part(float* p, typename S::F a, std::size_t n) {
  float lanes[S::lanes];
  S::store(lanes, a);
  __builtin_memcpy(p, lanes, n * sizeof(float));
}

/// Calls `body(i, load, store)` for the vectors of [begin, end), the last of which may be a part.
template <typename S, typename Body>
[[gnu::always_inline]] inline void for_vectors(std::size_t begin, std::size_t end, Body&& body) {
  std::size_t i = begin;
  for (; i + S::lanes <= end; i += S::lanes)
    body(
        i, [](const float* p) __attribute__((always_inline)) { return S::load(p); },
        [](float* p, typename S::F a) __attribute__((always_inline)) { S::store(p, a); });
  if (i < end) {
    const std::size_t n = end - i;
    body(
        i, [n](const float* p) __attribute__((always_inline)) { return load_part<S>(p, n); },
        [n](float* p, typename S::F a) __attribute__((always_inline)) { store_part<S>(p, a, n); });
  }
}

/// e^x, relative error below 3e-7 down to the smallest normal number; -inf gives 0, NaN stays NaN.
/// x = n ln 2 + r, a Taylor polynomial for e^r, and 2^n in two factors so that neither overflows.
template <typename S>
[[gnu::always_inline]] inline typename S::F exp(typename S::F x) {
  using F = typename S::F;
  x = S::min(S::set(89.0f), S::max(S::set(-104.0f), x));
  const F magic = S::set(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  const F n = S::sub(S::fma(x, S::set(1.44269504089f), magic), magic);
  F r = S::fma(n, S::set(-0.693359375f), x);
  r = S::fma(n, S::set(2.12194440e-4f), r);
  F p = S::set(1.0f / 5040);
  p = S::fma(p, r, S::set(1.0f / 720));
  p = S::fma(p, r, S::set(1.0f / 120));
  p = S::fma(p, r, S::set(1.0f / 24));
  p = S::fma(p, r, S::set(1.0f / 6));
  p = S::fma(p, r, S::set(0.5f));
  p = S::fma(p, r, S::set(1.0f));
  p = S::fma(p, r, S::set(1.0f));
  const F half = S::fma(n, S::set(0.5f), magic);
  const F rest = S::add(S::sub(n, S::sub(half, magic)), magic);
  return S::mul(S::mul(p, S::power_of_two(half)), S::power_of_two(rest));
}
template <typename S>
[[gnu::always_inline]] inline float exp(float x) {
  return S::first(exp<S>(S::set(x)));
}

/// x / (1 + e^-x)
template <typename S>
[[gnu::always_inline]] inline typename S::F silu(typename S::F x) {
  const typename S::F e = exp<S>(S::sub(S::zero(), x));
  return S::div(x, S::add(S::set(1.0f), e));
}

}  // namespace tacet::cpu
