#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("up_gate", inputs, 3, 3);
  check.is_matrix(0, "a gate");
  check.is_matrix(1, "an up weight", check[0].shape[0], check[0].shape[1]);
  check.is_activation(2, "x", 0, check[0].shape[1]);
  return check.gives({activation(check[2].shape[0], check[0].shape[0])});
}

Work work(const NodeView& node, RunShape run) {
  // Two products into one output, an activation (see silu) and a multiplication.
  const double outputs = run.rows * static_cast<double>(node.outputs[0].shape.width());
  return {.bytes = bytes(node.inputs[0]) + bytes(node.inputs[1]) + bytes(node.inputs[2], run.rows) +
                   bytes(node.outputs[0], run.rows),
          .operations = product_work(node.inputs[0], run.rows).operations +
                        product_work(node.inputs[1], run.rows).operations + 13 * outputs};
}

void reference(const ReferenceCall& call) {
  const auto gate = product(call.inputs[0], call.inputs[2], nullptr, call.rows);
  auto up = product(call.inputs[1], call.inputs[2], nullptr, call.rows);
  for (std::size_t r = 0; r < call.rows; ++r) {
    for (std::size_t i = 0; i < up[r].size(); ++i) up[r][i] *= swish(gate[r][i]);
    store_row(up[r], call.outputs[0], r);
  }
}

void decompose(Rewriter& rewriter) {
  const ValueId x = rewriter.input(2);
  const ValueId gate = rewriter.add(matmul, "gate", {rewriter.input(0), x});
  const ValueId up = rewriter.add(matmul, "up", {rewriter.input(1), x});
  const ValueId activated = rewriter.add(silu, "silu", {gate});
  rewriter.add_into(rewriter.output(0), mul, "mul", {activated, up});
}

}  // namespace

constinit const Op up_gate{.name = "up_gate",
                           .infer = infer,
                           .work = work,
                           .reference = reference,
                           .decompose = decompose,
                           .parts = "two products, an activation and a product of both"};

}  // namespace tacet::ops
