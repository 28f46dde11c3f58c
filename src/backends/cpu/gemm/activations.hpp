#pragma once

#include "backends/cpu/gemm/packed.hpp"
#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

// What activations are multiplied as:
//
// Bytes, by weights with blocks: rounded to 8 bits, 32 with one scale, the largest magnitude / 127.
// That is ggml's Q8_0 with a float as the scale; it adds an error of at most 1/254 of the largest
// of the 32 to each.
//
// Pairs, by BF16 where the instruction set multiplies pairs: rounded to BF16, to nearest even, an
// error of at most 1/256 of each, with a zero behind an odd number of them.
//
// Floats, as they are, by all others.
enum class Activations { floats, bytes, pairs };

template <typename S>
[[gnu::always_inline]] inline Activations activations_for(const PackedType& weights) {
  if (weights.has_blocks()) return Activations::bytes;
  return S::Wide::has_pairs && weights.type == DType::bf16 ? Activations::pairs
                                                           : Activations::floats;
}

/// What a product needs to know of 32 activations besides their bytes: for each half and for both,
/// the sum of the bytes, and that times the scale.
struct ActivationUnit {
  float scale;
  std::int32_t sum[3];
  float scaled_sum[3];
  float unused;
};
static_assert(sizeof(ActivationUnit) == 32);

/// Bytes of a row of `k` activations. As bytes: `k` of them, which is a multiple of 32, then the
/// units.
[[gnu::always_inline]] inline std::size_t activation_row_bytes(Activations as, std::size_t k) {
  switch (as) {
    case Activations::bytes:
      return k + k / 32 * sizeof(ActivationUnit);
    case Activations::pairs:
      return (k + 1) / 2 * 4;
    case Activations::floats:
      break;
  }
  return k * sizeof(float);
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

/// Rounds `n` activations to BF16, numbers that are not to quiet ones.
[[gnu::always_inline]] inline void round_pairs(const float* x, std::size_t n, std::byte* to) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t word;
    __builtin_memcpy(&word, x + i, sizeof word);
    const std::uint32_t rounded = (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
    const bool number = (word & 0x7fffffffu) <= 0x7f800000u;
    const auto half = static_cast<std::uint16_t>(number ? rounded : word >> 16 | 0x40u);
    __builtin_memcpy(to + 2 * i, &half, sizeof half);
  }
}

/// The step before a product: rounds its input into the node's workspace.
template <typename S, Activations As>
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
      const float* from = x + row * a.k;
      std::byte* to = out + row * activation_row_bytes(As, a.k);
      if constexpr (As == Activations::pairs) {
        round_pairs(from + tile.column, tile.column_end - tile.column, to + 2 * tile.column);
        if (a.k % 2 != 0 && tile.column_end == a.k) __builtin_memset(to + 2 * a.k, 0, 2);
      } else {
        auto* bytes = reinterpret_cast<std::int8_t*>(to);
        auto* units = reinterpret_cast<ActivationUnit*>(to + a.k);
        for (std::size_t i = tile.column; i < tile.column_end; i += 32)
          round_unit(from + i, bytes + i, units[i / 32]);
      }
    }
  }

  static void emit(const Arguments& arguments, TapeBuilder& tape) {
    tape.step(arguments, count, chunk);
  }
};

}  // namespace tacet::cpu
