#include "backends/cuda/ops/kv_write.hpp"

#include "backends/cuda/ops/rope.hpp"
#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"
#include "types/dtype.hpp"

namespace tacet::cuda {

namespace {

bool supports(const NodeView& view) {
  const std::size_t states = view.inputs.size() / 2;
  for (std::size_t i = 0; i < states; ++i) {
    const ValueType& state = view.inputs[states + i];
    if (!is_kept(state.dtype) || width_of(state) % info(state.dtype).block_size != 0) return false;
  }
  return true;
}

void emit(const PlacedNode& node, TapeBuilder& tape) {
  const std::size_t states = node.view.inputs.size() / 2;
  KvWriteArguments a{};
  a.has_values = states == 2;
  a.layer = node.inputs[states].layer;
  a.heads = rows_of(node.view.inputs[states]);
  const auto state = [&](std::size_t i) {
    const ValueType& type = node.view.inputs[states + i];
    return KeptRows{tape.address<const float>(node.inputs[i]), type.dtype, width_of(type)};
  };
  a.k = state(0);
  if (a.has_values) a.v = state(1);
  if (keep_in_rope(tape.launches, a)) return;
  launch_kv_write(tape.launches, a, rows_of(node.view.inputs[0]));
}

const CudaKernel kernels[] = {
    {{.op = &ops::kv_write, .name = "kv_write.cuda", .supports = supports}, emit},
};

}  // namespace

std::span<const CudaKernel> kv_write_kernels() noexcept {
  return kernels;
}

}  // namespace tacet::cuda
