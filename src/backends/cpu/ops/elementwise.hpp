#pragma once

#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

/// add, mul and silu: one element of the output from one of each input.
template <typename S, typename Function>
struct Elementwise {
  struct Arguments {
    Ref a, b, out;
    std::uint32_t width;
    bool b_is_row;  ///< b is one row for all rows of a
    bool selected;
  };

  static bool supports(const NodeView& view) { return all_f32(view, Function::inputs); }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return ElementCut(live_rows(a.selected, run), a.width, S::element_seconds).count();
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const ElementCut cut(live_rows(a.selected, *context.run), a.width, S::element_seconds);
    const Tile tile = cut.tile(index);
    const float* left = resolve_input<float>(a.a, context);
    const float* right = resolve_input<float>(a.b, context);
    float* out = resolve<float>(a.out, context);
    for (std::size_t row = tile.row; row < tile.row_end; ++row) {
      const float* l = left + row * a.width;
      const float* r = Function::inputs == 1 ? l : a.b_is_row ? right : right + row * a.width;
      float* o = out + row * a.width;
      for_vectors<S>(
          tile.column, tile.column_end,
          [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
            store(o + i, Function::template apply<S>(load(l + i), load(r + i)));
          });
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.a = node.inputs.data()[0];
    if constexpr (Function::inputs == 2) {
      a.b = node.inputs.data()[1];
      a.b_is_row = input(node.view, 1).shape.rank() == 1;
    }
    a.out = node.outputs.data()[0];
    a.width = width(input(node.view, 0));
    a.selected = node.selected;
    tape.step(a, count, chunk);
  }
};

struct Add {
  static constexpr std::size_t inputs = 2;
  template <typename S>
  [[gnu::always_inline]] static typename S::F apply(typename S::F a, typename S::F b) {
    return S::add(a, b);
  }
};

struct Mul {
  static constexpr std::size_t inputs = 2;
  template <typename S>
  [[gnu::always_inline]] static typename S::F apply(typename S::F a, typename S::F b) {
    return S::mul(a, b);
  }
};

struct Silu {
  static constexpr std::size_t inputs = 1;
  template <typename S>
  [[gnu::always_inline]] static typename S::F apply(typename S::F a, typename S::F) {
    return silu<S>(a);
  }
};

}  // namespace tacet::cpu
