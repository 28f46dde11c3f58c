#include "backends/cuda/ops/gather.hpp"

#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet::cuda {

namespace {

bool supports_embed(const NodeView& view) {
  const ValueType& table = view.inputs[0];
  return (table.dtype == DType::f32 || has_tiles(table.dtype)) &&
         width_of(table) % info(table.dtype).block_size == 0;
}
bool supports_select(const NodeView& view) {
  return view.inputs[0].dtype == DType::f32;
}

void emit_embed(const PlacedNode& node, TapeBuilder& tape) {
  const ValueType& table = node.view.inputs[0];
  EmbedArguments a{};
  a.table = tape.address<const std::byte>(node.inputs[0]);
  a.out = tape.address<float>(node.outputs[0]);
  a.width = width_of(table);
  a.table_rows = rows_of(table);
  if (has_tiles(table.dtype)) a.group_bytes = tiled_bytes(table.dtype, tile_rows, a.width);
  launch_embed(tape.launches, name(table.dtype), info(table.dtype).block_size > 1, a,
               rows_of(node.view.outputs[0]));
}

void emit_select(const PlacedNode& node, TapeBuilder& tape) {
  SelectArguments a{};
  a.x = tape.address<const float>(node.inputs[0]);
  a.out = tape.address<float>(node.outputs[0]);
  a.width = width_of(node.view.inputs[0]);
  launch_select_rows(tape.launches, a, rows_of(node.view.outputs[0]));
}

const CudaKernel kernels[] = {
    {{.op = &ops::embed, .name = "embed.cuda", .supports = supports_embed, .layout = Layout::tiles},
     emit_embed},
    {{.op = &ops::select_rows, .name = "select_rows.cuda", .supports = supports_select},
     emit_select},
};

}  // namespace

std::span<const CudaKernel> gather_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
