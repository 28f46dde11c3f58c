#pragma once

#include "backends/cpu/gemm/activations.hpp"
#include "backends/cpu/gemm/formats.hpp"

namespace tacet::cpu {

/// A block of a product: some rows of weights with some rows of activations, a part of the elements
/// of each. What comes before `begin` has been added to `y`, which is a multiple of 256.
struct Block {
  const std::byte* weights;  ///< the group of the first row
  std::size_t group_bytes;
  std::size_t values_at;  ///< in a group
  std::uint32_t weight_rows;
  const std::byte* x;   ///< the first row: floats, or rounded as the weights ask for it
  std::size_t x_bytes;  ///< of a row
  std::uint32_t x_rows;
  std::size_t k, begin, end;
  float* y;  ///< of the first pair
  std::size_t y_stride;
  const float* bias;  ///< of the first weight row, or null; added at the end of the rows
};

/// Products of S::Wide::lanes rows of weights with up to S::Wide::columns rows of activations. Each
/// pair's products are added in order of the elements, whatever the block: so they have the same
/// bits in every cut.
template <typename S, typename E>
struct Multiply {
  using W = typename S::Wide;
  using F = typename W::F;

  static void block(const Block& b) {
    std::uint32_t column = 0;
    for (; b.x_rows - column >= W::columns; column += W::columns) columns<W::columns>(b, column);
    if constexpr (W::columns > 4)
      for (; b.x_rows - column >= 4; column += 4) columns<4>(b, column);
    if constexpr (W::columns > 2)
      for (; b.x_rows - column >= 2; column += 2) columns<2>(b, column);
    if (column < b.x_rows) columns<1>(b, column);
  }

 private:
  template <int Columns>
  static void columns(const Block& b, std::uint32_t column) {
    for (std::uint32_t row = 0; row < b.weight_rows; row += W::lanes) {
      const std::byte* group = b.weights + row / group_rows * b.group_bytes;
      const std::byte* x[Columns];
      for (int c = 0; c < Columns; ++c)
        x[c] = b.x + (column + static_cast<std::uint32_t>(c)) * b.x_bytes;
      F sums[Columns];
      begin(b, row, column, sums);
      if constexpr (E::has_blocks)
        add_units(group, row % group_rows, b, x, sums);
      else if constexpr (E::has_pairs)
        add_pairs(group, row % group_rows, b, x, sums);
      else
        add_elements(group, row % group_rows, b, x, sums);
      finish(b, row, column, sums);
    }
  }

  template <int Columns>
  [[gnu::always_inline]] static void add_elements(const std::byte* values, std::uint32_t lane,
                                                  const Block& b,
                                                  const std::byte* const (&x)[Columns],
                                                  F (&sums)[Columns]) {
    const std::size_t end = b.end;
    for (std::size_t i = b.begin; i < end; ++i) {
      const F w = E::template load<W>(values + i * E::step, lane);
#pragma GCC unroll 8
      for (int c = 0; c < Columns; ++c)
        sums[c] = W::fma(w, W::set(reinterpret_cast<const float*>(x[c])[i]), sums[c]);
    }
  }

  template <int Columns>
  [[gnu::always_inline]] static void add_pairs(const std::byte* values, std::uint32_t lane,
                                               const Block& b, const std::byte* const (&x)[Columns],
                                               F (&sums)[Columns]) {
    const std::size_t end = b.end;
    std::size_t i = b.begin;
    const std::byte* p = values + i / 2 * E::step + lane * 4;
    if constexpr (W::has_pairs) {
      for (; i < end; i += 2, p += E::step) {
        const typename W::B w = W::load_b(p);
#pragma GCC unroll 8
        for (int c = 0; c < Columns; ++c) sums[c] = W::dot_pairs(sums[c], w, x[c] + i * 2);
      }
    } else {
      for (; i + 2 <= end; i += 2, p += E::step) {
        const F first = W::first_of_pairs(p), second = W::second_of_pairs(p);
#pragma GCC unroll 8
        for (int c = 0; c < Columns; ++c) {
          const auto* floats = reinterpret_cast<const float*>(x[c]) + i;
          sums[c] = W::fma(first, W::set(floats[0]), sums[c]);
          sums[c] = W::fma(second, W::set(floats[1]), sums[c]);
        }
      }
      if (i == end) return;
      for (int c = 0; c < Columns; ++c)
        sums[c] =
            W::fma(W::first_of_pairs(p), W::set(reinterpret_cast<const float*>(x[c])[i]), sums[c]);
    }
  }

