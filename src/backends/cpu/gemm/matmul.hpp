#pragma once

#include "backends/cpu/gemm/cut.hpp"

namespace tacet::cpu {

/// The weights that a kernel takes: rows of whole blocks of a type that can be packed.
[[gnu::always_inline]] inline bool is_weight(const ValueType& type, std::uint32_t k) {
  const PackedType* packed = packed_type(type.dtype);
  return packed != nullptr && type.shape.rank() == 2 && width(type) == k && k % packed->block == 0;
}

using BlockFunction = void (*)(const Block&);
template <typename S, typename... Formats>
[[gnu::always_inline]] inline BlockFunction block_function(DType type, FormatList<Formats...>) {
  BlockFunction function = nullptr;
  ((Formats::type == type ? void(function = Multiply<S, Formats>::block) : void()), ...);
  return function;
}

/// A matrix of weights, and how to multiply with it.
struct WeightRef {
  Ref data;
  std::uint32_t rows;
  std::size_t group_bytes, values_at;
  double element_bytes;
  bool has_blocks;
  BlockFunction multiply;

  template <typename S>
  [[gnu::always_inline]] double element_seconds() const {
    return most(element_bytes * S::byte_seconds, S::expand_seconds);
  }
  template <typename S>
  [[gnu::always_inline]] double mac_seconds() const {
    return has_blocks ? S::byte_mac_seconds : S::mac_seconds;
  }
};
template <typename S>
[[gnu::always_inline]] inline WeightRef weight_ref(const PlacedNode& node, std::size_t i) {
  const ValueType& type = input(node.view, i);
  const PackedType& packed = *packed_type(type.dtype);
  const std::size_t bytes = packed.group_bytes(width(type));
  return {
      .data = node.inputs.data()[i],
      .rows = static_cast<std::uint32_t>(type.shape[0]),
      .group_bytes = bytes,
      .values_at = packed.values_at(width(type)),
      .element_bytes = static_cast<double>(bytes) / (static_cast<double>(width(type)) * group_rows),
      .has_blocks = packed.has_blocks(),
      .multiply = block_function<S>(type.dtype, AllFormats{})};
}

/// The input of a product: as it is, and rounded to bytes if weights with blocks ask for it.
struct ProductInput {
  Ref x, rounded;
  std::uint32_t k;
  bool selected;

  [[gnu::always_inline]] std::size_t row_bytes(bool has_blocks) const {
    return has_blocks ? activation_row_bytes(k) : k * sizeof(float);
  }
  template <typename S>
  [[gnu::always_inline]] BlockCut cut(const WeightRef& weight, double matrices,
                                      const RunArgs& run) const {
    return cut_blocks<S>(weight.rows, live_rows(selected, run), k,
                         matrices * weight.element_seconds<S>(), matrices * weight.mac_seconds<S>(),
                         static_cast<double>(row_bytes(weight.has_blocks)));
  }
  /// All of a block but where it goes to.
  [[gnu::always_inline]] Block block(const WeightRef& weight, const BlockPlace& place,
                                     const ChunkContext& context) const {
    const Ref& from = weight.has_blocks ? rounded : x;
    Block b{};
    b.weights = resolve_input<std::byte>(weight.data, context) +
                place.row / group_rows * weight.group_bytes;
    b.group_bytes = weight.group_bytes;
    b.values_at = weight.values_at;
    b.weight_rows = place.rows;
    b.x_bytes = row_bytes(weight.has_blocks);
    b.x = resolve_input<std::byte>(from, context) + place.column * b.x_bytes;
    b.x_rows = place.columns;
    b.k = k;
    return b;
  }
};

/// `weights` matrices come before x.
template <typename S>
[[gnu::always_inline]] inline ProductInput product_input(const PlacedNode& node,
                                                         std::size_t weights) {
  return {.x = node.inputs.data()[weights],
          .rounded = node.workspace,
          .k = width(input(node.view, weights)),
          .selected = node.selected};
}
[[gnu::always_inline]] inline bool any_blocks(const NodeView& view, std::size_t weights) {
  for (std::size_t i = 0; i < weights; ++i)
    if (packed_type(input(view, i).dtype)->has_blocks()) return true;
  return false;
}
template <typename S>
[[gnu::always_inline]] inline void emit_rounding(const PlacedNode& node, std::size_t weights,
                                                 const ProductInput& input, TapeBuilder& tape) {
  if (any_blocks(node.view, weights))
    RoundActivations<S>::emit({input.x, input.rounded, input.k, input.selected}, tape);
}
template <typename S, std::size_t Weights>
std::size_t product_workspace(const NodeView& view) {
  if (!any_blocks(view, Weights)) return 0;
  const ValueType& x = input(view, Weights);
  return static_cast<std::size_t>(x.shape[0]) * activation_row_bytes(width(x));
}

template <typename Kind, typename Format>
bool all_weights_are(const NodeView& view) {
  if (!Kind::supports(view)) return false;
  for (std::size_t i = 0; i < Kind::weights; ++i)
    if (input(view, i).dtype != Format::type) return false;
  return true;
}

/// matmul and matmul3: `Parts` products of one input, the chunks of one after those of another.
/// Inputs: the weights, x, the biases or none.
template <typename S, std::size_t Parts>
struct Matmul {
  static constexpr std::size_t weights = Parts;
  struct Part {
    WeightRef weight;
    Ref bias, y;
  };
  struct Arguments {
    Part parts[Parts];
    ProductInput input;
  };

