#include <fmt/format.h>

#include <limits>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

constexpr std::int32_t vocabulary = 41;

Case lookup(DType type, std::int64_t width, std::string_view what,
            std::vector<std::int32_t> tokens) {
  return {.name = fmt::format("embed_{}_{}_{}", name(type), width, what),
          .tolerance = exact,
          .make = [=](Random& random) {
            const Input table = matrix(random, type, vocabulary, width);
            return Problem{.steps = {{.op = &ops::embed,
                                      .inputs = {table, indices(Input::Kind::tokens, tokens)}}},
                           .rows = static_cast<std::uint32_t>(tokens.size())};
          }};
}

}  // namespace

std::vector<Case> embed_cases() {
  using limits = std::numeric_limits<std::int32_t>;
  std::vector<Case> cases;
  for (const DType type : weight_types) {
    cases.push_back(lookup(type, width_for(type, 96), "one", {17}));
    cases.push_back(lookup(type, width_for(type, 896), "some", {40, 0, 3, 3, 39, 1, 0}));
    cases.push_back(lookup(type, width_for(type, 64), "out_of_range",
                           {-1, 5, limits::min(), vocabulary, limits::max(), vocabulary - 1}));
    if (info(type).block_size == 1) cases.push_back(lookup(type, 83, "odd_width", {7, 40, 12}));
  }
  return cases;
}

}  // namespace tacet::op_tests
