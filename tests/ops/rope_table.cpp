#include <fmt/format.h>

#include <cstring>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

struct Table {
  float base;
  std::int32_t size;
  float scale = 1;
  bool factors = false;
  float low = 0;
  float high = 0;
  float magnitude = 1;
};

Case table(std::string_view what, const Table& t, std::vector<std::int32_t> positions) {
  return {.name = fmt::format("rope_table_{}_{}", what, t.size),
          // An angle in f32 would be off by 4e-3 at position 40000.
          .tolerance = {.of_row = 1e-6},
          .make = [=](Random& random) {
            Step step{.op = &ops::rope_table,
                      .attributes = Attributes(ops::RopeTableAttributes{.base = t.base,
                                                                        .size = t.size,
                                                                        .scale = t.scale,
                                                                        .low = t.low,
                                                                        .high = t.high,
                                                                        .magnitude = t.magnitude}),
                      .inputs = {indices(Input::Kind::positions, positions)}};
            if (t.factors) {
              step.inputs.push_back(vector(random, t.size / 2));
              for (std::size_t i = 0; i < step.inputs[1].bytes.size(); i += sizeof(float)) {
                const auto factor = static_cast<float>(1 + 7 * random.uniform());
                std::memcpy(&step.inputs[1].bytes[i], &factor, sizeof factor);
              }
            }
            return Problem{.steps = {step}, .rows = static_cast<std::uint32_t>(positions.size())};
          }};
}

}  // namespace

std::vector<Case> rope_table_cases() {
  const std::vector<std::int32_t> positions{0, 1, 2, 5, 31, 32, 33, 700, 2000, 40000, 3, 131071};
  std::vector<Case> cases;
  for (const std::int32_t size : {2, 20, 64, 80, 128})
    cases.push_back(table("plain", {10000, size}, positions));
  cases.push_back(table("one_row", {10000, 64}, {777}));
  cases.push_back(table("large_base", {1e6F, 128}, positions));
  cases.push_back(table("scaled", {10000, 64, 0.25F}, positions));
  cases.push_back(table("yarn", {10000, 64, 0.25F, false, 4, 19, 1.25F}, positions));
  cases.push_back(table("yarn_step", {10000, 64, 0.25F, true, 7, 7.001F, 0.5F}, positions));
  cases.push_back(table("yarn_from_the_first", {1e6F, 20, 0.125F, false, 0, 40}, positions));
  cases.push_back(table("factors", {500000, 64, 1, true}, positions));
  return cases;
}

}  // namespace tacet::op_tests