  static bool supports(const NodeView& view) {
    if (view.inputs.size() != Parts + 1 && view.inputs.size() != 2 * Parts + 1) return false;
    const std::uint32_t k = width(input(view, Parts));
    for (std::size_t i = 0; i < Parts; ++i)
      if (!is_weight(input(view, i), k)) return false;
    for (std::size_t i = Parts; i < view.inputs.size(); ++i)
      if (input(view, i).dtype != DType::f32) return false;
    return k > 0;
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    std::uint32_t n = 0;
    for (const Part& part : a.parts) n += a.input.template cut<S>(part.weight, 1, run).count();
    return n;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const Part* part = a.parts;
    BlockCut cut = a.input.template cut<S>(part->weight, 1, *context.run);
    while (index >= cut.count()) {
      index -= cut.count();
      cut = a.input.template cut<S>((++part)->weight, 1, *context.run);
    }
    const BlockPlace place = cut.place(index);
    const float* bias = resolve_input<float>(part->bias, context);
    Block b = a.input.block(part->weight, place, context);
    b.y_stride = part->weight.rows;
    b.y = resolve<float>(part->y, context) + place.column * b.y_stride + place.row;
    b.bias = bias == nullptr ? nullptr : bias + place.row;
    part->weight.multiply(b);
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    for (std::size_t i = 0; i < Parts; ++i) {
      a.parts[i].weight = weight_ref<S>(node, i);
      if (node.inputs.size() > Parts + 1) a.parts[i].bias = node.inputs.data()[Parts + 1 + i];
      a.parts[i].y = node.outputs.data()[i];
    }
    a.input = product_input<S>(node, Parts);
    emit_rounding<S>(node, Parts, a.input, tape);
    tape.step(a, count, chunk);
  }
};

/// up_gate: both products of the same block in one chunk, and the activation in place.
template <typename S>
struct UpGate {
  static constexpr std::size_t weights = 2;
  struct Arguments {
    WeightRef gate, up;
    ProductInput input;
    Ref y;
    [[gnu::always_inline]] BlockCut cut(const RunArgs& run) const {
      const bool gate_is_slower = gate.mac_seconds<S>() + gate.element_seconds<S>() >
                                  up.mac_seconds<S>() + up.element_seconds<S>();
      return input.cut<S>(gate_is_slower ? gate : up, 2, run);
    }
  };
  /// A chunk holds the up products of so many pairs at a time.
  static constexpr std::uint32_t most_pairs = scratch_bytes / sizeof(float);

  static bool supports(const NodeView& view) {
    if (view.inputs.size() != 3 || input(view, 2).dtype != DType::f32) return false;
    const std::uint32_t k = width(input(view, 2));
    return k > 0 && is_weight(input(view, 0), k) && is_weight(input(view, 1), k) &&
           input(view, 0).shape[0] == input(view, 1).shape[0];
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    return static_cast<const Arguments*>(arguments)->cut(run).count();
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    BlockPlace place = a.cut(*context.run).place(index);
    const std::uint32_t end = place.row + place.rows;
    const std::uint32_t step = most_pairs / place.columns / group_rows * group_rows;
    for (; place.row < end; place.row += step) {
      place.rows = least(step, end - place.row);
      part(a, place, context);
    }
  }

  [[gnu::always_inline]] static void part(const Arguments& a, const BlockPlace& place,
                                          const ChunkContext& context) {
    Block b = a.input.block(a.gate, place, context);
    b.y_stride = a.gate.rows;
    float* out = resolve<float>(a.y, context) + place.column * b.y_stride + place.row;
    b.y = out;
    a.gate.multiply(b);
    b = a.input.block(a.up, place, context);
    auto* up = reinterpret_cast<float*>(context.scratch);
    b.y = up;
    b.y_stride = place.rows;
    a.up.multiply(b);
    for (std::size_t r = 0; r < place.columns; ++r) {
      float* y = out + r * a.gate.rows;
      const float* u = up + r * place.rows;
      for_eights<S>(
          0, place.rows, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
            store(y + i, S::mul(silu<S>(load(y + i)), load(u + i)));
          });
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.gate = weight_ref<S>(node, 0);
    a.up = weight_ref<S>(node, 1);
    a.input = product_input<S>(node, 2);
    a.y = node.outputs.data()[0];
    emit_rounding<S>(node, 2, a.input, tape);
    tape.step(a, count, chunk);
  }
};

}  // namespace tacet::cpu
