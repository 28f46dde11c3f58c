// The references, which all kernels are compared with, on numbers that were worked out by hand, and
// the estimates of work.

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops.hpp"
#include "ops/problem.hpp"

namespace tacet::op_tests {

namespace {

Input constant(std::initializer_list<std::int64_t> dims, std::vector<float> values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {Input::Kind::constant, {DType::f32, dims}, {bytes.begin(), bytes.end()}};
}

Input rows(std::int64_t count, std::vector<float> values) {
  return rows_of(count, static_cast<std::int64_t>(values.size()) / count, values);
}

Input numbers(Input::Kind kind, std::vector<std::int32_t> values) {
  return indices(kind, values);
}

void expect(const Problem& problem, const std::vector<std::vector<double>>& outputs) {
  const Outcome outcome = reference(problem);
  ASSERT_EQ(outcome.outputs.size(), outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    ASSERT_EQ(outcome.outputs[o].size(), outputs[o].size());
    for (std::size_t i = 0; i < outputs[o].size(); ++i)
      EXPECT_NEAR(outcome.outputs[o][i], outputs[o][i], 1e-6) << "output " << o << ", " << i;
  }
}

const Input two_rows = rows(2, {1, 2, 3, 4});

TEST(Reference, Embed) {
  const Input table = constant({3, 2}, {1, 2, 3, 4, 5, 6});
  expect(
      {.steps = {{&ops::embed, {}, {table, numbers(Input::Kind::tokens, {1, -7, 99})}}}, .rows = 3},
      {{3, 4, 1, 2, 5, 6}});
}

TEST(Reference, Matmul) {
  const Input weight = constant({3, 2}, {1, 10, 100, 1000, 2, -1});
  expect({.steps = {{&ops::matmul, {}, {weight, two_rows}}}, .rows = 2},
         {{21, 2100, 0, 43, 4300, 2}});
  expect(
      {.steps = {{&ops::matmul, {}, {weight, two_rows, constant({3}, {0.5F, 1, 2})}}}, .rows = 2},
      {{21.5, 2101, 2, 43.5, 4301, 4}});
}

TEST(Reference, Matmul3) {
  const Step step{
      &ops::matmul3,
      {},
      {constant({1, 2}, {1, 0}), constant({2, 2}, {0, 1, 1, 1}), constant({1, 2}, {2, 2}), two_rows,
       constant({1}, {10}), constant({2}, {20, 30}), constant({1}, {40})}};
  expect({.steps = {step}, .rows = 2}, {{11, 13}, {22, 33, 24, 37}, {46, 54}});
}

TEST(Reference, AddAndMul) {
  expect({.steps = {{&ops::add, {}, {two_rows, rows(2, {5, 6, 7, 8})}}}, .rows = 2},
         {{6, 8, 10, 12}});
  expect({.steps = {{&ops::add, {}, {two_rows, constant({2}, {10, 20})}}}, .rows = 2},
         {{11, 22, 13, 24}});
  expect({.steps = {{&ops::mul, {}, {two_rows, rows(2, {5, 6, 7, 8})}}}, .rows = 2},
         {{5, 12, 21, 32}});
}

TEST(Reference, SiluAndUpGate) {
  expect({.steps = {{&ops::silu, {}, {rows(1, {1, -2, 0, -1000})}}}, .rows = 1},
         {{0.7310586, -0.2384058, 0, 0}});
  const Input gate = constant({1, 2}, {1, 0});
  const Input up = constant({1, 2}, {0, 5});
  expect({.steps = {{&ops::up_gate, {}, {gate, up, rows(1, {1, 3})}}}, .rows = 1},
         {{0.7310586 * 15}});
}

TEST(Reference, RmsNorm) {
  const Attributes whole(ops::NormAttributes{.epsilon = 0, .groups = 1});
  const Attributes halves(ops::NormAttributes{.epsilon = 3, .groups = 2});
  const double root = std::sqrt(12.5);
  expect({.steps = {{&ops::rms_norm, whole, {rows(1, {3, 4}), constant({2}, {1, 10})}}}, .rows = 1},
         {{3 / root, 40 / root}});
  // The mean squares are 1 and 13.
  expect({.steps = {{&ops::rms_norm, halves, {rows(1, {1, -1, 1, 5}), constant({2}, {1, 10})}}},
          .rows = 1},
         {{0.5, -5, 0.25, 12.5}});
  expect({.steps = {{&ops::add_rms_norm,
                     whole,
                     {rows(1, {1, 1}), rows(1, {2, 3}), constant({2}, {1, 10})}}},
          .rows = 1},
         {{3, 4}, {3 / root, 40 / root}});
}

TEST(Reference, RopeTable) {
  const Attributes attributes(ops::RopeTableAttributes{.base = 10000, .size = 4, .scale = 0.5F});
  const Input positions = numbers(Input::Kind::positions, {0, 6});
  // Of position 6: the angles 3 and 3 / 100.
  expect({.steps = {{&ops::rope_table, attributes, {positions}}}, .rows = 2},
         {{1, 1, 0, 0, std::cos(3.0), std::cos(0.03), std::sin(3.0), std::sin(0.03)}});
  expect({.steps = {{&ops::rope_table, attributes, {positions, constant({2}, {2, 3})}}}, .rows = 2},
         {{1, 1, 0, 0, std::cos(1.5), std::cos(0.01), std::sin(1.5), std::sin(0.01)}});
  // Of position 2 with YaRN: the first pair unscaled, the second halfway, the third scaled.
  const Attributes yarn(ops::RopeTableAttributes{
      .base = 1000, .size = 6, .scale = 0.5F, .low = 0, .high = 2, .magnitude = 2});
  const double angles[] = {2, 0.15, 0.01};
  std::vector<double> expected;
  for (const double angle : angles) expected.push_back(2 * std::cos(angle));
  for (const double angle : angles) expected.push_back(2 * std::sin(angle));
  expect({.steps = {{&ops::rope_table, yarn, {numbers(Input::Kind::positions, {2})}}}, .rows = 1},
         {expected});
}

TEST(Reference, Rope) {
  // A quarter turn of the first pair, a half turn of the second; two heads of five elements.
  const Input x = rows(1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Input table = rows(1, {0, -1, 1, 0});
  const Attributes halves(ops::RopeAttributes{.heads = 2, .interleaved = false});
  const Attributes interleaved(ops::RopeAttributes{.heads = 2, .interleaved = true});
  expect({.steps = {{&ops::rope, halves, {x, table}}}, .rows = 1},
         {{-3, -2, 1, -4, 5, -8, -7, 6, -9, 10}});
  expect({.steps = {{&ops::rope, interleaved, {x, table}}}, .rows = 1},
         {{-2, 1, -3, -4, 5, -7, 6, -8, -9, 10}});
  const Attributes normed(
      ops::NormRopeAttributes{.epsilon = 0, .rope = {.heads = 1, .interleaved = false}});
  const double root = std::sqrt(12.5);
  expect({.steps = {{&ops::norm_rope,
                     normed,
                     {rows(1, {3, 4}), constant({2}, {1, 10}), rows(1, {0, 1})}}},
          .rows = 1},
         {{-40 / root, 3 / root}});
}

TEST(Reference, SelectRows) {
  expect({.steps = {{&ops::select_rows,
                     {},
                     {two_rows, numbers(Input::Kind::output_rows, {1, -1, 2})}}},
          .rows = 2},
         {{3, 4, 1, 2, 3, 4}});
}

/// Two rows are written behind one that is there, and attended to by two heads each of one.
TEST(Reference, TopK) {
  const float nan = std::nanf("");
  const Attributes three(ops::TopKAttributes{3});
  expect({.steps = {{&ops::top_k, three, {rows(2, {1, 5, nan, 5, nan, -1, -3, -2})}}}, .rows = 2},
         {{5, 5, 1, 1, 3, 0, -1, -2, -3, 1, 3, 2}});
}

TEST(Reference, KvWriteAndAttention) {
  KvMemory kv({.heads = 1,
               .k_size = 1,
               .v_size = 2,
               .k_type = DType::f32,
               .v_type = DType::f16,
               .past = 0,
               .page_tokens = 2},
              3);
  const Input keys{Input::Kind::keys, kv.keys()};
  const Input values{Input::Kind::values, kv.values()};
  const Step first{&ops::kv_write, {}, {rows(1, {0}), rows(1, {1, 2}), keys, values}};
  kv.bytes = reference({.steps = {first}, .rows = 1, .kv = {kv}}).kv;
  kv.shape.past = 1;

  const Attributes attributes(ops::AttentionAttributes{.heads = 2, .scale = 0.5F, .max_keys = 3});
  const auto log9 = static_cast<float>(std::log(9.0));
  const Step second{
      &ops::kv_write, {}, {rows(2, {log9, 2 * log9}), rows(2, {5, 6, -3, 0}), keys, values}};
  const Step third{&ops::attention, attributes, {rows(2, {0, 1, 0, 1}), keys, values}};
  // Weights 1 : 1 and 1 : 3, then 1 : 1 : 1 and 1 : 3 : 9.
  expect({.steps = {second, third}, .rows = 2, .kv = {kv}},
         {{3, 4, 4, 5, 1, 8.0 / 3, -11.0 / 13, 20.0 / 13}});
}

TEST(Reference, AttentionSharesHeadsInTheirOrder) {
  const KvMemory kv({.heads = 2, .k_size = 1, .v_size = 1, .k_type = DType::f32}, 1);
  const Input keys{Input::Kind::keys, kv.keys()};
  const Input values{Input::Kind::values, kv.values()};
  const Attributes attributes(ops::AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 1});
  expect({.steps = {{&ops::kv_write, {}, {rows(1, {1, 2}), rows(1, {5, 7}), keys, values}},
                    {&ops::attention, attributes, {rows(1, {1, 2, 3, 4}), keys, values}}},
          .rows = 1,
          .kv = {kv}},
         {{5, 5, 7, 7}});
}

/// Cells with the keys 0, 1, 2, ... and as values the squares of their numbers; the run's rows come
/// last.
KvMemory counted(std::uint32_t cells, std::uint32_t rows_of_run) {
  KvMemory kv({.heads = 1, .k_size = 1, .v_size = 1, .k_type = DType::f32, .v_type = DType::f32},
              cells);
  std::vector<float> k, v;
  for (std::uint32_t i = 0; i < cells; ++i) {
    k.push_back(static_cast<float>(i));
    v.push_back(static_cast<float>(i * i));
  }
  const Step write{
      &ops::kv_write, {}, {rows(cells, k), rows(cells, v), kv.keys_input(), kv.values_input()}};
  kv.bytes = reference({.steps = {write}, .rows = cells, .kv = {kv}}).kv;
  kv.shape.past = cells - rows_of_run;
  return std::move(kv).of(rows_of_run);
}

Problem asked(const ops::AttentionAttributes& attributes, std::vector<float> q,
              std::vector<KvMemory> kv, const std::vector<Input>& sinks = {}) {
  const Input keys = kv[0].keys_input();
  const Input values = attributes.values_in_keys != 0 ? keys : kv[0].values_input();
  const auto count = static_cast<std::int64_t>(q.size()) / attributes.heads;
  Step step{&ops::attention, Attributes(attributes), {rows(count, std::move(q)), keys, values}};
  for (const Input& sink : sinks) step.inputs.push_back(sink);
  return {.steps = {step}, .rows = static_cast<std::uint32_t>(count), .kv = std::move(kv)};
}

/// The mean of the squares of `cells`, weighted with e^score.
double mean(std::initializer_list<std::pair<int, double>> cells, double more = 0) {
  double sum = 0, weights = more;
  for (const auto& [cell, score] : cells) {
    sum += std::exp(score) * cell * cell;
    weights += std::exp(score);
  }
  return sum / weights;
}

TEST(Reference, AttentionCapsScores) {
  const ops::AttentionAttributes capped{.heads = 1, .scale = 3, .max_keys = 3, .softcap = 2};
  expect(asked(capped, {1}, {counted(3, 1)}),
         {{mean({{0, 0}, {1, 2 * std::tanh(1.5)}, {2, 2 * std::tanh(3.0)}})}});
}

TEST(Reference, AttentionPrefersNearKeys) {
  // Slopes of three heads with a largest bias of 4: those of two, then the first of four.
  EXPECT_DOUBLE_EQ(ops::alibi_slope(4, 3, 0), 0.25);
  EXPECT_DOUBLE_EQ(ops::alibi_slope(4, 3, 1), 0.0625);
  EXPECT_DOUBLE_EQ(ops::alibi_slope(4, 3, 2), 0.5);
  EXPECT_DOUBLE_EQ(ops::alibi_slope(8, 8, 7), 1.0 / 256);
  EXPECT_DOUBLE_EQ(ops::alibi_slope(8, 12, 8), std::exp2(-0.5));
  EXPECT_DOUBLE_EQ(ops::alibi_slope(8, 12, 11), std::exp2(-3.5));
  ops::AttentionAttributes biased{.heads = 1, .scale = 0, .max_keys = 3, .max_bias = 1};
  KvMemory kv = counted(3, 2);
  kv.positions = {10, 11, 15};
  expect(asked(biased, {1, 1}, {kv}),
         {{mean({{0, -0.5}, {1, 0}}), mean({{0, -2.5}, {1, -2}, {2, 0}})}});
  biased.causal = false;
  expect(asked(biased, {1, 1}, {kv}),
         {{mean({{0, -0.5}, {1, 0}, {2, -2}}), mean({{0, -2.5}, {1, -2}, {2, 0}})}});
}

TEST(Reference, AttentionSeesItsWindow) {
  const ops::AttentionAttributes near{.heads = 1, .scale = 0, .max_keys = 5, .window = 2};
  expect(asked(near, {1, 1}, {counted(5, 2)}), {{(4 + 9) / 2.0, (9 + 16) / 2.0}});
  KvMemory kv = counted(5, 2);
  kv.positions = {0, 6, 6, 7, 9};
  expect(asked(near, {1, 1}, {kv}), {{(1 + 4 + 9) / 3.0, 16}});
}

TEST(Reference, AttentionWithSinks) {
  const ops::AttentionAttributes two{.heads = 2, .scale = 1, .max_keys = 3};
  expect(asked(two, {0, 1}, {counted(3, 1)}, {constant({2}, {std::log(2.0F), -1})}),
         {{mean({{0, 0}, {1, 0}, {2, 0}}, 2), mean({{0, 0}, {1, 1}, {2, 2}}, std::exp(-1.0))}});
}

TEST(Reference, AttentionOfSeveralSequences) {
  const ops::AttentionAttributes plain{.heads = 1, .scale = 0, .max_keys = 4};
  KvMemory none = counted(3, 1);
  none.has_cells = false;
  expect(asked(plain, {1, 1, 1, 1}, {counted(2, 1), none, counted(4, 2)}),
         {{0.5, 0, (0 + 1 + 4) / 3.0, (0 + 1 + 4 + 9) / 4.0}});
}

TEST(Reference, AttentionToValuesInKeys) {
  const ops::AttentionAttributes own{.heads = 1, .scale = 1, .max_keys = 2, .values_in_keys = 1};
  const KvMemory kv = counted(2, 1);
  expect(asked(own, {1}, {kv}), {{std::exp(1.0) / (1 + std::exp(1.0))}});
}

TEST(Work, OfAProduct) {
  const std::vector<ValueType> inputs{{DType::q8_0, {96, 64}}, {DType::f32, {8, 64}}};
  const std::vector<ValueType> outputs{{DType::f32, {8, 96}}};
  const Attributes none;
  const Work work = ops::matmul.work(
      {.op = &ops::matmul, .inputs = inputs, .outputs = outputs, .attributes = &none},
      {.rows = 3, .keys = 100});
  EXPECT_EQ(work.bytes, 96 * 68 + 3 * 64 * 4 + 3 * 96 * 4);
  EXPECT_EQ(work.operations, 2 * 3 * 96 * 64);
}

TEST(Work, OfAttentionGrowsWithKeys) {
  const std::vector<ValueType> inputs{
      {DType::f32, {8, 256}}, {DType::f16, {2, 64}}, {DType::q8_0, {2, 32}}};
  const std::vector<ValueType> outputs{{DType::f32, {8, 128}}};
  const Attributes attributes(ops::AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 100});
  const Work work = ops::attention.work(
      {.op = &ops::attention, .inputs = inputs, .outputs = outputs, .attributes = &attributes},
      {.rows = 2, .keys = 100});
  EXPECT_EQ(work.bytes, 2 * 256 * 4 + 2 * 128 * 4 + 100 * (2 * 64 * 2 + 2 * 34));
  EXPECT_EQ(work.operations, (99 + 100) * 4 * (2 * 64 + 2 * 32 + 12));
  const Attributes window(
      ops::AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 100, .window = 10});
  const Work near = ops::attention.work(
      {.op = &ops::attention, .inputs = inputs, .outputs = outputs, .attributes = &window},
      {.rows = 2, .keys = 100});
  EXPECT_EQ(near.bytes, 2 * 256 * 4 + 2 * 128 * 4 + 11 * (2 * 64 * 2 + 2 * 34));
  EXPECT_EQ(near.operations, (10 + 10) * 4 * (2 * 64 + 2 * 32 + 12));
}

}  // namespace

}  // namespace tacet::op_tests
