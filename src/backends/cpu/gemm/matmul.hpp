#pragma once

#include "backends/cpu/gemm/cut.hpp"

namespace tacet::cpu {

/// The weights that a kernel takes: rows of whole blocks of a type it has.
[[gnu::always_inline]] inline bool is_weight(const ValueType& type, std::uint32_t k) {
  switch (type.dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return type.shape.rank() == 2 && width(type) == k;
    case DType::q8_0:
      return type.shape.rank() == 2 && width(type) == k && k % 32 == 0;
    default:
      return false;
  }
}
[[gnu::always_inline]] inline double bytes_of(DType type) {
  return static_cast<double>(offset(type, 32)) / 32;
}

using BlockFunction = void (*)(const Block&);
template <typename S>
[[gnu::always_inline]] inline BlockFunction block_function(DType type) {
  switch (type) {
    case DType::f16:
      return Multiply<S, F16Elements>::block;
    case DType::bf16:
      return Multiply<S, Bf16Elements>::block;
    case DType::q8_0:
      return Multiply<S, Q8_0Elements>::block;
    default:
      return Multiply<S, F32Elements>::block;
  }
}

/// A matrix of weights, and how to multiply with it.
struct WeightRef {
  Ref data;
  std::uint32_t rows;
  std::size_t row_bytes;
  double element_bytes;
  BlockFunction multiply;
};
template <typename S>
[[gnu::always_inline]] inline WeightRef weight_ref(const PlacedNode& node, std::size_t i) {
  const ValueType& type = input(node.view, i);
  return {node.inputs.data()[i], static_cast<std::uint32_t>(type.shape[0]),
          offset(type.dtype, width(type)), bytes_of(type.dtype), block_function<S>(type.dtype)};
}

/// matmul and matmul3: `Parts` products of one input, the chunks of one after those of another.
/// Inputs: the weights, x, the biases or none.
template <typename S, std::size_t Parts>
struct Matmul {
  struct Part {
    WeightRef weight;
    Ref bias, y;
  };
  struct Arguments {
    Part parts[Parts];
    Ref x;
    std::uint32_t k;
    bool selected;
    [[gnu::always_inline]] BlockCut cut(const Part& part, const RunArgs& run) const {
      return cut_blocks<S>(part.weight.rows, live_rows(selected, run), k, part.weight.element_bytes,
                           1);
    }
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
  template <typename E>
  static bool supports_type(const NodeView& view) {
    if (!supports(view)) return false;
    for (std::size_t i = 0; i < Parts; ++i)
      if (input(view, i).dtype != E::type) return false;
    return true;
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    std::uint32_t n = 0;
    for (const Part& part : a.parts) n += a.cut(part, run).count();
    return n;
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const Part* part = a.parts;
    BlockCut cut = a.cut(*part, *context.run);
    while (index >= cut.count()) {
      index -= cut.count();
      cut = a.cut(*++part, *context.run);
    }
    const std::uint32_t row = index % cut.across() * cut.block_weights;
    const std::uint32_t column = index / cut.across() * cut.block_rows;
    const float* bias = resolve_input<float>(part->bias, context);
    Block b{};
    b.weights = resolve_input<std::byte>(part->weight.data, context) + row * part->weight.row_bytes;
    b.row_bytes = part->weight.row_bytes;
    b.weight_rows = least(cut.block_weights, cut.weight_rows - row);
    b.x = resolve_input<float>(a.x, context) + std::size_t{column} * a.k;
    b.x_rows = least(cut.block_rows, cut.x_rows - column);
    b.k = a.k;
    b.y_stride = part->weight.rows;
    b.y = resolve<float>(part->y, context) + column * b.y_stride + row;
    b.bias = bias == nullptr ? nullptr : bias + row;
    b.scratch = context.scratch;
    part->weight.multiply(b);
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    for (std::size_t i = 0; i < Parts; ++i) {
      a.parts[i].weight = weight_ref<S>(node, i);
      if (node.inputs.size() > Parts + 1) a.parts[i].bias = node.inputs.data()[Parts + 1 + i];
      a.parts[i].y = node.outputs.data()[i];
    }
    a.x = node.inputs.data()[Parts];
    a.k = width(input(node.view, Parts));
    a.selected = node.selected;
    tape.step(a, count, chunk);
  }
};

/// up_gate: both products of the same block in one chunk, and the activation in place.
template <typename S>
struct UpGate {
  struct Arguments {
    WeightRef gate, up;
    Ref x, y;
    std::uint32_t k;
    bool selected;
    [[gnu::always_inline]] BlockCut cut(const RunArgs& run) const {
      return cut_blocks<S>(gate.rows, live_rows(selected, run), k,
                           most(gate.element_bytes, up.element_bytes), 2);
    }
  };
  static constexpr std::size_t max_pairs = 3 * 1024;
  static_assert(block_scratch_bytes + max_pairs * sizeof(float) <= scratch_bytes);

  static bool supports(const NodeView& view) {
    if (view.inputs.size() != 3 || input(view, 2).dtype != DType::f32) return false;
    const std::uint32_t k = width(input(view, 2));
    return k > 0 && is_weight(input(view, 0), k) && is_weight(input(view, 1), k) &&
           input(view, 0).shape[0] == input(view, 1).shape[0];
  }
  template <typename E>
  static bool supports_type(const NodeView& view) {
    return supports(view) && input(view, 0).dtype == E::type && input(view, 1).dtype == E::type;
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    return static_cast<const Arguments*>(arguments)->cut(run).count();
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const BlockCut cut = a.cut(*context.run);
    const std::uint32_t row = index % cut.across() * cut.block_weights;
    const std::uint32_t column = index / cut.across() * cut.block_rows;
    Block b{};
    b.weights = resolve_input<std::byte>(a.gate.data, context) + row * a.gate.row_bytes;
    b.row_bytes = a.gate.row_bytes;
    b.weight_rows = least(cut.block_weights, cut.weight_rows - row);
    b.x = resolve_input<float>(a.x, context) + std::size_t{column} * a.k;
    b.x_rows = least(cut.block_rows, cut.x_rows - column);
    b.k = a.k;
    b.y_stride = a.gate.rows;
    float* out = resolve<float>(a.y, context) + column * b.y_stride + row;
    b.y = out;
    b.scratch = context.scratch;
    a.gate.multiply(b);
    b.weights = resolve_input<std::byte>(a.up.data, context) + row * a.up.row_bytes;
    b.row_bytes = a.up.row_bytes;
    float* up = reinterpret_cast<float*>(context.scratch + block_scratch_bytes);
    b.y = up;
    b.y_stride = b.weight_rows;
    a.up.multiply(b);
    for (std::size_t r = 0; r < b.x_rows; ++r) {
      float* y = out + r * a.gate.rows;
      const float* u = up + r * b.weight_rows;
      for_eights<S>(
          0,
          b.weight_rows, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
            store(y + i, S::mul(silu<S>(load(y + i)), load(u + i)));
          });
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    Arguments a{};
    a.gate = weight_ref<S>(node, 0);
    a.up = weight_ref<S>(node, 1);
    a.x = node.inputs.data()[2];
    a.y = node.outputs.data()[0];
    a.k = width(input(node.view, 2));
    a.selected = node.selected;
    tape.step(a, count, chunk);
  }
};

}  // namespace tacet::cpu
