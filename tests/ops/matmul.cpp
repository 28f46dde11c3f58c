#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

struct Sizes {
  std::int64_t rows, width, outputs;
};

Input inputs_for(Random& random, DType type, const Sizes& sizes) {
  return type == DType::q8_0 ? q8_rows(random, sizes.rows, sizes.width)
                             : rows_of(random, sizes.rows, sizes.width);
}

Case product(DType type, const Sizes& sizes, bool bias = false) {
  return {.name = fmt::format("matmul_{}_{}x{}x{}{}", name(type), sizes.rows, sizes.width,
                              sizes.outputs, bias ? "_bias" : ""),
          .tolerance = f32_sums,
          .make = [=](Random& random) {
            Step step{.op = &ops::matmul,
                      .inputs = {matrix(random, type, sizes.outputs, sizes.width),
                                 inputs_for(random, type, sizes)}};
            if (bias) step.inputs.push_back(vector(random, sizes.outputs, 10));
            return Problem{.steps = {step}, .rows = static_cast<std::uint32_t>(sizes.rows)};
          }};
}

Case large_values(DType type) {
  return {.name = fmt::format("matmul_{}_large_values", name(type)),
          .tolerance = f32_sums,
          .make = [=](Random& random) {
            const Input weight = matrix(random, type, 21, 64, 2e3);
            const Input x =
                type == DType::q8_0 ? q8_rows(random, 3, 64) : rows_of(random, 3, 64, 1e6);
            return Problem{.steps = {{.op = &ops::matmul, .inputs = {weight, x}}}, .rows = 3};
          }};
}

/// Activations that Q8_0 does not hold.
Case rounded(const Sizes& sizes) {
  return {
      .name = fmt::format("matmul_q8_0_rounded_{}x{}x{}", sizes.rows, sizes.width, sizes.outputs),
      .tolerance = q8_0_rounding,
      .make = [=](Random& random) {
        const Input weight = matrix(random, DType::q8_0, sizes.outputs, sizes.width);
        const Input x = rows_of(random, sizes.rows, sizes.width);
        return Problem{.steps = {{.op = &ops::matmul, .inputs = {weight, x}}},
                       .rows = static_cast<std::uint32_t>(sizes.rows)};
      }};
}

}  // namespace

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  for (const DType type : weight_types) {
    const std::int64_t odd_width = type == DType::q8_0 ? 96 : 83;
    for (const std::int64_t rows : row_counts)
      cases.push_back(product(type, {rows, odd_width, 37}));
    cases.push_back(product(type, {1, 32, 1}));
    cases.push_back(product(type, {4, 32, 1}));
    cases.push_back(product(type, {1, 896, 131}));
    cases.push_back(product(type, {5, 896, 131}));
    cases.push_back(product(type, {2, 4864, 9}));
    cases.push_back(product(type, {7, 1600, 10}));
    cases.push_back(product(type, {1, 64, 3001}));
    cases.push_back(product(type, {40, 256, 70}));
    cases.push_back(product(type, {1, odd_width, 19}, true));
    cases.push_back(product(type, {6, odd_width, 19}, true));
    cases.push_back(large_values(type));
  }
  // Narrower than a vector register.
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t width : {1, 5, 15, 31}) cases.push_back(product(type, {3, width, 6}));
  cases.push_back(rounded({1, 896, 67}));
  cases.push_back(rounded({9, 96, 67}));
  return cases;
}

}  // namespace tacet::op_tests
