#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto [epsilon, groups] = attributes.as<NormAttributes>();
  InputCheck check("rms_norm", inputs, 2, 2);
  check.is_activation(0, "x");
  const std::int64_t width = check[0].shape[1];
  check.needs(epsilon >= 0, fmt::format("an epsilon of at least 0, not {}", epsilon));
  check.needs(groups > 0 && width % groups == 0,
              fmt::format("groups that divide the width {}, not {}", width, groups));
  check.is_vector(1, "a weight", DType::f32, groups > 0 ? width / groups : 0);
  return check.gives({check[0]});
}

Work work(const NodeView& node, RunShape run) {
  return elementwise_work(node, run, 4);
}

void reference(const ReferenceCall& call) {
  const auto [epsilon, groups] = call.attributes.as<NormAttributes>();
  const auto weight = load_row(call.inputs[1], 0);
  for (std::size_t r = 0; r < call.rows; ++r) {
    auto row = load_row(call.inputs[0], r);
    normalize(row, weight, static_cast<std::size_t>(groups), epsilon);
    store_row(row, call.outputs[0], r);
  }
}

}  // namespace

constinit const Op rms_norm{
    .name = "rms_norm", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
