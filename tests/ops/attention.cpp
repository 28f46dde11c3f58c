#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

struct Sizes {
  std::uint32_t rows;
  std::uint32_t heads_per_kv = 2;
};

std::string describe(const Sizes& s, const KvShape& kv) {
  const std::string pages = kv.page_tokens == 32 ? "" : fmt::format("_pages_of_{}", kv.page_tokens);
  return fmt::format("{}_{}_{}_rows_{}x{}_heads_of_{}_{}_past_{}{}", name(kv.k_type),
                     name(kv.v_type), s.rows, s.heads_per_kv, kv.heads, kv.k_size, kv.v_size,
                     kv.past, pages);
}

Step attention_step(Random& random, const Sizes& s, const KvMemory& kv) {
  const KvShape& shape = kv.shape;
  const auto heads = static_cast<std::int32_t>(s.heads_per_kv * shape.heads);
  const ops::AttentionAttributes attributes{
      .heads = heads,
      .scale = 1 / std::sqrt(static_cast<float>(shape.k_size)),
      .max_keys = static_cast<std::int32_t>(shape.past + s.rows) + 17};
  return {&ops::attention,
          Attributes(attributes),
          {rows_of(random, s.rows, heads * std::int64_t{shape.k_size}),
           {Input::Kind::keys, kv.keys()},
           {Input::Kind::values, kv.values()}}};
}

Case attended(const Sizes& s, const KvShape& shape) {
  return {.name = fmt::format("attention_{}", describe(s, shape)),
          .tolerance = f32_sums,
          .make = [=](Random& random) {
            KvMemory kv(shape, shape.past + s.rows);
            kv.fill(random, shape.past + s.rows);
            return Problem{.steps = {attention_step(random, s, kv)}, .rows = s.rows, .kv = {kv}};
          }};
}

/// Scores that differ little and are all some hundreds above or below 0: unless the largest is
/// subtracted, exp overflows or vanishes. An error of 1e-7 of a score is one of some 1e-5 of its
/// weight.
Case large_scores(const Sizes& s, const KvShape& shape) {
  return {.name = fmt::format("attention_large_scores_{}", describe(s, shape)),
          .tolerance = {.of_row = 5e-4},
          .make = [=](Random& random) {
            KvMemory kv(shape, shape.past + s.rows);
            kv.fill(random, shape.past + s.rows, 250);
            return Problem{.steps = {attention_step(random, s, kv)}, .rows = s.rows, .kv = {kv}};
          }};
}

/// Keys and values are written in the same run.
Case written_and_attended(const Sizes& s, const KvShape& shape) {
  return {
      .name = fmt::format("kv_write_attention_{}", describe(s, shape)),
      .tolerance = f32_sums,
      .make = [=](Random& random) {
        KvMemory kv(shape, shape.past + s.rows);
        kv.fill(random, shape.past);
        const Step write{.op = &ops::kv_write,
                         .inputs = {rows_of(random, s.rows, shape.heads * shape.k_size),
                                    rows_of(random, s.rows, shape.heads * shape.v_size),
                                    {Input::Kind::keys, kv.keys()},
                                    {Input::Kind::values, kv.values()}}};
        return Problem{.steps = {write, attention_step(random, s, kv)}, .rows = s.rows, .kv = {kv}};
      }};
}

