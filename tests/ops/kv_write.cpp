#include <fmt/format.h>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Case written(std::uint32_t rows, const KvShape& shape, double scale = 1) {
  return {
      .name = fmt::format("kv_write_{}_{}_{}_rows_{}_heads_of_{}_{}_past_{}{}", name(shape.k_type),
                          name(shape.v_type), rows, shape.heads, shape.k_size, shape.v_size,
                          shape.past, scale == 1 ? "" : "_large_values"),
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
                       .kv = kv};
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
  // Halves end at 65504: infinities are stored as such.
  cases.push_back(written(2, {}, 1e5));
  return cases;
}

}  // namespace tacet::op_tests
