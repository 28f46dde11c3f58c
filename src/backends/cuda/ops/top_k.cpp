#include "backends/cuda/ops/top_k.hpp"

#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet::cuda {

namespace {

static_assert(most_top_k == ops::most_k);

std::uint32_t k_of(const NodeView& view) {
  return static_cast<std::uint32_t>(view.attributes->as<ops::TopKAttributes>().k);
}

std::size_t workspace(const NodeView& view) {
  const ValueType& x = view.inputs[0];
  return std::size_t{rows_of(x)} * ceil_div(width_of(x), top_k_part) * k_of(view) *
         sizeof(std::uint64_t);
}

void emit(const PlacedNode& node, TapeBuilder& tape) {
  const ValueType& x = node.view.inputs[0];
  TopKArguments a{};
  a.x = tape.address<const float>(node.inputs[0]);
  a.parts = tape.address<std::uint64_t>(node.workspace);
  a.out = tape.address<float>(node.outputs[0]);
  a.width = width_of(x);
  a.k = k_of(node.view);
  a.part_count = ceil_div(a.width, top_k_part);
  a.selected = node.selected;
  launch_top_k(tape.launches, a, rows_of(x));
}

const CudaKernel kernels[] = {
    {{.op = &ops::top_k, .name = "top_k.cuda", .supports = all_floats, .workspace = workspace},
     emit},
};

}  // namespace

std::span<const CudaKernel> top_k_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
