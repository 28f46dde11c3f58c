#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

/// An element may be many times its row: it is a product of two sums.
constexpr Tolerance gated_sums{.of_row = f32_sums.of_row, .of_element = 2e-6};

Case gated(DType type, std::int64_t rows, std::int64_t width, std::int64_t outputs) {
  return {.name = fmt::format("up_gate_{}_{}x{}x{}", name(type), rows, width, outputs),
          .tolerance = gated_sums,
          .make = [=](Random& random) {
            // Gates of a few units, where the activation bends.
            const Input gate = matrix(random, type, outputs, width, 0.3);
            const Input up = matrix(random, type, outputs, width);
            const Input x = activations_for(random, type, rows, width);
            return Problem{.steps = {{.op = &ops::up_gate, .inputs = {gate, up, x}}},
                           .rows = static_cast<std::uint32_t>(rows)};
          }};
}

Problem mixed_types(Random& random) {
  const Step step{.op = &ops::up_gate,
                  .inputs = {matrix(random, DType::q8_0, 45, 96, 0.3),
                             matrix(random, DType::f32, 45, 96), q8_rows(random, 2, 96)}};
  return {.steps = {step}, .rows = 2};
}

}  // namespace

std::vector<Case> up_gate_cases() {
  std::vector<Case> cases;
  for (const DType type : weight_types) {
    for (const std::int64_t rows : {1, 2, 5, 8, 33})
      cases.push_back(gated(type, rows, width_for(type, 96), 45));
    cases.push_back(gated(type, 1, width_for(type, 896), 130));
    cases.push_back(gated(type, 3, width_for(type, 896), 130));
  }
  cases.push_back(gated(DType::bf16, 3, 83, 17));
  // In rounds, see matmul.cpp.
  for (const DType type : {DType::f16, DType::bf16}) cases.push_back(gated(type, 35, 2880, 33));
  cases.push_back(gated(DType::q8_0, 35, 5120, 33));
  cases.push_back({.name = "up_gate_mixed_types", .tolerance = f32_sums, .make = mixed_types});
  return cases;
}

}  // namespace tacet::op_tests
