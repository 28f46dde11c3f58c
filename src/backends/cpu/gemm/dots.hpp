#pragma once

#include "backends/cpu/simd/elements.hpp"

namespace tacet::cpu {

/// Adds the products of `Rows` rows of elements with `Columns` rows of floats, `n` elements of
/// each, to a register tile of sums. Each pair has one vector of eight sums and its products are
/// added in order of the elements, whatever the tile: so a dot product has the same bits in every
/// tile, and continues where an earlier call left it. Only the last call may have an `n` that is
/// not whole eights. Rows of blocks that are used once are asked for `ahead` bytes early: they are
/// too short for the machine to see a stream in them.
template <typename S, typename E, int Rows, int Columns>
[[gnu::always_inline]] inline void add_dots(const std::byte* const (&rows)[Rows],
                                            const float* const (&columns)[Columns], std::size_t n,
                                            typename S::F (&sums)[Rows][Columns],
                                            std::size_t ahead = 0) {
  using F = typename S::F;
  std::size_t k = 0, at = 0;
  for (; k + E::step <= n; k += E::step, at += E::bytes) {
    if constexpr (Columns == 1 && E::step == 32) {
      // Row by row, so that the scales of blocks need not stay in registers.
      F x[4];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) x[i] = S::load(columns[0] + k + 8 * i);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        S::prefetch(rows[r] + at + ahead);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i)
          sums[r][0] = S::fma(E::template load<S>(rows[r] + at, i), x[i], sums[r][0]);
      }
      continue;
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < E::step / 8; ++i) {
      F x[Columns];
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) x[c] = S::load(columns[c] + k + 8 * i);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const F w = E::template load<S>(rows[r] + at, i);
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) sums[r][c] = S::fma(w, x[c], sums[r][c]);
      }
    }
  }
  if constexpr (E::step == 8)
    if (k < n)
      for (int c = 0; c < Columns; ++c) {
        const F x = load_part<S>(columns[c] + k, n - k);
        for (int r = 0; r < Rows; ++r)
          sums[r][c] = S::fma(load_part<S, E>(rows[r] + at, n - k), x, sums[r][c]);
      }
}

/// The sums of the lanes of `Rows` vectors.
template <typename S, int Rows, int Columns>
[[gnu::always_inline]] inline void reduce(const typename S::F (&sums)[Rows][Columns], int column,
                                          float (&out)[Rows]) {
  int r = 0;
  for (; r + 4 <= Rows; r += 4)
    S::sum4(out + r, sums[r][column], sums[r + 1][column], sums[r + 2][column],
            sums[r + 3][column]);
  for (; r < Rows; ++r) out[r] = S::sum(sums[r][column]);
}

}  // namespace tacet::cpu
