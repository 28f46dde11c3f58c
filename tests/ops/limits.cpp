// Runs that do not keep to what their plan is made for are refused when they are submitted.

#include <gtest/gtest.h>

#include "ops/devices.hpp"
#include "ops/harness.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

/// Two rows behind 30 cells.
Problem problem(std::int32_t max_keys) {
  Random random("limits");
  KvMemory kv({.heads = 1, .past = 30}, 32);
  kv.fill(random, 32);
  const ops::AttentionAttributes attributes{.heads = 1, .scale = 1, .max_keys = max_keys};
  return {.steps = {{&ops::attention,
                     Attributes(attributes),
                     {rows_of(random, 2, 64),
                      {Input::Kind::keys, kv.keys()},
                      {Input::Kind::values, kv.values()}}}},
          .rows = 2,
          .kv = {kv}};
}

std::string refusal(const Problem& refused) {
  std::string message;
  for (const DeviceKind& kind : device_kinds()) {
    auto device = std::move(kind.make(2).value());
    const auto outcome = compute(*device, refused);
    if (outcome) return kind.name + " computes it.";
    EXPECT_EQ(outcome.error().code(), Code::invalid_argument);
    message = outcome.error().message();
  }
  return message;
}

TEST(Limits, OfKeys) {
  EXPECT_EQ(refusal(problem(31)),
            "The run sees 32 keys, but its plan is made for 31; use a plan for a larger context.");
  for (const DeviceKind& kind : device_kinds()) {
    auto device = std::move(kind.make(2).value());
    EXPECT_TRUE(compute(*device, problem(32))) << kind.name;
  }
}

TEST(Limits, OfSequences) {
  Problem short_one = problem(40);
  short_one.kv[0].rows = 1;
  EXPECT_EQ(refusal(short_one),
            "The run has 2 rows, but its sequences 1; give every row to one sequence.");
  Problem none = problem(40);
  none.kv.clear();
  EXPECT_EQ(refusal(none),
            "The run has 2 rows, but its sequences 0; give every row to one sequence.");
}

TEST(Limits, OfPagesAndPositions) {
  Problem pages = problem(400);
  pages.kv[0].shape.past = 63;
  EXPECT_EQ(refusal(pages),
            "The run has 65 cells, but pages for 64; add pages before it is submitted.");
  Problem positions = problem(40);
  positions.kv[0].positions.resize(31);
  EXPECT_EQ(refusal(positions),
            "The run has 32 cells, but 31 positions; give each cell one, or none.");
}

}  // namespace

}  // namespace tacet::op_tests
