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
  Activations activations;
  BlockFunction multiply;

  template <typename S>
  [[gnu::always_inline]] double element_seconds() const {
    return most(element_bytes * S::byte_seconds, S::expand_seconds);
  }
  template <typename S>
  [[gnu::always_inline]] double mac_seconds() const {
    switch (activations) {
      case Activations::bytes:
        return S::byte_mac_seconds;
      case Activations::pairs:
        return S::pair_mac_seconds;
      case Activations::floats:
        break;
    }
    return S::mac_seconds;
  }
};
template <typename S>
[[gnu::always_inline]] inline WeightRef weight_ref(const ValueType& type, const Ref& data) {
  const PackedType& packed = *packed_type(type.dtype);
  const std::size_t bytes = packed.group_bytes(width(type));
  return {
      .data = data,
      .rows = static_cast<std::uint32_t>(type.shape[0]),
      .group_bytes = bytes,
      .values_at = packed.values_at(width(type)),
      .element_bytes = static_cast<double>(bytes) / (static_cast<double>(width(type)) * group_rows),
      .activations = activations_for<S>(packed),
      .multiply = block_function<S>(type.dtype, AllFormats{})};
}

/// The input of a product: as it is, and rounded as the weights ask for it.
struct ProductInput {
  Ref x, bytes, pairs;
  std::uint32_t k;
  bool selected;

  [[gnu::always_inline]] const Ref& as(Activations activations) const {
    return activations == Activations::bytes   ? bytes
           : activations == Activations::pairs ? pairs
                                               : x;
  }
  template <typename S>
  [[gnu::always_inline]] BlockCut cut(const WeightRef& weight, double matrices,
                                      std::uint32_t rows) const {
    return cut_blocks<S>(weight.rows, rows, k, matrices * weight.element_seconds<S>(),
                         matrices * weight.mac_seconds<S>(),
                         static_cast<double>(activation_row_bytes(weight.activations, k)));
  }
  /// All of a block but where it goes to.
  [[gnu::always_inline]] Block block(const WeightRef& weight, const BlockPlace& place,
                                     const ChunkContext& context) const {
    Block b{};
    b.weights = resolve_input<std::byte>(weight.data, context) +
                place.row / group_rows * weight.group_bytes;
    b.group_bytes = weight.group_bytes;
    b.values_at = weight.values_at;
    b.weight_rows = place.rows;
    b.x_bytes = activation_row_bytes(weight.activations, k);
    b.x = resolve_input<std::byte>(as(weight.activations), context) + place.column * b.x_bytes;
    b.x_rows = place.columns;
    b.k = k;
    b.begin = place.begin;
    b.end = place.end;
    return b;
  }
};

/// Bytes of a product's activations in one form; 0 if none of its weights, which come before them,
/// asks for it.
template <typename S>
[[gnu::always_inline]] inline std::size_t rounded_bytes(const NodeView& view, std::size_t weights,
                                                        Activations as) {
  const ValueType& x = input(view, weights);
  for (std::size_t i = 0; i < weights; ++i)
    if (activations_for<S>(*packed_type(input(view, i).dtype)) == as)
      return static_cast<std::size_t>(x.shape[0]) * activation_row_bytes(as, width(x));
  return 0;
}
template <typename S>
[[gnu::always_inline]] inline std::size_t rounded_bytes(const NodeView& view, std::size_t weights) {
  return rounded_bytes<S>(view, weights, Activations::bytes) +
         rounded_bytes<S>(view, weights, Activations::pairs);
}
/// The input of a node with so many weights, and the steps that round it.
template <typename S>
[[gnu::always_inline]] inline ProductInput emit_input(const PlacedNode& node, std::size_t weights,
                                                      TapeBuilder& tape) {
  ProductInput made{.x = node.inputs.data()[weights],
                    .bytes = node.workspace,
                    .pairs = node.workspace,
                    .k = width(input(node.view, weights)),
                    .selected = node.selected};
  const std::size_t bytes = rounded_bytes<S>(node.view, weights, Activations::bytes);
  made.pairs.offset += bytes;
  if (bytes != 0)
    RoundActivations<S, Activations::bytes>::emit({made.x, made.bytes, made.k, made.selected},
                                                  tape);
  if constexpr (S::Wide::has_pairs)
    if (rounded_bytes<S>(node.view, weights, Activations::pairs) != 0)
      RoundActivations<S, Activations::pairs>::emit({made.x, made.pairs, made.k, made.selected},
                                                    tape);
  return made;
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
    [[gnu::always_inline]] BlockCut cut(const Part& part, const RunArgs& run) const {
      return input.cut<S>(part.weight, 1, live_rows(input.selected, run));
    }
  };

  static std::size_t workspace(const NodeView& view) { return rounded_bytes<S>(view, Parts); }

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
    for (const Part& part : a.parts) n += a.cut(part, run).count();
    return n;
  }

  static std::uint32_t needs(const void* arguments, const RunArgs& run, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    std::uint32_t first = 0, needed = 0;  // of a part; for the last round so far
    for (const Part& part : a.parts) {
      const BlockCut cut = a.cut(part, run);
      const std::uint32_t blocks = cut.blocks(), rounds = cut.rounds();
      const std::uint32_t round = least((index - first) / most(blocks, 1u), rounds - 1);
      if (round != 0) needed = first + round * blocks;
      first += cut.count();
      if (index < first) break;
    }
    return needed;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const Part* part = a.parts;
    BlockCut cut = a.cut(*part, *context.run);
    while (index >= cut.count()) {
      index -= cut.count();
      cut = a.cut(*++part, *context.run);
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
      a.parts[i].weight = weight_ref<S>(input(node.view, i), node.inputs.data()[i]);
      if (node.inputs.size() > Parts + 1) a.parts[i].bias = node.inputs.data()[Parts + 1 + i];
      a.parts[i].y = node.outputs.data()[i];
    }
    a.input = emit_input<S>(node, Parts, tape);
    tape.step(a, count, chunk, needs);
  }
};

