#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

struct Norm {
  std::int64_t rows, width;
  std::int32_t groups = 1;
  float epsilon = 1e-6F;
  double scale = 1;
};

Case norm(std::string_view what, const Norm& n) {
  return {
      .name = fmt::format("rms_norm_{}_{}x{}_groups_{}", what, n.rows, n.width, n.groups),
      .tolerance = f32_sums,
      .make = [=](Random& random) {
        const Input x = rows_of(random, n.rows, n.width, n.scale);
        const Input weight = vector(random, n.width / n.groups);
        const Attributes attributes(ops::NormAttributes{.epsilon = n.epsilon, .groups = n.groups});
        return Problem{.steps = {{&ops::rms_norm, attributes, {x, weight}}},
                       .rows = static_cast<std::uint32_t>(n.rows)};
      }};
}

}  // namespace

std::vector<Case> rms_norm_cases() {
  std::vector<Case> cases;
  for (const std::int64_t rows : row_counts) {
    cases.push_back(norm("plain", {rows, 83}));
    cases.push_back(norm("heads", {rows, 7 * 64, 7}));
  }
  for (const std::int64_t width : {1, 7, 896, 20000}) cases.push_back(norm("plain", {2, width}));
  cases.push_back(norm("heads", {3, 2 * 80, 2}));
  cases.push_back(norm("heads", {3, 14 * 128, 14}));
  cases.push_back(norm("odd_heads", {3, 5 * 13, 5}));
  cases.push_back(norm("large_values", {3, 896, 1, 1e-6F, 1e6}));
  // Here the epsilon is most of the sum.
  cases.push_back(norm("small_values", {3, 896, 1, 1e-5F, 1e-3}));
  cases.push_back(norm("large_epsilon", {3, 96, 3, 2.5F}));
  return cases;
}

}  // namespace tacet::op_tests
