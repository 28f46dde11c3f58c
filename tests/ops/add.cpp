#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case sum(std::int64_t rows, std::int64_t width, bool broadcast) {
  return {.name = fmt::format("add_{}x{}{}", rows, width, broadcast ? "_vector" : ""),
          .tolerance = exact,
          .make = [=](Random& random) {
            const Input a = rows_of(random, rows, width);
            const Input b =
                broadcast ? vector(random, width, 3) : rows_of(random, rows, width, 1e-3);
            return Problem{.steps = {{.op = &ops::add, .inputs = {a, b}}},
                           .rows = static_cast<std::uint32_t>(rows)};
          }};
}

}  // namespace

std::vector<Case> add_cases() {
  std::vector<Case> cases;
  for (const bool broadcast : {false, true}) {
    for (const std::int64_t rows : row_counts) cases.push_back(sum(rows, 83, broadcast));
    for (const std::int64_t width : {1, 7, 896, 20000}) cases.push_back(sum(2, width, broadcast));
  }
  return cases;
}

}  // namespace tacet::op_tests
