#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

struct Rotation {
  std::int64_t rows;
  std::int32_t heads;
  std::int64_t head_size, size;
};

Case rotated(const Rotation& r, bool interleaved) {
  return {.name = fmt::format("rope_{}_{}_rows_{}_heads_of_{}_rotated_{}",
                              interleaved ? "interleaved" : "halves", r.rows, r.heads, r.head_size,
                              r.size),
          .tolerance = {.of_row = 1e-6, .of_element = 1e-6},
          .make = [=](Random& random) {
            const Input x = rows_of(random, r.rows, r.heads * r.head_size);
            const Input table = rows_of(random, r.rows, r.size);
            const Attributes attributes(
                ops::RopeAttributes{.heads = r.heads, .interleaved = interleaved});
            return Problem{.steps = {{&ops::rope, attributes, {x, table}}},
                           .rows = static_cast<std::uint32_t>(r.rows)};
          }};
}

}  // namespace

std::vector<Case> rope_cases() {
  std::vector<Case> cases;
  for (const bool interleaved : {false, true}) {
    for (const std::int64_t rows : row_counts)
      cases.push_back(rotated({rows, 3, 64, 64}, interleaved));
    for (const std::int64_t head_size : {2, 6, 80, 128})
      cases.push_back(rotated({3, 14, head_size, head_size}, interleaved));
    cases.push_back(rotated({3, 1, 64, 32}, interleaved));
    cases.push_back(rotated({3, 2, 80, 20}, interleaved));
    cases.push_back(rotated({2, 5, 13, 6}, interleaved));
  }
  return cases;
}

}  // namespace tacet::op_tests
