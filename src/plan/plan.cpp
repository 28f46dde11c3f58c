#include "plan/plan.hpp"

#include "backends/conductor.hpp"
#include "ops/ops.hpp"
#include "plan/decomposition.hpp"
#include "plan/fusion.hpp"
#include "plan/memory_layout.hpp"

namespace tacet {

namespace {

/// Which values have a row for each output row instead of each row of the run.
std::vector<bool> selected_values(const Graph& graph) {
  std::vector<bool> selected(graph.values.size());
  for (const Node& node : graph.nodes) {
    bool any = node.op == &ops::select_rows;
    for (const ValueId id : node.inputs) any = any || selected[static_cast<std::size_t>(id)];
    for (const ValueId id : node.outputs) selected[static_cast<std::size_t>(id)] = any;
  }
  return selected;
}

/// Weights are put into the layout of their kernels when a model is loaded; that of another kernel
/// would be read as garbage.
Result<void> check_layouts(const Graph& graph, const Node& node, const Kernel& kernel) {
  if (!kernel.layout) return {};
  for (const ValueId id : node.inputs) {
    const Value& value = graph[id];
    if (value.kind == ValueKind::weight && value.type.shape.rank() == 2 &&
        value.type.layout != *kernel.layout)
      return fail(Code::internal, "{} does not lie as the kernel {} reads it.", value.name,
                  kernel.name);
  }
  return {};
}

Result<std::unique_ptr<Tape>> compile(const Plan& plan, Device& device,
                                      const MemoryLayout& layout) {
  const Graph& graph = plan.graph;
  const std::vector<bool> selected = selected_values(graph);
  std::vector<NodeTypes> types;
  std::vector<std::vector<Ref>> inputs(graph.nodes.size());
  std::vector<std::vector<Ref>> outputs(graph.nodes.size());
  std::vector<PlacedNode> placed;
  types.reserve(graph.nodes.size());
  placed.reserve(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    types.emplace_back(graph, node);
    for (const ValueId id : node.inputs)
      inputs[i].push_back(layout.values[static_cast<std::size_t>(id)]);
    for (const ValueId id : node.outputs)
      outputs[i].push_back(layout.values[static_cast<std::size_t>(id)]);
    placed.push_back({.kernel = plan.kernels[i],
                      .view = types.back().view(),
                      .inputs = inputs[i],
                      .outputs = outputs[i],
                      .workspace = layout.workspaces[i],
                      .selected = selected[static_cast<std::size_t>(node.outputs.front())],
                      .name = node.name});
  }
  return device.lower({.nodes = placed, .arena_bytes = layout.arena_bytes, .rows = graph.rows});
}

}  // namespace

Result<std::unique_ptr<Plan>> make_plan(Graph graph, Device& device, const StopToken& stop) {
  const auto stopped = [] { return fail(Code::stopped, "The planning was stopped."); };
  auto plan = std::make_unique<Plan>();
  plan->graph = std::move(graph);
  plan->device = device.info().name;
  if (stop.stop_requested()) return stopped();
  fuse(plan->graph, device);
  if (stop.stop_requested()) return stopped();
  if (auto decomposed = decompose(plan->graph, device, plan->notes); !decomposed)
    return fail(std::move(decomposed));
  if (auto verified = verify(plan->graph); !verified) return fail(std::move(verified));
  for (const Node& node : plan->graph.nodes) {
    const NodeTypes types(plan->graph, node);
    const Kernel* kernel = device.find(types.view());
    if (auto checked = check_layouts(plan->graph, node, *kernel); !checked)
      return fail(std::move(checked));
    plan->kernels.push_back(kernel);
  }
  if (stop.stop_requested()) return stopped();
  const MemoryLayout layout = lay_out(plan->graph, plan->kernels, device.info().overlap);
  plan->arena_bytes = layout.arena_bytes;
  if (stop.stop_requested()) return stopped();
  auto tape = compile(*plan, device, layout);
  if (!tape) return fail(std::move(tape));
  plan->tape = std::move(*tape);
  return plan;
}

std::unique_ptr<Plan> join_plans(std::unique_ptr<Plan> lower, std::unique_ptr<Plan> upper) {
  const Shape& stream = lower->graph[lower->graph.output].type.shape;
  upper->tape =
      std::make_unique<SplitTape>(std::move(lower->tape), std::move(upper->tape), lower->graph.rows,
                                  static_cast<std::size_t>(stream.width()));
  upper->lower = std::move(lower);
  return upper;
}

}  // namespace tacet