  template <int Columns>
  [[gnu::always_inline]] static void add_units(const std::byte* scales, std::uint32_t lane,
                                               const Block& b, const std::byte* const (&x)[Columns],
                                               F (&sums)[Columns]) {
    const std::size_t k = b.k, end = b.end / unit_elements;
    std::size_t i = b.begin / unit_elements;
    const std::byte* values = scales + b.values_at + i * E::unit_bytes;
    for (; i < end; ++i, values += E::unit_bytes) {
      const std::byte* block = scales + i / E::units * E::scale_bytes;
      const UnitScales<W> s = E::template scales<W>(block, i % E::units, lane);
      const typename W::B w[8] = {
          E::template bytes<W, 0>(values, lane), E::template bytes<W, 1>(values, lane),
          E::template bytes<W, 2>(values, lane), E::template bytes<W, 3>(values, lane),
          E::template bytes<W, 4>(values, lane), E::template bytes<W, 5>(values, lane),
          E::template bytes<W, 6>(values, lane), E::template bytes<W, 7>(values, lane)};
#pragma GCC unroll 8
      for (int c = 0; c < Columns; ++c) {
        const auto* bytes = reinterpret_cast<const std::int8_t*>(x[c]) + i * unit_elements;
        const ActivationUnit& unit = reinterpret_cast<const ActivationUnit*>(x[c] + k)[i];
        if constexpr (E::halves) {
          add_part<0, 4>(w, bytes, unit.sum[0], W::mul(s.scale[0], W::set(unit.scale)), sums[c]);
          add_part<4, 8>(w, bytes, unit.sum[1], W::mul(s.scale[1], W::set(unit.scale)), sums[c]);
        } else {
          add_part<0, 8>(w, bytes, unit.sum[2], W::mul(s.scale[0], W::set(unit.scale)), sums[c]);
        }
        if constexpr (E::has_min && E::halves) {
          sums[c] = W::fma(s.min[0], W::set(unit.scaled_sum[0]), sums[c]);
          sums[c] = W::fma(s.min[1], W::set(unit.scaled_sum[1]), sums[c]);
        } else if constexpr (E::has_min) {
          sums[c] = W::fma(s.min[0], W::set(unit.scaled_sum[2]), sums[c]);
        }
      }
    }
  }

  /// Adds the products of the bytes 4 `Begin` to 4 `End` of a unit.
  template <int Begin, int End>
  [[gnu::always_inline]] static void add_part(const typename W::B (&w)[8], const std::int8_t* x,
                                              std::int32_t x_sum, F scale, F& sum) {
    constexpr bool shifted = E::any_byte && !W::any_byte;
    typename W::I products = W::set_i(shifted ? 0 : -E::zero * x_sum);
#pragma GCC unroll 8
    for (int i = Begin; i < End; ++i) {
      if constexpr (E::any_byte)
        products = W::dot_any(products, w[i], x + 4 * i);
      else
        products = W::dot(products, w[i], x + 4 * i);
    }
    sum = W::fma(W::to_float(products), scale, sum);
  }

  template <int Columns>
  [[gnu::always_inline]] static void begin(const Block& b, std::uint32_t row, std::uint32_t column,
                                           F (&sums)[Columns]) {
    for (int c = 0; c < Columns; ++c) sums[c] = W::zero();
    if (b.begin == 0) return;
    const std::size_t n = least(W::lanes, b.weight_rows - row) * sizeof(float);
    for (int c = 0; c < Columns; ++c) {
      float lanes[W::lanes] = {};
      __builtin_memcpy(lanes, b.y + (column + static_cast<std::uint32_t>(c)) * b.y_stride + row, n);
      sums[c] = W::load(lanes);
    }
  }
  template <int Columns>
  [[gnu::always_inline]] static void finish(const Block& b, std::uint32_t row, std::uint32_t column,
                                            const F (&sums)[Columns]) {
    const std::size_t n = least(W::lanes, b.weight_rows - row) * sizeof(float);
    const bool biased = b.bias != nullptr && b.end == b.k;
    for (int c = 0; c < Columns; ++c) {
      float lanes[W::lanes] = {};
      if (biased) __builtin_memcpy(lanes, b.bias + row, n);
      W::store(lanes, biased ? W::add(sums[c], W::load(lanes)) : sums[c]);
      __builtin_memcpy(b.y + (column + static_cast<std::uint32_t>(c)) * b.y_stride + row, lanes, n);
    }
  }
};

}  // namespace tacet::cpu
