#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case products(DType type, std::int64_t rows, std::int64_t width, bool biases) {
  return {
      .name = fmt::format("matmul3_{}_{}x{}{}", name(type), rows, width, biases ? "_biases" : ""),
      .tolerance = f32_sums,
      .make = [=](Random& random) {
        const std::int64_t outputs[] = {70, 33, 20};
        Step step{.op = &ops::matmul3};
        for (const std::int64_t n : outputs) step.inputs.push_back(matrix(random, type, n, width));
        step.inputs.push_back(activations_for(random, type, rows, width));
        if (biases)
          for (const std::int64_t n : outputs) step.inputs.push_back(vector(random, n, 10));
        return Problem{.steps = {step}, .rows = static_cast<std::uint32_t>(rows)};
      }};
}

Problem mixed_types(Random& random) {
  const Step step{
      .op = &ops::matmul3,
      .inputs = {matrix(random, DType::f16, 70, 96), matrix(random, DType::bf16, 33, 96),
                 matrix(random, DType::q8_0, 20, 96), q8_rows(random, 2, 96)}};
  return {.steps = {step}, .rows = 2};
}

}  // namespace

std::vector<Case> matmul3_cases() {
  std::vector<Case> cases;
  for (const DType type : weight_types) {
    for (const std::int64_t rows : {1, 3, 8, 33})
      cases.push_back(products(type, rows, width_for(type, 96), false));
    for (const std::int64_t rows : {1, 5})
      cases.push_back(products(type, rows, width_for(type, 160), true));
  }
  cases.push_back(products(DType::f16, 2, 83, true));
  // In rounds, see matmul.cpp.
  cases.push_back(products(DType::f16, 9, 5000, true));
  cases.push_back({.name = "matmul3_mixed_types", .tolerance = f32_sums, .make = mixed_types});
  return cases;
}

}  // namespace tacet::op_tests
