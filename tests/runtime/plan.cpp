#include <algorithm>

#include "ops/ops.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

/// The graph of tiny-chat for `rows` rows.
struct TinyGraph {
  explicit TinyGraph(std::uint32_t rows) {
    file = std::move(FileBytes::load(model_path("tiny-chat-Q8_0.gguf")).value());
    const Gguf gguf = read_gguf(file.bytes()).value();
    const Architecture* architecture = architecture_of(gguf).value();
    weights = std::move(Weights::read(gguf).value());
    graph = architecture
                ->build(architecture->configure(gguf).value(), weights,
                        {.rows = rows, .outputs = 1, .max_keys = 64})
                .value();
  }
  FileBytes file;
  Weights weights;
  Graph graph;
};

int count(const Graph& graph, const Op& op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == &op; }));
}

TEST(Plan, FusesWhatTheDeviceHasKernelsFor) {
  auto device = std::move(make_fake_device().value());
  const auto plan = std::move(make_plan(TinyGraph(4).graph, *device).value());
  EXPECT_EQ(count(plan->graph, ops::matmul3), 4);
  EXPECT_EQ(count(plan->graph, ops::up_gate), 4);
  EXPECT_EQ(count(plan->graph, ops::norm_rope), 8);
  EXPECT_EQ(count(plan->graph, ops::add_rms_norm), 8);
  EXPECT_EQ(count(plan->graph, ops::silu), 0);
  EXPECT_EQ(count(plan->graph, ops::rope), 0);
  EXPECT_TRUE(plan->notes.empty());
}

TEST(Plan, FusesNothingThatTheDeviceLacks) {
  FakeOptions options;
  for (const Op* op : ops::fused()) options.lacks.insert(std::string(op->name));
  auto device = std::move(make_fake_device(options).value());
  const auto plan = std::move(make_plan(TinyGraph(4).graph, *device).value());
  for (const Op* op : ops::fused()) EXPECT_EQ(count(plan->graph, *op), 0) << op->name;
  EXPECT_TRUE(plan->notes.empty()) << "nothing was asked for that is not there";
}

/// A graph that asks for a fused op by name, as a model may.
Result<Graph> graph_of(const Op& op) {
  static const std::vector<float> data(4096, 0.25F);
  const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
  GraphBuilder graph(2, 2);
  const auto weight = [&](Shape shape) { return graph.weight("w", {DType::f32, shape}, bytes); };
  const ValueId x = weight({2, 32});
  ValueId y = ValueId::none;
  if (&op == &ops::add_rms_norm) {
    const ValueId inputs[] = {x, x, weight({32})};
    const auto made = graph.add_all(op, "n", inputs, Attributes(ops::NormAttributes{1e-5F, 1}));
    if (made.size() == 2) y = graph.add(ops::add, "sum", {made[0], made[1]});
  } else if (&op == &ops::norm_rope) {
    const ValueId table = graph.add(ops::rope_table, "t", {graph.positions()},
                                    Attributes(ops::RopeTableAttributes{10000, 16, 1}));
    y = graph.add(op, "n", {x, weight({16}), table},
                  Attributes(ops::NormRopeAttributes{1e-5F, {2, false}}));
  } else if (&op == &ops::matmul3) {
    const ValueId inputs[] = {weight({32, 32}), weight({32, 32}), weight({32, 32}), x};
    const auto made = graph.add_all(op, "n", inputs);
    if (made.size() == 3)
      y = graph.add(ops::add, "sum", {graph.add(ops::mul, "m", {made[0], made[1]}), made[2]});
  } else if (&op == &ops::up_gate) {
    y = graph.add(op, "n", {weight({32, 32}), weight({32, 32}), x});
  }
  return graph.finish(y);
}

/// A plan of `graph` whose weights are brought to the device, with what holds them.
struct Brought {
  std::vector<std::unique_ptr<Buffer>> weights;
  std::unique_ptr<Plan> plan;
};
Brought bring(Graph graph, Device& device) {
  Brought brought;
  for (Value& value : graph.values) {
    if (value.kind != ValueKind::weight) continue;
    brought.weights.push_back(device.arrange(value.type, value.data, Layout::rows).value());
    value.data = brought.weights.back()->data();
  }
  brought.plan = make_plan(std::move(graph), device).value();
  return brought;
}

std::vector<float> run(Device& device, const Plan& plan) {
  std::vector<float> output(64);
  const std::vector<std::int32_t> positions = {3, 4};
  const std::vector<std::int32_t> rows = {0, 1};
  RunArgs args{.rows = 2,
               .tokens = positions,
               .positions = positions,
               .output_rows = rows,
               .kv = {},
               .logits = output.data()};
  RunHandle handle(
      device.queue(),
      *device.queue()
           .submit({.tape = plan.tape.get(), .args = args, .token = {}, .chain = nullptr})
           .value());
  EXPECT_EQ(handle.wait().status, RunStatus::done);
  return output;
}

