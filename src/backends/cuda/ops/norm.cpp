#include "backends/cuda/ops/norm.hpp"

#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet::cuda {

namespace {

void emit(const PlacedNode& node, TapeBuilder& tape) {
  const bool adds = node.view.op == &ops::add_rms_norm;
  const auto [epsilon, groups] = node.view.attributes->as<ops::NormAttributes>();
  const ValueType& x = node.view.inputs[0];
  NormArguments a{};
  a.x = tape.address<const float>(node.inputs[0]);
  if (adds) {
    a.added = tape.address<const float>(node.inputs[1]);
    a.sum = tape.address<float>(node.outputs[0]);
  }
  a.weight = tape.address<const float>(node.inputs.back());
  a.out = tape.address<float>(node.outputs.back());
  a.groups = static_cast<std::uint32_t>(groups);
  a.width = width_of(x) / a.groups;
  a.epsilon = epsilon;
  a.selected = node.selected;
  launch_rms_norm(tape.launches, a, rows_of(x));
}

const CudaKernel kernels[] = {
    {{.op = &ops::rms_norm, .name = "rms_norm.cuda", .supports = all_floats}, emit},
    {{.op = &ops::add_rms_norm, .name = "add_rms_norm.cuda", .supports = all_floats}, emit},
};

}  // namespace

std::span<const CudaKernel> norm_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
