#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto [epsilon, groups] = attributes.as<NormAttributes>();
  InputCheck check("add_rms_norm", inputs, 3, 3);
  check.is_activation(0, "a");
  check.is_activation(1, "b", check[0].shape[0], check[0].shape[1]);
  check.is_vector(2, "a weight", DType::f32, check[0].shape[1]);
  check.needs(epsilon >= 0, fmt::format("an epsilon of at least 0, not {}", epsilon));
  check.needs(groups == 1, fmt::format("1 group, not {}", groups));
  return check.gives({check[0], check[0]});
}

Work work(const NodeView& node, RunShape run) {
  return elementwise_work(node, run, 5);
}

void reference(const ReferenceCall& call) {
  const double epsilon = call.attributes.as<NormAttributes>().epsilon;
  const auto weight = load_row(call.inputs[2], 0);
  for (std::size_t r = 0; r < call.rows; ++r) {
    auto row = load_row(call.inputs[0], r);
    const auto other = load_row(call.inputs[1], r);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += other[i];
    store_row(row, call.outputs[0], r);
    normalize(row, weight, 1, epsilon);
    store_row(row, call.outputs[1], r);
  }
}

void decompose(Rewriter& rewriter) {
  rewriter.add_into(rewriter.output(0), add, "add", {rewriter.input(0), rewriter.input(1)});
  rewriter.add_into(rewriter.output(1), rms_norm, "norm", {rewriter.output(0), rewriter.input(2)},
                    rewriter.node().attributes);
}

}  // namespace

constinit const Op add_rms_norm{.name = "add_rms_norm",
                                .infer = infer,
                                .work = work,
                                .reference = reference,
                                .decompose = decompose,
                                .parts = "an addition and a norm"};

}  // namespace tacet::ops
