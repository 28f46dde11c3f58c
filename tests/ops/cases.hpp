#pragma once

#include <ostream>
#include <vector>

#include "ops/problem.hpp"

namespace tacet::op_tests {

// The cases of each op, in tests/ops/<op>.cpp.
std::vector<Case> embed_cases();
std::vector<Case> matmul_cases();
std::vector<Case> add_cases();
std::vector<Case> mul_cases();
std::vector<Case> silu_cases();
std::vector<Case> rms_norm_cases();
std::vector<Case> rope_table_cases();
std::vector<Case> rope_cases();
std::vector<Case> kv_write_cases();
std::vector<Case> attention_cases();
std::vector<Case> attention_feature_cases();
std::vector<Case> select_rows_cases();
std::vector<Case> top_k_cases();
std::vector<Case> add_rms_norm_cases();
std::vector<Case> norm_rope_cases();
std::vector<Case> matmul3_cases();
std::vector<Case> up_gate_cases();

/// What a failed test prints of a case.
void PrintTo(const Case& one, std::ostream* stream);

/// All of them.
std::vector<Case> all_cases();

/// The weight types, and numbers of rows around the sizes at which kernels change their way.
inline constexpr DType weight_types[] = {DType::f32,  DType::f16,    DType::bf16,   DType::q8_0,
                                         DType::q4_0, DType::q4_1,   DType::q5_0,   DType::q5_1,
                                         DType::q2_K, DType::q3_K,   DType::q4_K,   DType::q5_K,
                                         DType::q6_K, DType::iq4_nl, DType::iq4_xs, DType::mxfp4};
/// The least width above `width` that `type` has rows of.
inline std::int64_t width_for(DType type, std::int64_t width) {
  const auto block = static_cast<std::int64_t>(info(type).block_size);
  return (width + block - 1) / block * block;
}
/// Activations for a product with weights of `type` that kernels need not round.
inline Input activations_for(Random& random, DType type, std::int64_t rows, std::int64_t width,
                             double scale = 1) {
  if (info(type).block_size > 1) return q8_rows(random, rows, width);
  if (type == DType::bf16) return bf16_rows(random, rows, width, scale);
  return rows_of(random, rows, width, scale);
}
inline constexpr std::int64_t row_counts[] = {1, 2, 3, 5, 8, 13, 33};

/// Results of one rounding: the same bits, whatever computes them.
inline constexpr Tolerance exact{};
/// Sums in f32 of up to some thousand products, in any order: each addition errs by at most 6e-8 of
/// the sum so far, which is of the size of the row.
inline constexpr Tolerance f32_sums{.of_row = 1e-5};
/// Products with blocks whose activations are rounded to Q8_0 too: an error of half a step, up to
/// 1/254 of the largest of 32 numbers, which is about 2.2 times their root mean square; so 0.005 of
/// a row, and up to 8 times that in the worst of some ten thousand elements.
inline constexpr Tolerance activation_rounding{.of_row = 4e-2};
/// Products with BF16 whose activations are rounded to BF16 too: an error of up to 1/256 of each,
/// of root mean square 1/890; so 0.0012 of a row, and up to 5 times that in the worst.
inline constexpr Tolerance bf16_rounding{.of_row = 6e-3};
/// Products for which devices take quantized weights and activations as halves: a weight is rounded
/// up to three times (scale, min, itself), an activation once, each by up to 2^-11, of root mean
/// square 2^-12.6 or less. So 4e-4 of a row, three times that where weights are small differences
/// of large numbers (Q2_K), and up to 13 times that in the worst: a row of one output may be small
/// by chance. A gated element may be many times its row.
inline constexpr Tolerance half_weights{.of_row = 1.6e-2, .of_element = 1.6e-2};
/// How much larger errors may be where devices take the codes of keys and values as halves: a
/// number errs by up to 2^-11 instead of 2^-24, and sums by as much as if numbers did.
inline constexpr double half_keys = 1 << 12;
/// A few roundings and an exponential or root that is accurate to a few units in the last place.
inline constexpr Tolerance f32_elements{.of_element = 1e-6};

}  // namespace tacet::op_tests
