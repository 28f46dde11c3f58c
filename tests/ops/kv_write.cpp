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

/// Keys alone, as where values are a part of them.
Case keys_written(std::uint32_t rows, const KvShape& shape) {
  return {.name = fmt::format("kv_write_keys_{}_{}_rows_{}_past_{}", name(shape.k_type), rows,
                              shape.k_size, shape.past),
          .tolerance = exact,
          .make = [=](Random& random) {
            KvMemory kv(shape, shape.past + rows);
            kv.fill(random, shape.past);
            const Input k = rows_of(random, rows, shape.heads * shape.k_size);
            return Problem{
                .steps = {{.op = &ops::kv_write, .inputs = {k, {Input::Kind::keys, kv.keys()}}}},
                .rows = rows,
                .kv = {kv}};
          }};
}

/// Three sequences of which the second has no cells.
Case written_by_several(std::uint32_t rows) {
  return {.name = fmt::format("kv_write_three_sequences_{}_rows", rows),
          .tolerance = exact,
          .make = [=](Random& random) {
            Problem problem;
            problem.rows = 2 * rows + 3;
            for (const std::uint32_t count : {rows, 3U, rows}) {
              KvShape shape{.heads = 3, .k_size = 80, .v_size = 13};
              shape.past = 10 + 30 * static_cast<std::uint32_t>(problem.kv.size());
              KvMemory kv(shape, shape.past + count);
              kv.fill(random, shape.past);
              problem.kv.push_back(std::move(kv).of(count));
            }
            problem.kv[1].has_cells = false;
            const KvMemory& kv = problem.kv.front();
            problem.steps = {{.op = &ops::kv_write,
                              .inputs = {rows_of(random, problem.rows, 3 * 80),
                                         rows_of(random, problem.rows, 3 * 13),
                                         {Input::Kind::keys, kv.keys()},
                                         {Input::Kind::values, kv.values()}}}};
            return problem;
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
  constexpr DType blocks[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1};
  for (const DType type : blocks) {
    cases.push_back(written(5, {.heads = 3,
                                .k_size = 64,
                                .v_size = 96,
                                .k_type = type,
                                .v_type = DType::bf16,
                                .past = 31}));
    cases.push_back(written(33, {.heads = 2,
                                 .k_size = 96,
                                 .v_size = 32,
                                 .k_type = DType::f16,
                                 .v_type = type,
                                 .past = 20}));
    cases.push_back(keys_written(3, {.k_size = 576, .v_size = 0, .k_type = type, .past = 40}));
  }
  cases.push_back(keys_written(20, {.heads = 1, .k_size = 77, .v_size = 0, .past = 9}));
  for (const std::uint32_t rows : {1U, 3U, 20U}) cases.push_back(written_by_several(rows));
  // Halves end at 65504: infinities are stored as such.
  cases.push_back(written(2, {}, 1e5));
  return cases;
}

}  // namespace tacet::op_tests