/// up_gate: both products of the same block in one chunk, and the activation in place.
template <typename S>
struct UpGate {
  static constexpr std::size_t weights = 2;
  struct Arguments {
    WeightRef gate, up;
    ProductInput input;
    Ref y, up_sums;
    [[gnu::always_inline]] BlockCut cut(std::uint32_t rows) const {
      const bool gate_is_slower = gate.mac_seconds<S>() + gate.element_seconds<S>() >
                                  up.mac_seconds<S>() + up.element_seconds<S>();
      return input.cut<S>(gate_is_slower ? gate : up, 2, rows);
    }
    [[gnu::always_inline]] BlockCut cut(const RunArgs& run) const {
      return cut(live_rows(input.selected, run));
    }
  };
  /// A chunk holds the up products of so many pairs at a time.
  static constexpr std::uint32_t most_pairs = scratch_bytes / sizeof(float);

  /// In rounds, the up products wait here; else they stay in a chunk's scratch.
  static std::size_t workspace(const NodeView& view) {
    Arguments a{};
    a.gate = weight_ref<S>(input(view, 0), {});
    a.up = weight_ref<S>(input(view, 1), {});
    a.input.k = width(input(view, 2));
    const auto rows = static_cast<std::uint32_t>(input(view, 2).shape[0]);
    const std::size_t sums = a.cut(rows).rounds() == 1 ? 0 : std::size_t{rows} * a.gate.rows;
    return rounded_bytes<S>(view, 2) + sums * sizeof(float);
  }

  static bool supports(const NodeView& view) {
    if (view.inputs.size() != 3 || input(view, 2).dtype != DType::f32) return false;
    const std::uint32_t k = width(input(view, 2));
    return k > 0 && is_weight(input(view, 0), k) && is_weight(input(view, 1), k) &&
           input(view, 0).shape[0] == input(view, 1).shape[0];
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    return static_cast<const Arguments*>(arguments)->cut(run).count();
  }

  static std::uint32_t needs(const void* arguments, const RunArgs& run, std::uint32_t index) {
    const BlockCut cut = static_cast<const Arguments*>(arguments)->cut(run);
    return index / cut.blocks() * cut.blocks();
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
    b.y_stride = place.rows;
    if (place.begin != 0 || place.end != a.input.k) {
      b.y_stride = a.gate.rows;
      up = resolve<float>(a.up_sums, context) + place.column * b.y_stride + place.row;
    }
    b.y = up;
    a.up.multiply(b);
    if (place.end != a.input.k) return;
    const std::size_t up_stride = b.y_stride;
    for (std::size_t r = 0; r < place.columns; ++r) {
      float* y = out + r * a.gate.rows;
      const float* u = up + r * up_stride;
      for_vectors<S>(
          0, place.rows, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
            store(y + i, S::mul(silu<S>(load(y + i)), load(u + i)));
          });
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.gate = weight_ref<S>(input(node.view, 0), node.inputs.data()[0]);
    a.up = weight_ref<S>(input(node.view, 1), node.inputs.data()[1]);
    a.input = emit_input<S>(node, 2, tape);
    a.y = node.outputs.data()[0];
    a.up_sums = node.workspace;
    a.up_sums.offset += rounded_bytes<S>(node.view, 2);
    tape.step(a, count, chunk, needs);
  }
};

}  // namespace tacet::cpu
