#include "backends/cuda/ops/rope.hpp"

#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet::cuda {

namespace {

void emit_table(const PlacedNode& node, TapeBuilder& tape) {
  const auto [base, size, scale, low, high, magnitude] =
      node.view.attributes->as<ops::RopeTableAttributes>();
  RopeTableArguments a{
      base, static_cast<std::uint32_t>(size), scale, low, high, magnitude, nullptr, nullptr};
  if (node.inputs.size() > 1) a.factors = tape.address<const float>(node.inputs[1]);
  a.out = tape.address<float>(node.outputs[0]);
  launch_rope_table(tape.launches, a, rows_of(node.view.outputs[0]));
}

void emit_rope(const PlacedNode& node, TapeBuilder& tape) {
  const bool norms = node.view.op == &ops::norm_rope;
  RopeArguments a{};
  ops::RopeAttributes rope{};
  if (norms) {
    const auto both = node.view.attributes->as<ops::NormRopeAttributes>();
    rope = both.rope;
    a.epsilon = both.epsilon;
    a.weight = tape.address<const float>(node.inputs[1]);
  } else {
    rope = node.view.attributes->as<ops::RopeAttributes>();
  }
  a.x = tape.address<const float>(node.inputs[0]);
  a.table = tape.address<const float>(node.inputs.back());
  a.out = tape.address<float>(node.outputs[0]);
  a.heads = static_cast<std::uint32_t>(rope.heads);
  a.head_size = width_of(node.view.inputs[0]) / a.heads;
  a.table_size = width_of(node.view.inputs.back());
  a.interleaved = rope.interleaved;
  launch_rope(tape.launches, a, rows_of(node.view.inputs[0]));
}

const CudaKernel kernels[] = {
    {{.op = &ops::rope_table, .name = "rope_table.cuda"}, emit_table},
    {{.op = &ops::rope, .name = "rope.cuda", .supports = all_floats}, emit_rope},
    {{.op = &ops::norm_rope, .name = "norm_rope.cuda", .supports = all_floats}, emit_rope},
};

}  // namespace

std::span<const CudaKernel> rope_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
