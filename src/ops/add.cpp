#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("add", inputs, 2, 2);
  check.is_activation(0, "a");
  if (check[1].shape.rank() == 1)
    check.is_vector(1, "b", DType::f32, check[0].shape[1]);
  else
    check.is_activation(1, "b", check[0].shape[0], check[0].shape[1]);
  return check.gives({check[0]});
}

Work work(const NodeView& node, RunShape run) {
  return elementwise_work(node, run, 1);
}

void reference(const ReferenceCall& call) {
  const bool broadcast = call.inputs[1].type.shape.rank() == 1;
  for (std::size_t r = 0; r < call.rows; ++r) {
    auto row = load_row(call.inputs[0], r);
    const auto other = load_row(call.inputs[1], broadcast ? 0 : r);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += other[i];
    store_row(row, call.outputs[0], r);
  }
}

}  // namespace

constinit const Op add{.name = "add", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
