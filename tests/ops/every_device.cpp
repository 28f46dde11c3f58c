// Every case of every op on every device.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "ops/as_halves.hpp"
#include "ops/cases.hpp"
#include "ops/devices.hpp"
#include "ops/harness.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

void PrintTo(const DeviceKind& kind, std::ostream* stream) {
  *stream << kind.name;
}

namespace {

using Parameters = std::tuple<DeviceKind, Case>;

class EveryDevice : public testing::TestWithParam<Parameters> {
 protected:
  const DeviceKind& kind() const { return std::get<0>(GetParam()); }
  const Case& one() const { return std::get<1>(GetParam()); }

  /// Computes on a new device; the test fails and gets an empty outcome if that can not be done.
  Outcome compute_with(const Problem& problem, unsigned threads = 2,
                       Inputs inputs = Inputs::as_weights) const {
    auto device = kind().make(threads);
    if (!device) {
      ADD_FAILURE() << device.error().message();
      return {};
    }
    auto outcome = compute(**device, problem, inputs);
    if (outcome) return std::move(*outcome);
    ADD_FAILURE() << outcome.error().message();
    return {};
  }
};

TEST_P(EveryDevice, AgreesWithReference) {
  const Problem problem = one().problem();
  const Outcome outcome = compute_with(problem);
  if (HasFailure()) return;
  Outcome expected = reference(problem);
  Tolerance tolerance = one().tolerance;
  if (auto halves = kind().has_halves ? in_halves(problem, tolerance) : std::nullopt) {
    const Comparison roughly = compare(outcome, expected, halves->rough);
    EXPECT_LE(roughly.worst, 1) << roughly.difference;
    expected = std::move(halves->expected);
    tolerance = halves->tolerance;
  }
  const Comparison comparison = compare(outcome, expected, tolerance);
  RecordProperty("worst", fmt::format("{}", comparison.worst));
  EXPECT_LE(comparison.worst, 1) << comparison.difference;
}

TEST_P(EveryDevice, ReadsTheArena) {
  const Problem problem = one().problem();
  const Outcome outcome = compute_with(problem);
  const Outcome through_arena = compute_with(problem, 2, Inputs::in_arena);
  if (HasFailure()) return;
  EXPECT_EQ(bits_differ(through_arena, outcome, 0), "");
  EXPECT_EQ(through_arena.kv, outcome.kv);
}

TEST_P(EveryDevice, LeavesSpareRowsAlone) {
  const Problem problem = one().problem();
  const Outcome outcome = compute_with(problem);
  const Outcome in_larger_plan = compute_with(with_spare_rows(problem, 3));
  if (HasFailure()) return;
  EXPECT_EQ(bits_differ(in_larger_plan, outcome, 0), "");
  EXPECT_EQ(in_larger_plan.kv, outcome.kv);
}

TEST_P(EveryDevice, RowsDoNotDependOnOthers) {
  const Problem problem = one().problem();
  const std::uint32_t rows = live_rows(problem, problem.steps.back());
  const Outcome all = compute_with(problem);
  if (HasFailure()) return;
  std::set<std::pair<std::uint32_t, std::uint32_t>> parts;
  // Rows that see what the rows before them wrote only come with them.
  const std::set<std::uint32_t> starts = problem.steps.front().op->writes_state
                                             ? std::set<std::uint32_t>{0}
                                             : std::set<std::uint32_t>{0, rows / 2, rows - 1};
  for (const std::uint32_t first : starts)
    for (const std::uint32_t count : {1U, 5U})
      if (first + count <= rows && !problem.whole_sequences) parts.emplace(first, count);
  std::uint32_t begin = 0;
  if (problem.kv.size() > 1 || problem.whole_sequences)
    for (const KvMemory& sequence : problem.kv) {
      const std::uint32_t count = std::min(sequence.rows, rows);
      parts.emplace(begin, count);
      begin += count;
    }
  ASSERT_FALSE(parts.empty());
  for (const auto& [first, count] : parts) {
    const Outcome part = compute_with(slice(problem, first, count));
    if (HasFailure()) return;
    EXPECT_EQ(bits_differ(part, all, first), "") << count << " rows from " << first;
  }
}

class DeviceWithThreads : public EveryDevice {};

TEST_P(DeviceWithThreads, TablesInTheLayoutOfProductsAreRead) {
  const Problem problem = one().problem();
  if (problem.steps.back().op != &ops::embed) return;
  const Outcome outcome = compute_with(problem);
  const Outcome arranged = compute_with(problem, 2, Inputs::arranged);
  if (HasFailure()) return;
  const Comparison comparison = compare(arranged, outcome, exact);
  EXPECT_LE(comparison.worst, 1) << comparison.difference;
}

TEST_P(DeviceWithThreads, TheirNumberDoesNotMatter) {
  const Problem problem = one().problem();
  const Outcome outcome = compute_with(problem, 1);
  for (const unsigned threads : {2U, 3U, 4U}) {
    const Outcome other = compute_with(problem, threads);
    if (HasFailure()) return;
    EXPECT_EQ(bits_differ(other, outcome, 0), "") << threads << " threads";
    EXPECT_EQ(other.kv, outcome.kv) << threads << " threads";
  }
}

std::string name(const testing::TestParamInfo<Parameters>& tested) {
  return std::get<0>(tested.param).name + "_" + std::get<1>(tested.param).name;
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryDevice,
                         testing::Combine(testing::ValuesIn(device_kinds()),
                                          testing::ValuesIn(all_cases())),
                         name);

std::vector<DeviceKind> kinds_with_threads() {
  auto kinds = device_kinds();
  std::erase_if(kinds, [](const DeviceKind& kind) { return !kind.has_threads; });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Ops, DeviceWithThreads,
                         testing::Combine(testing::ValuesIn(kinds_with_threads()),
                                          testing::ValuesIn(all_cases())),
                         name);

TEST(Cases, EveryOpHasSome) {
  std::set<std::string_view> tested;
  std::set<std::string> names;
  for (const Case& one : all_cases()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name << " is there twice.";
    for (const Step& step : one.problem().steps) tested.insert(step.op->name);
  }
  for (const Op* op : ops::all()) EXPECT_TRUE(tested.contains(op->name)) << op->name;
}

}  // namespace

}  // namespace tacet::op_tests
