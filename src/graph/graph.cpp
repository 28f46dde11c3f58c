#include "graph/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tacet {

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims(), ", "));
}

NodeTypes::NodeTypes(const Graph& graph, const Node& node)
    : op_(node.op), attributes_(node.attributes) {
  inputs_.reserve(node.inputs.size());
  outputs_.reserve(node.outputs.size());
  for (const ValueId id : node.inputs) inputs_.push_back(graph[id].type);
  for (const ValueId id : node.outputs) outputs_.push_back(graph[id].type);
}

Result<void> verify(const Graph& graph) {
  std::vector<bool> made(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    made[i] = graph.values[i].kind != ValueKind::intermediate;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (static_cast<std::size_t>(id) >= graph.values.size())
        return fail(Code::internal, "{}: an input does not exist.", node.name);
      if (!made[static_cast<std::size_t>(id)])
        return fail(Code::internal, "{}: {} is used before it is made.", node.name, graph[id].name);
    }
    const NodeTypes types(graph, node);
    const auto inferred = node.op->infer(types.view().inputs, node.attributes);
    if (!inferred)
      return fail(inferred.error().code(), "{}: {}", node.name, inferred.error().message());
    if (inferred->size() != node.outputs.size())
      return fail(Code::internal, "{}: {} outputs, {} has {}.", node.name, node.outputs.size(),
                  node.op->name, inferred->size());
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!((*inferred)[i] == graph[node.outputs[i]].type))
        return fail(Code::internal, "{}: output {} should be {} {}.", node.name, i,
                    name((*inferred)[i].dtype), to_string((*inferred)[i].shape));
      if (graph[node.outputs[i]].kind == ValueKind::intermediate &&
          made[static_cast<std::size_t>(node.outputs[i])])
        return fail(Code::internal, "{}: {} is made twice.", node.name,
                    graph[node.outputs[i]].name);
      made[static_cast<std::size_t>(node.outputs[i])] = true;
    }
  }
  if (static_cast<std::size_t>(graph.output) >= graph.values.size() ||
      !made[static_cast<std::size_t>(graph.output)])
    return fail(Code::internal, "The graph has no output.");
  return {};
}

std::string print(const Graph& graph) {
  std::string text = fmt::format("graph of {} rows, {} outputs\n", graph.rows, graph.outputs);
  const auto list = [&](const std::vector<ValueId>& ids) {
    std::string line;
    for (const ValueId id : ids)
      line += fmt::format("{}{} {}{}", line.empty() ? "" : ", ", graph[id].name,
                          name(graph[id].type.dtype), to_string(graph[id].type.shape));
    return line;
  };
  for (const Node& node : graph.nodes)
    text += fmt::format("{} = {}({})\n", list(node.outputs), node.op->name, list(node.inputs));
  return text;
}

}  // namespace tacet
