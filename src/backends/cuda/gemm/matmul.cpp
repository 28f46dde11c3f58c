#include <algorithm>
#include <array>
#include <iterator>

#include "backends/cuda/gemm/activations.hpp"
#include "backends/cuda/gemm/product.hpp"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/ops/elementwise.hpp"
#include "backends/cuda/ops/norm.hpp"
#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet::cuda {

namespace {

std::uint32_t columns_of(const ValueType& matrix) {
  return static_cast<std::uint32_t>(matrix.shape[1]);
}

bool is_half(DType weights) {
  return weights == DType::f16 || weights == DType::bf16;
}

/// The bytes of 64 activations of a row for products with weights of this type.
std::size_t chunk_bytes(DType weights) {
  return is_half(weights) ? sizeof(HalfChunk<2>) : sizeof(HalfChunk<1>);
}

/// The bytes of a row of so many columns, with the scales of its slices.
std::size_t activation_bytes(DType weights, std::size_t columns) {
  return chunks_of(columns) * chunk_bytes(weights) + slices * sizeof(float);
}

/// What the kernel for one row has in shared memory: the row, and a ring of chunks for each warp.
std::size_t shared_bytes_of_one(DType weights, std::size_t chunks, bool pair) {
  const std::uint32_t stage = stage_bytes(weights) * (pair ? 2 : 1);
  return chunks * chunk_bytes(weights) + std::size_t{slices} * ring_depth(stage) * stage;
}
/// Whether a plan of `rows` rows is computed by it.
bool is_one(std::uint32_t rows, DType weights, std::size_t chunks) {
  return rows == 1 && shared_bytes_of_one(weights, chunks, true) <= most_shared_bytes;
}

void emit_float_product(const FloatProduct& product, std::uint32_t rows, Launches& launches) {
  launches.add({"f32", "product"},
               {ceil_div(product.outputs, 8), ceil_div(rows, float_rows_at_once)}, 256, product);
}

/// Appends the product of a plan of `rows` rows, from the module of the weights' type.
void launch_product(TapeBuilder& tape, DType type, const ProductArguments& a, std::uint32_t rows,
                    bool pair) {
  const std::string_view module = name(type);
  Launches& launches = tape.launches;
  if (is_one(rows, type, a.chunks)) {
    // As many blocks as there is room for; they share the groups.
    const std::size_t shared = shared_bytes_of_one(type, a.chunks, pair);
    const auto room = static_cast<std::uint32_t>(tape.size.shared_bytes / (shared + 3 * 1024));
    const std::uint32_t blocks = tape.size.multiprocessors * std::clamp(room, 1U, blocks_of_one);
    return launches.add({module, pair ? "one_pair" : "one"}, {std::min(a.groups, blocks)},
                        32 * slices, a, shared);
  }
  if (rows > few_rows) {
    const std::uint32_t groups = pair ? groups_of_block / 2 : groups_of_block;
    const std::size_t shared =
        stages_of_many(is_half(type) ? 2 : 1) * rows_of_block * chunk_bytes(type) +
        slices * rows_of_block * sizeof(float);
    return launches.add({module, pair ? "many_pair" : "many"},
                        {ceil_div(rows, rows_of_block), ceil_div(a.groups, groups)},
                        threads_of_many, a, shared);
  }
  if (rows <= 8)
    return launches.add({module, pair ? "few_8_pair" : "few_8"}, {a.groups}, 32 * slices, a);
  launches.add({module, pair ? "few_16_pair" : "few_16"}, {a.groups, ceil_div(rows, 16)},
               32 * slices, a);
}

/// Whether `type` is one that weights may have here.
bool is_weight(const ValueType& value) {
  const bool fits =
      static_cast<std::size_t>(value.shape.width()) % info(value.dtype).block_size == 0;
  return fits && (value.dtype == DType::f32 || has_tiles(value.dtype));
}

/// A node of `Count` matrices, then x, then none or as many biases.
struct Products {
  const PlacedNode& node;
  std::size_t count;

