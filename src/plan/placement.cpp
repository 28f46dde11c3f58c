#include "plan/placement.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace tacet {

Graph take_layers(Graph graph, std::uint32_t first, std::uint32_t end) {
  if (end < graph.streams.size()) graph.output = graph.streams[end];
  if (first > 0) graph[graph.streams[first]].kind = ValueKind::stream;
  std::vector<bool> needed(graph.values.size());
  const auto is_needed = [&](ValueId id) {
    return needed[static_cast<std::size_t>(id)] && graph[id].kind != ValueKind::stream;
  };
  needed[static_cast<std::size_t>(graph.output)] = true;
  std::vector<Node> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, is_needed)) continue;
    for (const ValueId id : node->inputs) needed[static_cast<std::size_t>(id)] = true;
    nodes.push_back(std::move(*node));
  }
  std::ranges::reverse(nodes);
  graph.nodes = std::move(nodes);
  return graph;
}

std::uint64_t weight_bytes(const Graph& graph) {
  std::set<std::string_view> seen;
  std::uint64_t bytes = 0;
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.inputs) {
      const Value& value = graph[id];
      if (value.kind != ValueKind::weight || !seen.insert(value.name).second) continue;
      const auto width = static_cast<std::size_t>(value.type.shape.width());
      bytes +=
          static_cast<std::uint64_t>(value.type.shape.rows()) * row_bytes(value.type.dtype, width);
    }
  return bytes;
}

}  // namespace tacet
