#pragma once

#include <math.h>

#include "backends/cpu/ops/norm.hpp"

namespace tacet::cpu {

/// rope_table. Angles in double precision: a float loses the fraction of large positions.
template <typename S>
struct RopeTable {
  static constexpr std::uint32_t max_pairs = 256;
  static constexpr double pair_seconds = 150e-9;
  struct Arguments {
    Ref positions, factors, out;
    std::uint32_t pairs;
    bool selected;
    double magnitude;
    double frequencies[max_pairs];
    [[gnu::always_inline]] std::uint32_t per_chunk(const RunArgs& run) const {
      return items_per_chunk(live_rows(selected, run), pairs * pair_seconds);
    }
  };

  static bool supports(const NodeView& view) {
    const std::int32_t size = view.attributes->as<ops::RopeTableAttributes>().size;
    return view.inputs.size() >= 1 && input(view, 0).dtype == DType::i32 && size > 0 &&
           size % 2 == 0 && size <= static_cast<std::int32_t>(2 * max_pairs) &&
           (view.inputs.size() < 2 || input(view, 1).dtype == DType::f32);
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return ceil_div(live_rows(a.selected, run), a.per_chunk(run));
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const std::uint32_t step = a.per_chunk(*context.run);
    const std::uint32_t end = least((index + 1) * step, live_rows(a.selected, *context.run));
    const std::int32_t* positions = resolve_input<std::int32_t>(a.positions, context);
    const float* factors = resolve_input<float>(a.factors, context);
    float* out = resolve<float>(a.out, context);
    for (std::size_t row = index * step; row < end; ++row) {
      float* cosines = out + row * 2 * a.pairs;
      for (std::size_t i = 0; i < a.pairs; ++i) {
        double angle = positions[row] * a.frequencies[i];
        if (factors != nullptr) angle /= static_cast<double>(factors[i]);
        cosines[i] = static_cast<float>(a.magnitude * ::cos(angle));
        cosines[a.pairs + i] = static_cast<float>(a.magnitude * ::sin(angle));
      }
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const auto attributes = node.view.attributes->template as<ops::RopeTableAttributes>();
    Arguments a{};
    a.positions = node.inputs.data()[0];
    if (node.inputs.size() > 1) a.factors = node.inputs.data()[1];
    a.out = node.outputs.data()[0];
    a.pairs = static_cast<std::uint32_t>(attributes.size) / 2;
    a.selected = node.selected;
    a.magnitude = static_cast<double>(attributes.magnitude);
    const double low = static_cast<double>(attributes.low);
    const double high = static_cast<double>(attributes.high);
    for (std::uint32_t i = 0; i < a.pairs; ++i) {
      double scale = static_cast<double>(attributes.scale);
      if (i < high) scale = i <= low ? 1 : 1 + (scale - 1) * (i - low) / (high - low);
      a.frequencies[i] =
          scale * ::pow(static_cast<double>(attributes.base), -2.0 * i / attributes.size);
    }
    tape.step(a, count, chunk);
  }
};

/// Rotates the first 2 * `pairs` elements of a head of `size`; `x` may be `out`.
template <typename S>
[[gnu::always_inline]] inline void rotate(const float* x, const float* table, std::size_t pairs,
                                          std::size_t size, bool interleaved, float* out) {
  const float* sines = table + pairs;
  if (interleaved) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      out[2 * i] = a * table[i] - b * sines[i];
      out[2 * i + 1] = a * sines[i] + b * table[i];
    }
  } else {
    for_vectors<S>(
        0, pairs, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
          const typename S::F a = load(x + i), b = load(x + pairs + i);
          const typename S::F c = load(table + i), s = load(sines + i);
          store(out + i, S::sub(S::mul(a, c), S::mul(b, s)));
          store(out + pairs + i, S::add(S::mul(a, s), S::mul(b, c)));
        });
  }
  if (out != x)
    for (std::size_t i = 2 * pairs; i < size; ++i) out[i] = x[i];
}

/// rope, and with `Norm` norm_rope. A chunk is some heads of consecutive rows.
template <typename S, bool Norm>
struct Rope {
  struct Arguments {
    Ref x, weight, table, out;
    std::uint32_t heads, head_size, pairs;
    float epsilon;
    bool interleaved, selected;
    [[gnu::always_inline]] std::uint32_t items(const RunArgs& run) const {
      return live_rows(selected, run) * heads;
    }
    [[gnu::always_inline]] std::uint32_t per_chunk(const RunArgs& run) const {
      return items_per_chunk(items(run), head_size * (Norm ? 2 : 1) * S::element_seconds);
    }
  };

  [[gnu::always_inline]] static ops::RopeAttributes attributes_of(const NodeView& view) {
    if constexpr (Norm) return view.attributes->as<ops::NormRopeAttributes>().rope;
    return view.attributes->as<ops::RopeAttributes>();
  }

  static bool supports(const NodeView& view) {
    if (!all_f32(view, Norm ? 3 : 2)) return false;
    const std::int32_t heads = attributes_of(view).heads;
    if (heads <= 0 || width(input(view, 0)) % static_cast<std::uint32_t>(heads) != 0) return false;
    const std::uint32_t size = width(input(view, 0)) / static_cast<std::uint32_t>(heads);
    const std::uint32_t rotated = width(input(view, Norm ? 2 : 1));
    return size > 0 && rotated % 2 == 0 && rotated <= size &&
           (!Norm || width(input(view, 1)) == size);
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return ceil_div(a.items(run), a.per_chunk(run));
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const std::uint32_t step = a.per_chunk(*context.run);
    const std::uint32_t end = least((index + 1) * step, a.items(*context.run));
    const float* x = resolve_input<float>(a.x, context);
    const float* weight = resolve_input<float>(a.weight, context);
    const float* table = resolve_input<float>(a.table, context);
    float* out = resolve<float>(a.out, context);
    for (std::uint32_t i = index * step; i < end; ++i) {
      const std::size_t at = std::size_t{i} * a.head_size;
      const float* row_table = table + std::size_t{i / a.heads} * 2 * a.pairs;
      const float* from = x + at;
      if constexpr (Norm) {
        norm<S>(from, weight, a.head_size, a.epsilon, out + at);
        from = out + at;
      }
      rotate<S>(from, row_table, a.pairs, a.head_size, a.interleaved, out + at);
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const ops::RopeAttributes attributes = attributes_of(node.view);
    Arguments a{};
    a.x = node.inputs.data()[0];
    if constexpr (Norm) {
      a.weight = node.inputs.data()[1];
      a.epsilon = node.view.attributes->template as<ops::NormRopeAttributes>().epsilon;
    }
    a.table = node.inputs.data()[Norm ? 2 : 1];
    a.out = node.outputs.data()[0];
    a.heads = static_cast<std::uint32_t>(attributes.heads);
    a.head_size = width(input(node.view, 0)) / a.heads;
    a.pairs = width(input(node.view, Norm ? 2 : 1)) / 2;
    a.interleaved = attributes.interleaved;
    a.selected = node.selected;
    tape.step(a, count, chunk);
  }
};

}  // namespace tacet::cpu
