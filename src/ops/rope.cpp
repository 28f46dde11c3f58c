#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto heads = attributes.as<RopeAttributes>().heads;
  InputCheck check("rope", inputs, 2, 2);
  check.is_activation(0, "x");
  const std::int64_t width = check[0].shape[1];
  check.needs(heads > 0 && width % heads == 0,
              fmt::format("heads that divide the width {}, not {}", width, heads));
  check.is_activation(1, "a table", check[0].shape[0]);
  const std::int64_t size = check[1].shape[1];
  check.needs(heads > 0 && size % 2 == 0 && size <= width / heads,
              fmt::format("a table of even width up to a head's, not {} for {} heads in {}", size,
                          heads, width));
  return check.gives({check[0]});
}

Work work(const NodeView& node, RunShape run) {
  return elementwise_work(node, run, 3);
}

void reference(const ReferenceCall& call) {
  const auto [heads, interleaved] = call.attributes.as<RopeAttributes>();
  for (std::size_t r = 0; r < call.rows; ++r) {
    auto row = load_row(call.inputs[0], r);
    rotate(row, load_row(call.inputs[1], r), static_cast<std::size_t>(heads), interleaved);
    store_row(row, call.outputs[0], r);
  }
}

}  // namespace

constinit const Op rope{.name = "rope", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
