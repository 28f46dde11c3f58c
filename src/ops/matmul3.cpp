#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs, const Attributes&) {
  InputCheck check("matmul3", inputs, 4, 7);
  check.needs(inputs.size() == 4 || inputs.size() == 7, "no bias or three");
  check.is_matrix(0, "a first weight");
  const std::int64_t width = check[0].shape[1];
  check.is_matrix(1, "a second weight", 0, width);
  check.is_matrix(2, "a third weight", 0, width);
  check.is_activation(3, "x", 0, width);
  if (inputs.size() == 7) {
    check.is_vector(4, "a first bias", DType::f32, check[0].shape[0]);
    check.is_vector(5, "a second bias", DType::f32, check[1].shape[0]);
    check.is_vector(6, "a third bias", DType::f32, check[2].shape[0]);
  }
  const std::int64_t rows = check[3].shape[0];
  return check.gives({activation(rows, check[0].shape[0]), activation(rows, check[1].shape[0]),
                      activation(rows, check[2].shape[0])});
}

Work work(const NodeView& node, RunShape run) {
  Work work{.bytes = bytes(node.inputs[3], run.rows)};
  for (std::size_t i = 0; i < 3; ++i) {
    const Work one = product_work(node.inputs[i], run.rows);
    work.bytes += one.bytes;
    work.operations += one.operations;
  }
  for (std::size_t i = 4; i < node.inputs.size(); ++i) work.bytes += bytes(node.inputs[i]);
  return work;
}

void reference(const ReferenceCall& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    const HostTensor* bias = call.inputs.size() == 7 ? &call.inputs[4 + i] : nullptr;
    const auto rows = product(call.inputs[i], call.inputs[3], bias, call.rows);
    for (std::size_t r = 0; r < call.rows; ++r) store_row(rows[r], call.outputs[i], r);
  }
}

void decompose(Rewriter& rewriter) {
  const ValueId x = rewriter.input(3);
  rewriter.add_into(rewriter.output(0), matmul, "first", {rewriter.input(0), x, rewriter.input(4)});
  rewriter.add_into(rewriter.output(1), matmul, "second",
                    {rewriter.input(1), x, rewriter.input(5)});
  rewriter.add_into(rewriter.output(2), matmul, "third", {rewriter.input(2), x, rewriter.input(6)});
}

}  // namespace

constinit const Op matmul3{.name = "matmul3",
                           .infer = infer,
                           .work = work,
                           .reference = reference,
                           .decompose = decompose,
                           .parts = "three products"};

}  // namespace tacet::ops
