#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("embed", inputs, 2, 2);
  check.is_matrix(0, "a table");
  check.is_vector(1, "tokens", DType::i32);
  return check.gives({activation(check[1].shape[0], check[0].shape[1])});
}

Work work(const NodeView& node, RunShape run) {
  return {.bytes = bytes(node.inputs[0], run.rows) + bytes(node.outputs[0], run.rows)};
}

void reference(const ReferenceCall& call) {
  const auto vocabulary = static_cast<std::size_t>(call.inputs[0].type.shape[0]);
  for (std::size_t r = 0; r < call.rows; ++r) {
    const std::size_t token = clamp_index(load_index(call.inputs[1], r), vocabulary);
    store_row(load_row(call.inputs[0], token), call.outputs[0], r);
  }
}

}  // namespace

constinit const Op embed{.name = "embed", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
