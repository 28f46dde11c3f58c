#include "backends/cuda/ops/elementwise.hpp"

#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet::cuda {

namespace {

template <Function F>
void emit(const PlacedNode& node, TapeBuilder& tape) {
  const ValueType& x = node.view.inputs[0];
  ElementwiseArguments a{};
  a.a = tape.address<const float>(node.inputs[0]);
  if (node.inputs.size() > 1) {
    a.b = tape.address<const float>(node.inputs[1]);
    a.b_is_vector = node.view.inputs[1].shape.rank() == 1;
  }
  a.out = tape.address<float>(node.outputs[0]);
  a.width = width_of(x);
  a.selected = node.selected;
  launch_elementwise(tape.launches, F, a, rows_of(x));
}

const CudaKernel kernels[] = {
    {{.op = &ops::add, .name = "add.cuda", .supports = all_floats}, emit<Function::add>},
    {{.op = &ops::mul, .name = "mul.cuda", .supports = all_floats}, emit<Function::mul>},
    {{.op = &ops::silu, .name = "silu.cuda", .supports = all_floats}, emit<Function::silu>},
};

}  // namespace

std::span<const CudaKernel> elementwise_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
