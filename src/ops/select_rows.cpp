#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("select_rows", inputs, 2, 2);
  check.is_activation(0, "x");
  check.is_vector(1, "rows", DType::i32);
  return check.gives({activation(check[1].shape[0], check[0].shape[1])});
}

Work work(const NodeView& node, RunShape run) {
  return {.bytes = 2 * bytes(node.outputs[0], run.rows)};
}

void reference(const ReferenceCall& call) {
  const auto plan_rows = static_cast<std::size_t>(call.inputs[0].type.shape[0]);
  const std::size_t run_rows = call.run_rows == 0 ? plan_rows : call.run_rows;
  for (std::size_t s = 0; s < call.rows; ++s) {
    const std::size_t row = clamp_index(load_index(call.inputs[1], s), run_rows);
    store_row(load_row(call.inputs[0], row), call.outputs[0], s);
  }
}

}  // namespace

constinit const Op select_rows{
    .name = "select_rows", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