TEST(Plan, EveryFusedOpDecomposesWhereItsRowIsMissing) {
  auto whole = std::move(make_fake_device().value());
  for (const Op* op : ops::fused()) {
    auto graph = graph_of(*op);
    ASSERT_TRUE(graph) << op->name
                       << ": the test builds no graph for it: " << graph.error().message();
    auto lacking =
        std::move(make_fake_device({.name = "poor", .lacks = {std::string(op->name)}}).value());
    const Brought first = bring(*graph, *whole), second = bring(*graph, *lacking);
    const auto& expected = first.plan;
    const auto& plan = second.plan;
    EXPECT_EQ(count(expected->graph, *op), 1) << op->name;
    EXPECT_EQ(count(plan->graph, *op), 0) << op->name;
    ASSERT_EQ(plan->notes.size(), 1U) << op->name;
    EXPECT_EQ(plan->notes[0].op, op);
    EXPECT_NE(plan->notes[0].sentence.find("poor has no kernel for " + std::string(op->name)),
              std::string::npos);
    EXPECT_NE(plan->notes[0].sentence.find(op->parts), std::string::npos);
    const auto a = run(*whole, *expected);
    const auto b = run(*lacking, *plan);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << op->name;
  }
}

TEST(Plan, AnOpThatHasNowhereToGoIsAnErrorThatNamesIt) {
  for (const Op* op : ops::all()) {
    if (op->decompose != nullptr || op == &ops::mul || op == &ops::silu || op == &ops::add ||
        op == &ops::rope)
      continue;
    auto device =
        std::move(make_fake_device({.name = "poor", .lacks = {std::string(op->name)}}).value());
    const TinyGraph tiny(1);
    if (count(tiny.graph, *op) == 0) continue;
    FakeOptions options{.name = "poor", .lacks = {std::string(op->name)}};
    for (const Op* fused : ops::fused()) options.lacks.insert(std::string(fused->name));
    auto poorest = std::move(make_fake_device(options).value());
    const auto plan = make_plan(tiny.graph, *poorest);
    ASSERT_FALSE(plan) << op->name;
    EXPECT_EQ(plan.error().code(), Code::unsupported);
    const std::string message(plan.error().message());
    EXPECT_NE(message.find("the op " + std::string(op->name) + " ("), std::string::npos) << message;
    EXPECT_NE(message.find("poor has no kernel"), std::string::npos) << message;
    EXPECT_NE(message.find("choose another device"), std::string::npos) << message;
  }
}

TEST(Plan, AModelOnAPoorDeviceSaysSoOnceAndAnswersTheSame) {
  std::vector<std::string> lines;
  const auto log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::info) lines.emplace_back(line);
  };
  const FakeModel rich;
  const FakeModel poor(
      {.name = "poor", .lacks = {"matmul3", "up_gate", "norm_rope", "add_rms_norm"}}, log);
  EXPECT_TRUE(lines.empty()) << "fusions are tried, not asked for";
  const std::vector<Token> prompt = {1022, 291, 198};
  auto a = new_session(rich.model);
  auto b = new_session(poor.model);
  ASSERT_TRUE(a->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(b->evaluate(prompt, {}, {}).done());
  for (std::size_t i = 0; i < a->logits().size(); ++i)
    ASSERT_NEAR(a->logits()[i], b->logits()[i], 1e-2);
  EXPECT_GT(poor.device->steps_executed(), rich.device->steps_executed());
}

TEST(Plan, ADeviceWithoutAnOpRefusesTheModelAtLoad) {
  auto device = std::move(make_fake_device({.name = "poor", .lacks = {"attention"}}).value());
  const auto model = try_load(std::move(device), model_path("tiny-chat-Q8_0.gguf"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), Code::unsupported);
}

TEST(Plan, MemoryIsReusedAndNeverSharedAtOnce) {
  auto device = std::move(make_fake_device().value());
  const auto plan = std::move(make_plan(TinyGraph(8).graph, *device).value());
  std::size_t sum = 0;
  for (const Node& node : plan->graph.nodes)
    for (const ValueId id : node.outputs)
      sum += static_cast<std::size_t>(plan->graph[id].type.shape.elements()) * sizeof(float);
  EXPECT_LT(plan->arena_bytes, sum / 4);
}

}  // namespace
}  // namespace tacet