/// Sizes and pages at and beside what kernels cut work by.
void add_odd_shapes(std::vector<Case>& cases) {
  constexpr std::uint32_t sizes[] = {1, 13, 77, 513, 1024};
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const std::uint32_t size : sizes)
      for (const std::uint32_t page_tokens : {3U, 32U, 48U}) {
        const KvShape shape{.k_size = size,
                            .v_size = size,
                            .k_type = type,
                            .v_type = type,
                            .past = 50,
                            .page_tokens = page_tokens};
        cases.push_back(attended({.rows = 2, .heads_per_kv = 3}, shape));
        cases.push_back(written_and_attended({.rows = 20}, shape));
      }
  for (const std::uint32_t page_tokens : {3U, 48U}) {
    for (const DType type : {DType::f16, DType::q8_0}) {
      KvShape shape{.k_size = 1024,
                    .v_size = 96,
                    .k_type = type,
                    .v_type = type,
                    .past = 700,
                    .page_tokens = page_tokens};
      cases.push_back(attended({.rows = 1, .heads_per_kv = 7}, shape));
      cases.push_back(attended({.rows = 33}, shape));
      std::swap(shape.k_size, shape.v_size);
      cases.push_back(written_and_attended({.rows = 3}, shape));
      cases.push_back(large_scores({.rows = 40}, shape));
    }
    cases.push_back(attended({.rows = 5}, {.k_size = 13,
                                           .v_size = 513,
                                           .k_type = DType::bf16,
                                           .v_type = DType::f32,
                                           .past = 2000,
                                           .page_tokens = page_tokens}));
    cases.push_back(attended({.rows = 17}, {.k_size = 77,
                                            .v_size = 1,
                                            .k_type = DType::f32,
                                            .v_type = DType::bf16,
                                            .past = 95,
                                            .page_tokens = page_tokens}));
  }
}

}  // namespace

std::vector<Case> attention_cases() {
  constexpr DType f32 = DType::f32, f16 = DType::f16, q8_0 = DType::q8_0;
  std::vector<Case> cases;
  const std::pair<DType, DType> types[] = {{f32, f32},  {f16, f16},  {q8_0, q8_0},
                                           {f32, f16},  {f16, f32},  {f16, q8_0},
                                           {q8_0, f16}, {q8_0, f32}, {f32, q8_0}};
  for (const auto& [k_type, v_type] : types) {
    KvShape shape{.k_type = k_type, .v_type = v_type};
    for (const std::uint32_t past : {0U, 1U, 31U, 32U, 33U, 700U, 2000U}) {
      shape.past = past;
      cases.push_back(attended({.rows = past % 2 == 0 ? 3U : 1U}, shape));
    }
    shape.past = 29;
    cases.push_back(written_and_attended({.rows = 5}, shape));
    cases.push_back(large_scores({.rows = 7}, shape));
  }
  for (const std::uint32_t rows : {1U, 2U, 5U, 8U, 13U, 33U})
    cases.push_back(attended({.rows = rows}, {.past = 40}));
  for (const std::uint32_t heads_per_kv : {1U, 2U, 7U})
    for (const std::uint32_t size : {64U, 80U, 128U})
      cases.push_back(attended({.rows = 2, .heads_per_kv = heads_per_kv},
                               {.k_size = size, .v_size = size, .past = 33}));
  cases.push_back(
      attended({.rows = 4, .heads_per_kv = 3}, {.k_size = 64, .v_size = 96, .past = 9}));
  cases.push_back(attended({.rows = 4}, {.k_size = 128, .v_size = 32, .past = 90}));
  cases.push_back(attended({.rows = 2, .heads_per_kv = 7}, {.past = 2000}));
  cases.push_back(attended({.rows = 13}, {.past = 700}));
  cases.push_back(attended({.rows = 9}, {.k_type = q8_0, .v_type = q8_0, .past = 2000}));
  // Long ones, where work is cut in another way, on both sides of a power of two.
  cases.push_back(attended({.rows = 3}, {.heads = 1, .past = 16382}));
  cases.push_back(attended({.rows = 9, .heads_per_kv = 1}, {.heads = 1, .past = 8190}));
  cases.push_back(written_and_attended({.rows = 1, .heads_per_kv = 7}, {.past = 700}));
  cases.push_back(written_and_attended({.rows = 33}, {.past = 0}));
  cases.push_back(written_and_attended({.rows = 70}, {.past = 31}));
  add_odd_shapes(cases);
  return cases;
}

}  // namespace tacet::op_tests