  const ValueType& matrix(std::size_t i) const { return node.view.inputs[i]; }
  DType type(std::size_t i) const { return matrix(i).dtype; }
  const ValueType& x() const { return node.view.inputs[count]; }
  bool has_bias() const { return node.view.inputs.size() > count + 1; }
};

ProductArguments arguments_of(const Products& products, std::size_t first, std::size_t count,
                              const std::byte* workspace, const TapeBuilder& tape) {
  const PlacedNode& node = products.node;
  const std::uint32_t columns = columns_of(products.matrix(first));
  ProductArguments a{};
  a.rows = rows_of(products.x());
  a.matrices = static_cast<std::uint32_t>(count);
  a.columns = columns;
  a.chunks = ceil_div(columns, chunk_columns);
  a.selected = node.selected;
  a.group_bytes = tiled_bytes(products.type(first), tile_rows, columns);
  a.activations = workspace;
  a.scales = reinterpret_cast<const float*>(workspace + std::size_t{a.rows} * a.chunks *
                                                            chunk_bytes(products.type(first)));
  for (std::size_t i = 0; i < count; ++i) {
    ProductMatrix& m = a.matrix[i];
    m.tiles = tape.address<std::byte>(node.inputs[first + i]);
    if (products.has_bias())
      m.bias = tape.address<float>(node.inputs[products.count + 1 + first + i]);
    m.outputs = rows_of(products.matrix(first + i));
    m.groups = ceil_div(m.outputs, tile_rows);
    a.groups += m.groups;
  }
  return a;
}

/// Brings the activations of a node's products into the forms that they want.
class Preparation {
 public:
  Preparation(const Products& products, TapeBuilder& tape) : products_(products), tape_(tape) {}

  /// That of the matrix `first`, in the workspace, unless they are in it; or has the kernel of a
  /// single row do so.
  void prepare(std::size_t first, ProductArguments& a) {
    const DType type = products_.type(first);
    const DType form = is_half(type) ? type : DType::q8_0;
    if (form_ == form) return;
    const auto* x = tape_.address<const float>(products_.node.inputs[products_.count]);
    const auto rows = static_cast<std::uint32_t>(products_.x().shape.rows());
    auto* workspace = const_cast<void*>(a.activations);
    const bool in_norm =
        !is_half(type) && halve_in_norm(tape_.launches, x, static_cast<HalfChunk<1>*>(workspace),
                                        const_cast<float*>(a.scales), a.chunks);
    if (!in_norm && is_one(rows, type, a.chunks)) {
      a.row = x;
      return;
    }
    form_ = form;
    if (in_norm) return;
    constexpr auto kernel_of = [](DType weights) -> std::string_view {
      if (weights == DType::f16) return "split_halves";
      return weights == DType::bf16 ? "split_bf16" : "halves";
    };
    const ActivationArguments forms{
        x, workspace, const_cast<float*>(a.scales), rows, a.columns, a.chunks, a.selected};
    tape_.launches.add({"activations", kernel_of(type)}, {rows}, 256, forms);
  }

