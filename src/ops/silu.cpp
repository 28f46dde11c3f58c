#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("silu", inputs, 1, 1);
  check.is_activation(0, "x");
  return check.gives({check[0]});
}

// An exponential is about ten multiplications and additions.
Work work(const NodeView& node, RunShape run) {
  return elementwise_work(node, run, 12);
}

void reference(const ReferenceCall& call) {
  for (std::size_t r = 0; r < call.rows; ++r) {
    auto row = load_row(call.inputs[0], r);
    for (double& x : row) x = swish(x);
    store_row(row, call.outputs[0], r);
  }
}

}  // namespace

constinit const Op silu{.name = "silu", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
