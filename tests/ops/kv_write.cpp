#include <fmt/format.h>

#include <utility>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case written(std::uint32_t rows, const KvShape& shape, double scale = 1) {
  const std::string pages =
      shape.page_tokens == 32 ? "" : fmt::format("_pages_of_{}", shape.page_tokens);
  return {
      .name = fmt::format("kv_write_{}_{}_{}_rows_{}_heads_of_{}_{}_past_{}{}{}",
                          name(shape.k_type), name(shape.v_type), rows, shape.heads, shape.k_size,
                          shape.v_size, shape.past, pages, scale == 1 ? "" : "_large_values"),
      .tolerance = exact,
      .make = [=](Random& random) {
        KvMemory kv(shape, shape.past + rows);
        kv.fill(random, shape.past);
        const Input k = rows_of(random, rows, shape.heads * shape.k_size, scale);
        const Input v = rows_of(random, rows, shape.heads * shape.v_size, scale);
        const Input keys{Input::Kind::keys, kv.keys()};
        const Input values{Input::Kind::values, kv.values()};
        return Problem{.steps = {{.op = &ops::kv_write, .inputs = {k, v, keys, values}}},
                       .rows = rows,
                       .kv = {kv}};
      }};
}

}  // namespace

std::vector<Case> kv_write_cases() {
  std::vector<Case> cases;
  for (const DType k_type : {DType::f32, DType::f16, DType::q8_0})
    for (const DType v_type : {DType::f32, DType::f16, DType::q8_0}) {
      KvShape shape{.heads = 3, .k_size = 64, .v_size = 96, .k_type = k_type, .v_type = v_type};
      for (const std::uint32_t past : {0U, 1U, 31U, 32U, 33U, 700U}) {
        shape.past = past;
        cases.push_back(written(past % 2 == 0 ? 5 : 1, shape));
      }
      shape.past = 20;
      cases.push_back(written(33, shape));
    }
  for (const DType type : {DType::f32, DType::f16}) {
    cases.push_back(written(3, {.k_size = 80, .v_size = 13, .k_type = type, .v_type = type}));
    cases.push_back(written(70, {.heads = 1, .k_size = 128, .k_type = type, .v_type = type}));
  }
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const std::uint32_t page_tokens : {3U, 48U})
      for (const auto& [k_size, v_size] : {std::pair{1U, 1024U}, {13U, 513U}, {1024U, 77U}})
        cases.push_back(written(50, {.k_size = k_size,
                                     .v_size = v_size,
                                     .k_type = type,
                                     .v_type = type,
                                     .past = 47,
                                     .page_tokens = page_tokens}));
  cases.push_back(written(7, {.k_size = 1024,
                              .v_size = 32,
                              .k_type = DType::q8_0,
                              .v_type = DType::bf16,
                              .past = 2,
                              .page_tokens = 3}));
  // Halves end at 65504: infinities are stored as such.
  cases.push_back(written(2, {}, 1e5));
  return cases;
}

}  // namespace tacet::op_tests
