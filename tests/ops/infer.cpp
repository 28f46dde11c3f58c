// The shape rules: what they give, and what they say.

#include <gtest/gtest.h>

#include <cmath>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

using ops::AttentionAttributes;
using ops::NormAttributes;
using ops::NormRopeAttributes;
using ops::RopeAttributes;
using ops::RopeTableAttributes;
using ops::TopKAttributes;

ValueType f32(std::initializer_list<std::int64_t> dims) {
  return {DType::f32, dims};
}
ValueType i32(std::int64_t length) {
  return {DType::i32, {length}};
}

struct Wrong {
  const Op* op;
  std::vector<ValueType> inputs;
  Attributes attributes;
  std::string_view message;
};

const std::vector<Wrong>& wrong_nodes() {
  static const ValueType x = f32({5, 64});
  static const ValueType q8 = {DType::q8_0, {64, 64}};
  static const Attributes none;
  static const Attributes norm(NormAttributes{.epsilon = 1e-6F, .groups = 1});
  static const std::vector<Wrong> nodes{
      {&ops::embed, {q8}, none, "embed needs 2 inputs, not 1."},
      {&ops::embed,
       {i32(64), i32(5)},
       none,
       "embed needs a table of type f32, f16, bf16 or quantized [rows, width], not i32 [64]."},
      {&ops::embed, {q8, f32({5})}, none, "embed needs tokens of type i32 [length], not f32 [5]."},
      {&ops::matmul, {q8, x, f32({64}), x}, none, "matmul needs 2 to 3 inputs, not 4."},
      {&ops::matmul,
       {q8, f32({5, 96})},
       none,
       "matmul needs x of type f32 [rows, 64], not f32 [5, 96]."},
      {&ops::matmul,
       {q8, {DType::f16, {5, 64}}},
       none,
       "matmul needs x of type f32 [rows, 64], not f16 [5, 64]."},
      {&ops::matmul,
       {q8, x, f32({65})},
       none,
       "matmul needs a bias of type f32 [64], not f32 [65]."},
      {&ops::matmul,
       {{DType::q8_0, {64, 80}}, f32({5, 80})},
       none,
       "matmul needs a weight of type q8_0 with a width that is a multiple of 32, not q8_0 [64, "
       "80]."},
      {&ops::matmul,
       {f32({0, 64}), x},
       none,
       "matmul needs a weight of type f32, f16, bf16 or quantized [rows, width], not f32 [0, 64]."},
      {&ops::add, {x, f32({5, 65})}, none, "add needs b of type f32 [5, 64], not f32 [5, 65]."},
      {&ops::add, {x, f32({6, 64})}, none, "add needs b of type f32 [5, 64], not f32 [6, 64]."},
      {&ops::add, {x, f32({5})}, none, "add needs b of type f32 [64], not f32 [5]."},
      {&ops::mul, {x, f32({64})}, none, "mul needs b of type f32 [5, 64], not f32 [64]."},
      {&ops::silu,
       {f32({2, 5, 64})},
       none,
       "silu needs x of type f32 [rows, width], not f32 [2, 5, 64]."},
      {&ops::rms_norm,
       {x, f32({32})},
       norm,
       "rms_norm needs a weight of type f32 [64], not f32 [32]."},
      {&ops::rms_norm,
       {x, f32({64})},
       Attributes(NormAttributes{.epsilon = 0, .groups = 3}),
       "rms_norm needs groups that divide the width 64, not 3."},
      {&ops::rms_norm,
       {x, f32({64})},
       Attributes(NormAttributes{.epsilon = 0, .groups = 0}),
       "rms_norm needs groups that divide the width 64, not 0."},
      {&ops::rms_norm,
       {x, f32({64})},
       Attributes(NormAttributes{.epsilon = -1, .groups = 1}),
       "rms_norm needs an epsilon of at least 0, not -1."},
      {&ops::rms_norm,
       {x, f32({64})},
       Attributes(NormAttributes{.epsilon = std::nanf(""), .groups = 1}),
       "rms_norm needs an epsilon of at least 0, not nan."},
      {&ops::rope_table,
       {i32(5)},
       Attributes(RopeTableAttributes{1e4F, 63, 1}),
       "rope_table needs an even size above 0, not 63."},
      {&ops::rope_table,
       {i32(5)},
       Attributes(RopeTableAttributes{0, 64, 1}),
       "rope_table needs a base above 0, not 0."},
      {&ops::rope_table,
       {i32(5)},
       Attributes(RopeTableAttributes{1e4F, 64, std::nanf("")}),
       "rope_table needs a finite scale, not nan."},
      {&ops::rope_table,
       {i32(5)},
       Attributes(RopeTableAttributes{1e4F, 64, 1, 0, std::nanf(""), 1}),
       "rope_table needs finite bounds and a finite magnitude, not 0, nan, 1."},
      {&ops::rope_table,
       {i32(5), f32({64})},
       Attributes(RopeTableAttributes{1e4F, 64, 1}),
       "rope_table needs factors of type f32 [32], not f32 [64]."},
      {&ops::rope,
       {x, f32({5, 32})},
       Attributes(RopeAttributes{3, false}),
       "rope needs heads that divide the width 64, not 3."},
      {&ops::rope,
       {x, f32({5, 32})},
       Attributes(RopeAttributes{0, false}),
       "rope needs heads that divide the width 64, not 0."},
      {&ops::rope,
       {x, f32({4, 32})},
       Attributes(RopeAttributes{2, false}),
       "rope needs a table of type f32 [5, width], not f32 [4, 32]."},
      {&ops::rope,
       {x, f32({5, 34})},
       Attributes(RopeAttributes{2, false}),
       "rope needs a table of even width up to a head's, not 34 for 2 heads in 64."},
      {&ops::rope,
       {x, f32({5, 31})},
       Attributes(RopeAttributes{2, false}),
       "rope needs a table of even width up to a head's, not 31 for 2 heads in 64."},
      {&ops::kv_write,
       {x, x, f32({2, 32}), f32({1, 64})},
       none,
       "kv_write needs values of type f32, f16, bf16 or quantized [2, width], not f32 [1, 64]."},
      {&ops::kv_write,
       {x, x, f32({2, 64}), f32({2, 32})},
       none,
       "kv_write needs k of type f32 [rows, 128], not f32 [5, 64]."},
      {&ops::kv_write,
       {x, f32({6, 64}), f32({2, 32}), f32({2, 32})},
       none,
       "kv_write needs v of type f32 [5, 64], not f32 [6, 64]."},
      {&ops::kv_write,
       {f32({5, 80}), f32({5, 80}), {DType::q8_0, {1, 80}}, f32({1, 80})},
       none,
       "kv_write needs keys of type q8_0 with a width that is a multiple of 32, not q8_0 [1, 80]."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(AttentionAttributes{3, 1, 9}),
       "attention needs heads that are a multiple of the 2 heads of the keys, not 3."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(AttentionAttributes{2, 1, 9}),
       "attention needs q of type f32 [rows, 32], not f32 [5, 64]."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(AttentionAttributes{4, 1, 0}),
       "attention needs at least 1 as the most keys, not 0."},
      {&ops::attention,
       {x, f32({2, 16}), f32({4, 16})},
       Attributes(AttentionAttributes{4, 1, 9}),
       "attention needs values of type f32, f16, bf16 or quantized [2, width], not f32 [4, 16]."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 9, .softcap = -1}),
       "attention needs a softcap of at least 0, not -1."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(
           AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 9, .max_bias = std::nanf("")}),
       "attention needs a largest bias of at least 0, not nan."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 9, .window = -1}),
       "attention needs a window of at least 0, not -1."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16})},
       Attributes(AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 9, .values_in_keys = 17}),
       "attention needs 1 to 16 elements of a key as values, not 17."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 8})},
       Attributes(AttentionAttributes{.heads = 4, .scale = 1, .max_keys = 9, .values_in_keys = 8}),
       "attention needs the keys as values."},
      {&ops::attention,
       {x, f32({2, 16}), f32({2, 16}), f32({3})},
       Attributes(AttentionAttributes{4, 1, 9}),
       "attention needs sinks of type f32 [4], not f32 [3]."},
      {&ops::kv_write, {x, x, f32({2, 32})}, none, "kv_write needs values where it has v."},
      {&ops::kv_write,
       {x, f32({2, 16})},
       none,
       "kv_write needs k of type f32 [rows, 32], not f32 [5, 64]."},
      {&ops::select_rows,
       {x, f32({3})},
       none,
       "select_rows needs rows of type i32 [length], not f32 [3]."},
      {&ops::top_k,
       {x},
       Attributes(TopKAttributes{65}),
       "top_k needs k of 1 to 128, at most the width 64, not 65."},
      {&ops::top_k,
       {f32({1, 200})},
       Attributes(TopKAttributes{129}),
       "top_k needs k of 1 to 128, at most the width 200, not 129."},
      {&ops::top_k,
       {f32({1, 200})},
       Attributes(TopKAttributes{0}),
       "top_k needs k of 1 to 128, at most the width 200, not 0."},
      {&ops::top_k,
       {f32({1, (1 << 20) + 1})},
       Attributes(TopKAttributes{1}),
       "top_k needs rows of at most 1048576, not 1048577."},
      {&ops::add_rms_norm,
       {x, x, f32({63})},
       norm,
       "add_rms_norm needs a weight of type f32 [64], not f32 [63]."},
      {&ops::add_rms_norm,
       {x, x, f32({64})},
       Attributes(NormAttributes{.epsilon = 0, .groups = 2}),
       "add_rms_norm needs 1 group, not 2."},
      {&ops::norm_rope,
       {x, f32({64}), f32({5, 32})},
       Attributes(NormRopeAttributes{1e-6F, {2, false}}),
       "norm_rope needs a weight of type f32 [32], not f32 [64]."},
      {&ops::norm_rope,
       {x, f32({32}), f32({5, 64})},
       Attributes(NormRopeAttributes{1e-6F, {2, false}}),
       "norm_rope needs a table of even width up to a head's, not 64 for 2 heads in 64."},
      {&ops::matmul3, {q8, q8, q8, x, f32({64})}, none, "matmul3 needs no bias or three."},
      {&ops::matmul3,
       {q8, q8, f32({64, 32}), x},
       none,
       "matmul3 needs a third weight of type f32, f16, bf16 or quantized [rows, 64], not f32 [64, "
       "32]."},
      {&ops::matmul3,
       {q8, q8, q8, x, f32({64}), f32({1}), f32({64})},
       none,
       "matmul3 needs a second bias of type f32 [64], not f32 [1]."},
      {&ops::up_gate,
       {q8, f32({65, 64}), x},
       none,
       "up_gate needs an up weight of type f32, f16, bf16 or quantized [64, 64], not f32 [65, "
       "64]."},
  };
  return nodes;
}

