// A fused op and what it decomposes into compute the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph/builder.hpp"
#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

bool is_fused(const Op* op) {
  const auto fused = ops::fused();
  return std::find(fused.begin(), fused.end(), op) != fused.end();
}

std::vector<Case> fused_cases() {
  auto cases = all_cases();
  std::erase_if(cases, [](const Case& one) { return !is_fused(one.problem().steps.front().op); });
  return cases;
}

/// The graph of one step whose inputs are weights.
Graph graph_of(const Step& step, std::uint32_t rows) {
  GraphBuilder builder(rows, rows);
  std::vector<ValueId> inputs;
  for (const Input& input : step.inputs)
    inputs.push_back(builder.weight("input", input.type, input.bytes.data()));
  const auto outputs = builder.add_all(*step.op, "fused", inputs, step.attributes);
  auto graph = builder.finish(outputs.empty() ? ValueId::none : outputs.back());
  EXPECT_TRUE(graph) << graph.error().message();
  return graph ? std::move(*graph) : Graph();
}

/// Computes `graph` node by node with the references; the outputs of `fused` are the outcome.
Outcome interpret(const Graph& graph, const Node& fused) {
  std::map<ValueId, std::vector<float>> computed;
  for (const Node& node : graph.nodes) {
    std::vector<HostTensor> inputs;
    for (const ValueId id : node.inputs)
      inputs.push_back({graph[id].type, graph[id].data != nullptr
                                            ? static_cast<const void*>(graph[id].data)
                                            : computed.at(id).data()});
    std::vector<std::span<float>> outputs;
    for (const ValueId id : node.outputs) {
      auto& values = computed[id];
      values.resize(static_cast<std::size_t>(graph[id].type.shape.elements()));
      outputs.emplace_back(values);
    }
    node.op->reference({.attributes = node.attributes,
                        .inputs = inputs,
                        .outputs = outputs,
                        .rows = graph.rows,
                        .kv = nullptr});
  }
  Outcome outcome;
  for (const ValueId id : fused.outputs) {
    outcome.outputs.push_back(computed.at(id));
    outcome.widths.push_back(static_cast<std::size_t>(graph[id].type.shape.width()));
  }
  return outcome;
}

class Decomposition : public testing::TestWithParam<Case> {};

TEST_P(Decomposition, ComputesTheSame) {
  const Problem problem = GetParam().problem();
  Graph graph = graph_of(problem.steps.front(), problem.rows);
  ASSERT_FALSE(graph.nodes.empty());
  const Node fused = graph.nodes.front();

  Rewriter rewriter(graph, fused);
  fused.op->decompose(rewriter);
  auto nodes = rewriter.take();
  ASSERT_TRUE(nodes) << nodes.error().message();
  graph.nodes = *nodes;
  const auto verified = verify(graph);
  ASSERT_TRUE(verified) << verified.error().message();
  for (const Node& node : graph.nodes) EXPECT_FALSE(is_fused(node.op)) << node.op->name;

  // Intermediate values are rounded to f32, which the fused reference does not do.
  const Comparison comparison =
      compare(interpret(graph, fused), reference(problem), {.of_row = 1e-6, .of_element = 1e-6});
  EXPECT_LE(comparison.worst, 1) << comparison.difference;
}

INSTANTIATE_TEST_SUITE_P(Ops, Decomposition, testing::ValuesIn(fused_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(Registry, OnlyFusedOpsHaveParts) {
  for (const Op* op : ops::all()) {
    EXPECT_EQ(op->decompose != nullptr, is_fused(op)) << op->name;
    EXPECT_EQ(!op->parts.empty(), is_fused(op)) << op->name;
  }
}

TEST(Registry, NamesDiffer) {
  std::map<std::string_view, const Op*> names;
  for (const Op* op : ops::all()) EXPECT_TRUE(names.emplace(op->name, op).second) << op->name;
  EXPECT_EQ(ops::all().size(), 16U);
  EXPECT_EQ(ops::fused().size(), 4U);
}

}  // namespace

}  // namespace tacet::op_tests
