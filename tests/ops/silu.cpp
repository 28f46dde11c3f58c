#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case activated(std::int64_t rows, std::int64_t width) {
  return {.name = fmt::format("silu_{}x{}", rows, width),
          .tolerance = f32_elements,
          .make = [=](Random& random) {
            return Problem{
                .steps = {{.op = &ops::silu, .inputs = {rows_of(random, rows, width, 4)}}},
                .rows = static_cast<std::uint32_t>(rows)};
          }};
}

Problem extremes(Random&) {
  // Where exp overflows or vanishes in f32, and where x is next to nothing.
  std::vector<float> values;
  for (const float x : {100.0F, 88.8F, 87.3F, 20.0F, 16.6F, 1e-3F, 1e-8F, 1e-30F, 1e4F, 3e38F}) {
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(0);
  const auto width = static_cast<std::int64_t>(values.size());
  return {.steps = {{.op = &ops::silu, .inputs = {rows_of(1, width, values)}}}, .rows = 1};
}

}  // namespace

std::vector<Case> silu_cases() {
  std::vector<Case> cases;
  for (const std::int64_t rows : row_counts) cases.push_back(activated(rows, 83));
  for (const std::int64_t width : {1, 7, 896, 20000}) cases.push_back(activated(2, width));
  cases.push_back({.name = "silu_extremes", .tolerance = f32_elements, .make = extremes});
  return cases;
}

}  // namespace tacet::op_tests
