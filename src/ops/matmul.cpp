#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("matmul", inputs, 2, 3);
  check.is_matrix(0, "a weight");
  check.is_activation(1, "x", 0, check[0].shape[1]);
  if (inputs.size() == 3) check.is_vector(2, "a bias", DType::f32, check[0].shape[0]);
  return check.gives({activation(check[1].shape[0], check[0].shape[0])});
}

Work work(const NodeView& node, RunShape run) {
  Work work = product_work(node.inputs[0], run.rows);
  work.bytes += bytes(node.inputs[1], run.rows);
  if (node.inputs.size() == 3) work.bytes += bytes(node.inputs[2]);
  return work;
}

void reference(const ReferenceCall& call) {
  const HostTensor* bias = call.inputs.size() == 3 ? &call.inputs[2] : nullptr;
  const auto rows = product(call.inputs[0], call.inputs[1], bias, call.rows);
  for (std::size_t r = 0; r < call.rows; ++r) store_row(rows[r], call.outputs[0], r);
}

}  // namespace

constinit const Op matmul{.name = "matmul", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
