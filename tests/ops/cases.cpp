#include "ops/cases.hpp"

#include <iterator>

namespace tacet::op_tests {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto cases : {embed_cases, matmul_cases, add_cases, mul_cases, silu_cases, rms_norm_cases,
                     rope_table_cases, rope_cases, kv_write_cases, attention_cases,
                     attention_feature_cases, select_rows_cases, top_k_cases, add_rms_norm_cases,
                     norm_rope_cases, matmul3_cases, up_gate_cases}) {
    auto some = cases();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

void PrintTo(const Case& one, std::ostream* stream) {
  *stream << one.name;
}

}  // namespace tacet::op_tests
