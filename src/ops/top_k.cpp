#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/ops.hpp"
#include "ops/reference_math.hpp"
#include "ops/support.hpp"

namespace tacet::ops {

namespace {

Result<std::vector<ValueType>> infer(std::span<const ValueType> inputs,
                                     const Attributes& attributes) {
  const std::int64_t k = attributes.as<TopKAttributes>().k;
  InputCheck check("top_k", inputs, 1, 1);
  check.is_activation(0, "x");
  const std::int64_t width = check[0].shape.width();
  check.needs(width <= most_top_k_width,
              fmt::format("rows of at most {}, not {}", most_top_k_width, width));
  check.needs(k >= 1 && k <= std::min<std::int64_t>(most_k, width),
              fmt::format("k of 1 to {}, at most the width {}, not {}", most_k, width, k));
  return check.gives({activation(check[0].shape[0], 2 * k)});
}

Work work(const NodeView& node, RunShape run) {
  return {.bytes = bytes(node.inputs[0], run.rows) + bytes(node.outputs[0], run.rows)};
}

void reference(const ReferenceCall& call) {
  const auto k = static_cast<std::size_t>(call.attributes.as<TopKAttributes>().k);
  for (std::size_t row = 0; row < call.rows; ++row) {
    std::vector<double> x = load_row(call.inputs[0], row);
    for (double& value : x)
      value = std::isnan(value) ? -std::numeric_limits<double>::infinity() : value + 0;
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
    std::vector<double> best(2 * k);
    for (std::size_t i = 0; i < k; ++i) {
      best[i] = x[order[i]];
      best[k + i] = static_cast<double>(order[i]);
    }
    store_row(best, call.outputs[0], row);
  }
}

}  // namespace

constinit const Op top_k{.name = "top_k", .infer = infer, .work = work, .reference = reference};

}  // namespace tacet::ops
