#include <cmath>

#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const auto [base, size, scale, low, high, magnitude] = attributes.as<RopeTableAttributes>();
  InputCheck check("rope_table", inputs, 1, 2);
  check.is_vector(0, "positions", DType::i32);
  check.needs(size > 0 && size % 2 == 0, fmt::format("an even size above 0, not {}", size));
  check.needs(base > 0 && std::isfinite(base), fmt::format("a base above 0, not {}", base));
  check.needs(std::isfinite(scale), fmt::format("a finite scale, not {}", scale));
  check.needs(
      std::isfinite(low) && std::isfinite(high) && std::isfinite(magnitude),
      fmt::format("finite bounds and a finite magnitude, not {}, {}, {}", low, high, magnitude));
  if (inputs.size() == 2) check.is_vector(1, "factors", DType::f32, size / 2);
  return check.gives({activation(check[0].shape[0], size)});
}

// A sine or a cosine is about twenty multiplications and additions.
Work work(const NodeView& node, RunShape run) {
  Work work{.bytes = (bytes(node.outputs[0], 1) + sizeof(std::int32_t)) * run.rows,
            .operations = 20.0 * run.rows * static_cast<double>(node.outputs[0].shape.width())};
  if (node.inputs.size() == 2) work.bytes += bytes(node.inputs[1]);
  return work;
}

void reference(const ReferenceCall& call) {
  const auto [base, size, scale, low, high, magnitude] = call.attributes.as<RopeTableAttributes>();
  const auto pairs = static_cast<std::size_t>(size / 2);
  const auto factors =
      call.inputs.size() == 2 ? load_row(call.inputs[1], 0) : std::vector<double>(pairs, 1.0);
  std::vector<double> row(2 * pairs);
  for (std::size_t r = 0; r < call.rows; ++r) {
    const auto position = static_cast<double>(load_index(call.inputs[0], r));
    for (std::size_t i = 0; i < pairs; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / size;
      double scaled = 1;  // the share of YaRN's interpolation
      const auto pair = static_cast<double>(i);
      if (pair < high) scaled = pair <= low ? 0 : (pair - low) / (double{high} - low);
      const double position_scale = scaled * scale + (1 - scaled);
      const double angle =
          position * position_scale * std::pow(double{base}, exponent) / factors[i];
      row[i] = magnitude * std::cos(angle);
      row[pairs + i] = magnitude * std::sin(angle);
    }
    store_row(row, call.outputs[0], r);
  }
}

}  // namespace

constinit const Op rope_table{
    .name = "rope_table", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
