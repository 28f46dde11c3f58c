#pragma once

#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

// Products with blocks of weights are products of bytes: activations are rounded to 8 bits, 32 with
// one scale, the largest magnitude / 127. That is ggml's Q8_0 with a float as the scale; it adds an
// error of at most 1/254 of the largest of the 32 to each.

/// What a product needs to know of 32 activations besides their bytes: for each half and for both,
/// the sum of the bytes, and that times the scale.
struct ActivationUnit {
  float scale;
  std::int32_t sum[3];
  float scaled_sum[3];
  float unused;
};
static_assert(sizeof(ActivationUnit) == 32);

/// A row: `k` bytes, then its units. `k` is a multiple of 32.
[[gnu::always_inline]] inline std::size_t activation_row_bytes(std::size_t k) {
  return k + k / 32 * sizeof(ActivationUnit);
}

/// Rounds 32 activations. One that is not finite makes all of them not a number.
[[gnu::always_inline]] inline void round_unit(const float* x, std::int8_t* bytes,
                                              ActivationUnit& unit) {
  constexpr float largest_float = 3.402823466e+38f, least = 1e-30f;
  float largest = 0;
  bool finite = true;
  for (int i = 0; i < 32; ++i) {
    const float magnitude = __builtin_fabsf(x[i]);
    largest = magnitude > largest ? magnitude : largest;
    finite &= magnitude <= largest_float;
  }
  // Below `least` the inverse of the scale would overflow.
  const float inverse = finite && largest > least ? 127.0f / largest : 0.0f;
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  for (int i = 0; i < 32; ++i) {
    const float rounded = (finite ? x[i] : 0.0f) * inverse + magic;
    std::int32_t word;
    __builtin_memcpy(&word, &rounded, sizeof word);
    bytes[i] = static_cast<std::int8_t>(word);
  }
  unit.scale = !finite ? __builtin_nanf("") : largest > least ? largest / 127.0f : 0.0f;
  for (int half = 0; half < 2; ++half) {
    unit.sum[half] = 0;
    for (int i = 0; i < 16; ++i) unit.sum[half] += bytes[16 * half + i];
  }
  unit.sum[2] = unit.sum[0] + unit.sum[1];
  for (int i = 0; i < 3; ++i) unit.scaled_sum[i] = unit.scale * static_cast<float>(unit.sum[i]);
  unit.unused = 0;
}

/// The step before a product of bytes: rounds its input into the node's workspace.
template <typename S>
struct RoundActivations {
  struct Arguments {
    Ref x, out;
    std::uint32_t k;
    bool selected;
    [[gnu::always_inline]] ElementCut cut(const RunArgs& run) const {
      return ElementCut(live_rows(selected, run), k, 2 * S::element_seconds);
    }
  };

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    return static_cast<const Arguments*>(arguments)->cut(run).count();
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const Tile tile = a.cut(*context.run).tile(index);
    const float* x = resolve_input<float>(a.x, context);
    std::byte* out = resolve<std::byte>(a.out, context);
    for (std::size_t row = tile.row; row < tile.row_end; ++row) {
      std::byte* to = out + row * activation_row_bytes(a.k);
      auto* bytes = reinterpret_cast<std::int8_t*>(to);
      auto* units = reinterpret_cast<ActivationUnit*>(to + a.k);
      for (std::size_t i = tile.column; i < tile.column_end; i += 32)
        round_unit(x + row * a.k + i, bytes + i, units[i / 32]);
    }
  }

  static void emit(const Arguments& arguments, TapeBuilder& tape) {
    tape.step(arguments, count, chunk);
  }
};

}  // namespace tacet::cpu
