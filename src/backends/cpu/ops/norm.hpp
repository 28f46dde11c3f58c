#pragma once

#include "backends/cpu/ops/cut.hpp"
#include "ops/ops.hpp"

namespace tacet::cpu {

/// 1 / sqrt(mean(x^2) + epsilon) of `n` elements.
template <typename S>
[[gnu::always_inline]] inline float inverse_rms(const float* x, std::size_t n, float epsilon) {
  using F = typename S::F;
  F s0 = S::zero(), s1 = S::zero(), s2 = S::zero(), s3 = S::zero();
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const F a = S::load(x + i), b = S::load(x + i + 8);
    const F c = S::load(x + i + 16), d = S::load(x + i + 24);
    s0 = S::fma(a, a, s0);
    s1 = S::fma(b, b, s1);
    s2 = S::fma(c, c, s2);
    s3 = S::fma(d, d, s3);
  }
  for_vectors<S>(
      i, n, [&](std::size_t j, auto load, auto) __attribute__((always_inline)) {
        const F a = load(x + j);
        s0 = S::fma(a, a, s0);
      });
  const float sum = S::sum(S::add(S::add(s0, s1), S::add(s2, s3)));
  return 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + epsilon);
}

template <typename S>
[[gnu::always_inline]] inline void norm(const float* x, const float* weight, std::size_t n,
                                        float epsilon, float* out) {
  const typename S::F factor = S::set(inverse_rms<S>(x, n, epsilon));
  for_vectors<S>(
      0, n, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
        store(out + i, S::mul(S::mul(load(x + i), factor), load(weight + i)));
      });
}

/// rms_norm. A chunk is some rows of `group` elements.
template <typename S>
struct RmsNorm {
  struct Arguments {
    Ref x, weight, out;
    std::uint32_t groups, group;
    float epsilon;
    bool selected;
    [[gnu::always_inline]] std::uint32_t rows(const RunArgs& run) const {
      return live_rows(selected, run) * groups;
    }
    [[gnu::always_inline]] std::uint32_t per_chunk(const RunArgs& run) const {
      return items_per_chunk(rows(run), group * S::element_seconds);
    }
  };

  static bool supports(const NodeView& view) {
    const auto attributes = view.attributes->as<ops::NormAttributes>();
    return all_f32(view, 2) && attributes.groups > 0 && width(input(view, 0)) > 0 &&
           width(input(view, 1)) * static_cast<std::uint32_t>(attributes.groups) ==
               width(input(view, 0));
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return ceil_div(a.rows(run), a.per_chunk(run));
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const std::uint32_t step = a.per_chunk(*context.run);
    const std::uint32_t end = least((index + 1) * step, a.rows(*context.run));
    const float* x = resolve_input<float>(a.x, context);
    const float* weight = resolve_input<float>(a.weight, context);
    float* out = resolve<float>(a.out, context);
    for (std::size_t row = index * step; row < end; ++row)
      norm<S>(x + row * a.group, weight, a.group, a.epsilon, out + row * a.group);
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const auto attributes = node.view.attributes->template as<ops::NormAttributes>();
    Arguments a{};
    a.x = node.inputs.data()[0];
    a.weight = node.inputs.data()[1];
    a.out = node.outputs.data()[0];
    a.groups = static_cast<std::uint32_t>(attributes.groups);
    a.group = width(input(node.view, 1));
    a.epsilon = attributes.epsilon;
    a.selected = node.selected;
    tape.step(a, count, chunk);
  }
};

/// add_rms_norm. A chunk is some rows.
template <typename S>
struct AddRmsNorm {
  struct Arguments {
    Ref a, b, weight, sum, normed;
    std::uint32_t width;
    float epsilon;
    bool selected;
    [[gnu::always_inline]] std::uint32_t per_chunk(const RunArgs& run) const {
      return items_per_chunk(live_rows(selected, run), 2 * width * S::element_seconds);
    }
  };

  static bool supports(const NodeView& view) {
    const std::uint32_t w = width(input(view, 0));
    return all_f32(view, 3) && view.outputs.size() == 2 && w > 0 && width(input(view, 1)) == w &&
           input(view, 1).shape.rank() == 2 && width(input(view, 2)) == w &&
           view.attributes->as<ops::NormAttributes>().groups == 1;
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return ceil_div(live_rows(a.selected, run), a.per_chunk(run));
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const std::uint32_t step = a.per_chunk(*context.run);
    const std::uint32_t end = least((index + 1) * step, live_rows(a.selected, *context.run));
    const float* left = resolve_input<float>(a.a, context);
    const float* right = resolve_input<float>(a.b, context);
    const float* weight = resolve_input<float>(a.weight, context);
    float* sums = resolve<float>(a.sum, context);
    float* normed = resolve<float>(a.normed, context);
    for (std::size_t row = index * step; row < end; ++row) {
      const std::size_t at = row * a.width;
      for_vectors<S>(
          at,
          at + a.width, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
            store(sums + i, S::add(load(left + i), load(right + i)));
          });
      norm<S>(sums + at, weight, a.width, a.epsilon, normed + at);
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.a = node.inputs.data()[0];
    a.b = node.inputs.data()[1];
    a.weight = node.inputs.data()[2];
    a.sum = node.outputs.data()[0];
    a.normed = node.outputs.data()[1];
    a.width = width(input(node.view, 0));
    a.epsilon = node.view.attributes->template as<ops::NormAttributes>().epsilon;
    a.selected = node.selected;
    tape.step(a, count, chunk);
  }
};

}  // namespace tacet::cpu
