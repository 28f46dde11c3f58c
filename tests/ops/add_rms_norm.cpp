#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case normed_sum(std::int64_t rows, std::int64_t width, float epsilon = 1e-6F, double scale = 1) {
  return {
      .name = fmt::format("add_rms_norm_{}x{}{}", rows, width, scale == 1 ? "" : "_small_values"),
      .tolerance = f32_sums,
      .make = [=](Random& random) {
        const Input a = rows_of(random, rows, width, scale);
        const Input b = rows_of(random, rows, width, scale);
        const Input weight = vector(random, width);
        const Attributes attributes(ops::NormAttributes{.epsilon = epsilon, .groups = 1});
        return Problem{.steps = {{&ops::add_rms_norm, attributes, {a, b, weight}}},
                       .rows = static_cast<std::uint32_t>(rows)};
      }};
}

}  // namespace

std::vector<Case> add_rms_norm_cases() {
  std::vector<Case> cases;
  for (const std::int64_t rows : row_counts) cases.push_back(normed_sum(rows, 83));
  for (const std::int64_t width : {1, 7, 896, 20000}) cases.push_back(normed_sum(2, width));
  cases.push_back(normed_sum(3, 896, 1e-5F, 1e-3));
  return cases;
}

}  // namespace tacet::op_tests
