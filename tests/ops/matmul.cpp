#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

struct Sizes {
  std::int64_t rows, width, outputs;
};

Case product(DType type, const Sizes& sizes, bool bias = false) {
  return {.name = fmt::format("matmul_{}_{}x{}x{}{}", name(type), sizes.rows, sizes.width,
                              sizes.outputs, bias ? "_bias" : ""),
          .tolerance = f32_sums,
          .make = [=](Random& random) {
            Step step{.op = &ops::matmul,
                      .inputs = {matrix(random, type, sizes.outputs, sizes.width),
                                 activations_for(random, type, sizes.rows, sizes.width)}};
            if (bias) step.inputs.push_back(vector(random, sizes.outputs, 10));
            return Problem{.steps = {step}, .rows = static_cast<std::uint32_t>(sizes.rows)};
          }};
}

Case large_values(DType type) {
  return {.name = fmt::format("matmul_{}_large_values", name(type)),
          .tolerance = f32_sums,
          .make = [=](Random& random) {
            const std::int64_t width = width_for(type, 64);
            const Input weight = matrix(random, type, 21, width, 2e3);
            const Input x = activations_for(random, type, 3, width, 1e6);
            return Problem{.steps = {{.op = &ops::matmul, .inputs = {weight, x}}}, .rows = 3};
          }};
}

/// Activations that have to be rounded.
Case rounded(DType type, const Sizes& sizes) {
  return {.name = fmt::format("matmul_{}_rounded_{}x{}x{}", name(type), sizes.rows, sizes.width,
                              sizes.outputs),
          .tolerance = type == DType::bf16 ? bf16_rounding : activation_rounding,
          .make = [=](Random& random) {
            const Input weight = matrix(random, type, sizes.outputs, sizes.width);
            const Input x = rows_of(random, sizes.rows, sizes.width);
            return Problem{.steps = {{.op = &ops::matmul, .inputs = {weight, x}}},
                           .rows = static_cast<std::uint32_t>(sizes.rows)};
          }};
}

}  // namespace

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  for (const DType type : weight_types) {
    const auto width = [type](std::int64_t least) { return width_for(type, least); };
    for (const std::int64_t rows : row_counts)
      cases.push_back(product(type, {rows, width(83), 37}));
    cases.push_back(product(type, {1, width(32), 1}));
    cases.push_back(product(type, {4, width(32), 1}));
    cases.push_back(product(type, {1, width(896), 131}));
    cases.push_back(product(type, {5, width(896), 131}));
    cases.push_back(product(type, {2, width(4864), 9}));
    cases.push_back(product(type, {7, width(1600), 10}));
    cases.push_back(product(type, {1, width(64), 3001}));
    cases.push_back(product(type, {40, width(257), 70}));
    cases.push_back(product(type, {70, width(64), 16}));
    cases.push_back(product(type, {201, width(64), 150}));
    cases.push_back(product(type, {1, width(83), 19}, true));
    cases.push_back(product(type, {6, width(83), 19}, true));
    cases.push_back(large_values(type));
    if (info(type).block_size == 1 && type != DType::bf16) continue;
    cases.push_back(rounded(type, {1, width(896), 67}));
    cases.push_back(rounded(type, {9, width(96), 67}));
  }
  // Longer than a chunk: the products are added in rounds where there are many rows.
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    cases.push_back(product(type, {9, 5001, 35}, true));
  for (const DType type : {DType::q8_0, DType::q6_K, DType::q4_K})
    cases.push_back(product(type, {37, 10240, 35}, true));
  // Narrower than a vector register.
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t width : {1, 5, 15, 31}) cases.push_back(product(type, {3, width, 6}));
  return cases;
}

}  // namespace tacet::op_tests
