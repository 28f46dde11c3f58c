#include "plan/decomposition.hpp"

#include <set>

#include "graph/builder.hpp"

namespace tacet {

namespace {

std::string describe(const NodeView& view) {
  std::string text;
  for (const ValueType& type : view.inputs)
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", name(type.dtype), to_string(type.shape));
  return text;
}

}  // namespace

Result<void> decompose(Graph& graph, const Device& device, std::vector<PlanNote>& notes) {
  std::set<const Op*> said;
  for (std::size_t at = 0; at < graph.nodes.size();) {
    const NodeTypes types(graph, graph.nodes[at]);
    if (device.find(types.view()) != nullptr) {
      ++at;
      continue;
    }
    const Op& op = *graph.nodes[at].op;
    const std::string& device_name = device.info().name;
    if (op.decompose == nullptr)
      return fail(Code::unsupported,
                  "{} needs the op {} ({}), for which {} has no kernel; choose another device, or "
                  "a file with another "
                  "type of weights.",
                  graph.nodes[at].name, op.name, describe(types.view()), device_name);
    if (said.insert(&op).second)
      notes.push_back({&op, fmt::format("{} has no kernel for {} ({}): it runs as {}.", device_name,
                                        op.name, describe(types.view()), op.parts)});
    Rewriter rewriter(graph, graph.nodes[at]);
    op.decompose(rewriter);
    auto nodes = rewriter.take();
    if (!nodes) return fail(std::move(nodes));
    // The parts take the node's place and are looked at next: they may be fused ops themselves.
    const auto place = graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at));
    graph.nodes.insert(place, std::make_move_iterator(nodes->begin()),
                       std::make_move_iterator(nodes->end()));
  }
  return {};
}

}  // namespace tacet
