#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case product(std::int64_t rows, std::int64_t width, double scale = 1) {
  return {.name = fmt::format("mul_{}x{}{}", rows, width, scale == 1 ? "" : "_large"),
          .tolerance = exact,
          .make = [=](Random& random) {
            const Input a = rows_of(random, rows, width, scale);
            const Input b = rows_of(random, rows, width, scale);
            return Problem{.steps = {{.op = &ops::mul, .inputs = {a, b}}},
                           .rows = static_cast<std::uint32_t>(rows)};
          }};
}

}  // namespace

std::vector<Case> mul_cases() {
  std::vector<Case> cases;
  for (const std::int64_t rows : row_counts) cases.push_back(product(rows, 83));
  for (const std::int64_t width : {1, 7, 896, 20000}) cases.push_back(product(2, width));
  cases.push_back(product(3, 50, 1e15));
  return cases;
}

}  // namespace tacet::op_tests
