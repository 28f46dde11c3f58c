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

Case normed(const Rotation& r, bool interleaved) {
  return {.name = fmt::format("norm_rope_{}_{}_rows_{}_heads_of_{}_rotated_{}",
                              interleaved ? "interleaved" : "halves", r.rows, r.heads, r.head_size,
                              r.size),
          .tolerance = f32_sums,
          .make = [=](Random& random) {
            const Input x = rows_of(random, r.rows, r.heads * r.head_size);
            const Input weight = vector(random, r.head_size);
            const Input table = rows_of(random, r.rows, r.size);
            const Attributes attributes(ops::NormRopeAttributes{
                .epsilon = 1e-2F, .rope = {.heads = r.heads, .interleaved = interleaved}});
            return Problem{.steps = {{&ops::norm_rope, attributes, {x, weight, table}}},
                           .rows = static_cast<std::uint32_t>(r.rows)};
          }};
}

}  // namespace

std::vector<Case> norm_rope_cases() {
  std::vector<Case> cases;
  for (const bool interleaved : {false, true}) {
    for (const std::int64_t rows : row_counts)
      cases.push_back(normed({rows, 3, 64, 64}, interleaved));
    for (const std::int64_t head_size : {2, 6, 80, 128})
      cases.push_back(normed({3, 14, head_size, head_size}, interleaved));
    cases.push_back(normed({3, 2, 80, 20}, interleaved));
    cases.push_back(normed({2, 5, 13, 6}, interleaved));
  }
  return cases;
}

}  // namespace tacet::op_tests
