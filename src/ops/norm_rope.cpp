#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto [epsilon, rotation] = attributes.as<NormRopeAttributes>();
  const std::int32_t heads = rotation.heads;
  InputCheck check("norm_rope", inputs, 3, 3);
  check.is_activation(0, "x");
  const std::int64_t width = check[0].shape[1];
  check.needs(epsilon >= 0, fmt::format("an epsilon of at least 0, not {}", epsilon));
  check.needs(heads > 0 && width % heads == 0,
              fmt::format("heads that divide the width {}, not {}", width, heads));
  check.is_vector(1, "a weight", DType::f32, heads > 0 ? width / heads : 0);
  check.is_activation(2, "a table", check[0].shape[0]);
  const std::int64_t size = check[2].shape[1];
  check.needs(heads > 0 && size % 2 == 0 && size <= width / heads,
              fmt::format("a table of even width up to a head's, not {} for {} heads in {}", size,
                          heads, width));
  return check.gives({check[0]});
}

Work work(const NodeView& node, RunShape run) {
  return elementwise_work(node, run, 7);
}

void reference(const ReferenceCall& call) {
  const auto [epsilon, rotation] = call.attributes.as<NormRopeAttributes>();
  const auto heads = static_cast<std::size_t>(rotation.heads);
  const auto weight = load_row(call.inputs[1], 0);
  for (std::size_t r = 0; r < call.rows; ++r) {
    auto row = load_row(call.inputs[0], r);
    normalize(row, weight, heads, epsilon);
    rotate(row, load_row(call.inputs[2], r), heads, rotation.interleaved);
    store_row(row, call.outputs[0], r);
  }
}

void decompose(Rewriter& rewriter) {
  const auto [epsilon, rotation] = rewriter.node().attributes.as<NormRopeAttributes>();
  const ValueId normed =
      rewriter.add(rms_norm, "norm", {rewriter.input(0), rewriter.input(1)},
                   Attributes(NormAttributes{.epsilon = epsilon, .groups = rotation.heads}));
  rewriter.add_into(rewriter.output(0), rope, "rope", {normed, rewriter.input(2)},
                    Attributes(rotation));
}

}  // namespace

constinit const Op norm_rope{.name = "norm_rope",
                             .infer = infer,
                             .work = work,
                             .reference = reference,
                             .decompose = decompose,
                             .parts = "a norm of each head and a rotation"};

}  // namespace tacet::ops
