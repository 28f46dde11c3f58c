#include <fmt/format.h>

#include <limits>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case selected(std::string_view what, std::int64_t rows, std::int64_t width,
              std::vector<std::int32_t> wanted) {
  return {
      .name = fmt::format("select_rows_{}", what), .tolerance = exact, .make = [=](Random& random) {
        const Input x = rows_of(random, rows, width);
        return Problem{.steps = {{.op = &ops::select_rows,
                                  .inputs = {x, indices(Input::Kind::output_rows, wanted)}}},
                       .rows = static_cast<std::uint32_t>(rows)};
      }};
}

}  // namespace

std::vector<Case> select_rows_cases() {
  using limits = std::numeric_limits<std::int32_t>;
  return {selected("last", 8, 896, {7}), selected("only", 1, 83, {0}),
          selected("some", 33, 83, {32, 0, 5, 5, 31}), selected("all", 5, 7, {0, 1, 2, 3, 4}),
          selected("out_of_range", 6, 83, {-1, 6, 3, limits::min(), 7, limits::max()})};
}

}  // namespace tacet::op_tests