 private:
  const Products& products_;
  TapeBuilder& tape_;
  DType form_ = DType::f32;  ///< of what is in the workspace; f32: nothing is
};

/// The products of `count` matrices, each into its own of `outs`.
void emit_products(const PlacedNode& node, std::size_t count, std::array<float*, 3> outs,
                   TapeBuilder& tape) {
  const Products products{node, count};
  const auto rows = static_cast<std::uint32_t>(products.x().shape.rows());
  const auto* workspace = tape.address<const std::byte>(node.workspace);
  Preparation preparation(products, tape);
  for (std::size_t first = 0; first < count;) {
    if (products.type(first) == DType::f32) {
      emit_float_product(
          {.weights = tape.address<const float>(node.inputs[first]),
           .bias = products.has_bias() ? tape.address<const float>(node.inputs[count + 1 + first])
                                       : nullptr,
           .x = tape.address<const float>(node.inputs[count]),
           .out = outs[first],
           .columns = columns_of(products.matrix(first)),
           .outputs = rows_of(products.matrix(first)),
           .selected = node.selected},
          rows, tape.launches);
      ++first;
      continue;
    }
    // Matrices of one type go together.
    std::size_t end = first + 1;
    while (end < count && products.type(end) == products.type(first)) ++end;
    ProductArguments a = arguments_of(products, first, end - first, workspace, tape);
    preparation.prepare(first, a);
    for (std::size_t i = first; i < end; ++i) a.matrix[i - first].out = outs[i];
    launch_product(tape, products.type(first), a, rows, false);
    first = end;
  }
}

void emit_matmul(const PlacedNode& node, TapeBuilder& tape) {
  emit_products(node, 1, {tape.address<float>(node.outputs[0])}, tape);
}
void emit_matmul3(const PlacedNode& node, TapeBuilder& tape) {
  emit_products(node, 3,
                {tape.address<float>(node.outputs[0]), tape.address<float>(node.outputs[1]),
                 tape.address<float>(node.outputs[2])},
                tape);
}

/// Whether a product of two matrices can gate its own outputs.
bool is_pair(const NodeView& view) noexcept {
  return view.inputs[0] == view.inputs[1] && view.inputs[0].dtype != DType::f32;
}

/// Bytes of the activations of a node of `Count` matrices.
template <std::size_t Count>
std::size_t workspace(const NodeView& view) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < Count; ++i) {
    if (view.inputs[i].dtype == DType::f32) continue;
    const auto rows = static_cast<std::size_t>(view.inputs[Count].shape.rows());
    const auto columns = static_cast<std::size_t>(view.inputs[i].shape.width());
    bytes = std::max(bytes, rows * activation_bytes(view.inputs[i].dtype, columns));
  }
  return (bytes + 255) / 256 * 256;
}
std::size_t up_gate_workspace(const NodeView& view) {
  const auto outputs = static_cast<std::size_t>(view.outputs[0].shape.elements());
  return workspace<2>(view) + (is_pair(view) ? 0 : 2 * outputs * sizeof(float));
}

void emit_up_gate(const PlacedNode& node, TapeBuilder& tape) {
  auto* workspace_at = tape.address<std::byte>(node.workspace);
  const std::uint32_t rows = rows_of(node.view.inputs[2]);
  if (is_pair(node.view)) {
    const Products products{node, 2};
    ProductArguments a = arguments_of(products, 0, 2, workspace_at, tape);
    Preparation(products, tape).prepare(0, a);
    a.groups = a.matrix[0].groups;
    a.matrix[0].out = tape.address<float>(node.outputs[0]);
    return launch_product(tape, products.type(0), a, rows, true);
  }
  // Two products, and what gates the second one with the first.
  const std::uint32_t outputs = width_of(node.view.outputs[0]);
  auto* gate = reinterpret_cast<float*>(workspace_at + workspace<2>(node.view));
  float* up = gate + std::size_t{rows} * outputs;
  emit_products(node, 2, {gate, up}, tape);
  launch_elementwise(tape.launches, Function::gate,
                     {.a = gate,
                      .b = up,
                      .out = tape.address<float>(node.outputs[0]),
                      .width = outputs,
                      .b_is_vector = false,
                      .selected = node.selected},
                     rows);
}

template <std::size_t Count>
bool supports(const NodeView& view) {
  if (view.inputs.size() != Count + 1 && view.inputs.size() != 2 * Count + 1) return false;
  for (std::size_t i = 0; i < Count; ++i)
    if (!is_weight(view.inputs[i])) return false;
  return view.inputs[Count].dtype == DType::f32;
}
bool supports_up_gate(const NodeView& view) {
  return supports<2>(view) && view.inputs.size() == 3;
}

const CudaKernel kernels[] = {
    {{.op = &ops::matmul,
      .name = "matmul.cuda",
      .supports = supports<1>,
      .workspace = workspace<1>,
      .layout = Layout::tiles},
     emit_matmul},
    {{.op = &ops::matmul3,
      .name = "matmul3.cuda",
      .supports = supports<3>,
      .workspace = workspace<3>,
      .layout = Layout::tiles},
     emit_matmul3},
    {{.op = &ops::up_gate,
      .name = "up_gate.cuda",
      .supports = supports_up_gate,
      .workspace = up_gate_workspace,
      .layout = Layout::tiles},
     emit_up_gate},
};

}  // namespace

std::span<const CudaKernel> matmul_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