TEST(Infer, SaysWhatDoesNotFit) {
  for (const Wrong& wrong : wrong_nodes()) {
    const auto types = wrong.op->infer(wrong.inputs, wrong.attributes);
    ASSERT_FALSE(types) << wrong.message;
    EXPECT_EQ(types.error().message(), wrong.message);
    EXPECT_EQ(types.error().code(), Code::invalid_argument);
  }
}

TEST(Infer, EachRuleHasAnError) {
  for (const Op* op : ops::all()) {
    const auto& nodes = wrong_nodes();
    EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [&](const auto& w) { return w.op == op; }))
        << op->name;
  }
}

std::vector<ValueType> inferred(const Op& op, std::vector<ValueType> inputs,
                                const Attributes& attributes = {}) {
  const auto types = op.infer(inputs, attributes);
  EXPECT_TRUE(types) << types.error().message();
  return types ? *types : std::vector<ValueType>();
}

TEST(Infer, GivesTheTypesOfOutputs) {
  using Types = std::vector<ValueType>;
  const ValueType q8{DType::q8_0, {96, 64}};
  const ValueType keys{DType::f16, {2, 16}};
  const ValueType values{DType::q8_0, {2, 32}};
  const ValueType x = f32({5, 64});
  EXPECT_EQ(inferred(ops::embed, {q8, i32(7)}), Types{f32({7, 64})});
  EXPECT_EQ(inferred(ops::matmul, {q8, x, f32({96})}), Types{f32({5, 96})});
  EXPECT_EQ(inferred(ops::add, {x, f32({64})}), Types{x});
  EXPECT_EQ(inferred(ops::rope_table, {i32(3)}, Attributes(RopeTableAttributes{1e4F, 10, 1})),
            Types{f32({3, 10})});
  EXPECT_EQ(inferred(ops::kv_write, {f32({5, 32}), x, keys, values}), (Types{keys, values}));
  EXPECT_EQ(inferred(ops::kv_write, {f32({5, 32}), keys}), Types{keys});
  EXPECT_EQ(inferred(ops::attention, {x, keys, keys},
                     Attributes(AttentionAttributes{
                         .heads = 4, .scale = 1, .max_keys = 9, .values_in_keys = 10})),
            Types{f32({5, 40})});
  EXPECT_EQ(inferred(ops::attention, {x, keys, values}, Attributes(AttentionAttributes{4, 1, 9})),
            Types{f32({5, 128})});
  EXPECT_EQ(inferred(ops::select_rows, {x, i32(2)}), Types{f32({2, 64})});
  EXPECT_EQ(inferred(ops::top_k, {x}, Attributes(TopKAttributes{7})), Types{f32({5, 14})});
  EXPECT_EQ(inferred(ops::matmul3, {q8, f32({7, 64}), f32({8, 64}), x}),
            (Types{f32({5, 96}), f32({5, 7}), f32({5, 8})}));
  EXPECT_EQ(inferred(ops::up_gate, {q8, q8, x}), Types{f32({5, 96})});
}

TEST(Infer, NeedsEveryInputOfEveryCase) {
  for (const Case& one : all_cases()) {
    const Problem problem = one.problem();
    for (const Step& step : problem.steps) {
      const auto types = input_types(step);
      EXPECT_TRUE(step.op->infer(types, step.attributes)) << one.name;
      EXPECT_FALSE(step.op->infer({}, step.attributes)) << one.name;
      for (std::size_t i = 0; i < types.size(); ++i) {
        auto wrong = types;
        wrong[i].dtype = types[i].dtype == DType::i32 ? DType::f32 : DType::i32;
        EXPECT_FALSE(step.op->infer(wrong, step.attributes)) << one.name << ", input " << i;
        wrong[i] = {types[i].dtype, {}};
        EXPECT_FALSE(step.op->infer(wrong, step.attributes)) << one.name << ", input " << i;
      }
    }
  }
}

}  // namespace

}  // namespace tacet::op_tests
