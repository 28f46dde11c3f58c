#include "plan/fusion.hpp"

#include <algorithm>

#include "ops/ops.hpp"

namespace tacet {

namespace {

/// A group of nodes and the one that would take their place.
struct Candidate {
  std::vector<std::size_t> nodes;  ///< ascending
  Node fused;
};

/// The graph as the patterns see it: who makes a value, and who uses it.
class Uses {
 public:
  explicit Uses(const Graph& graph) : graph_(graph), users_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const ValueId id : graph.nodes[i].inputs)
        users_[static_cast<std::size_t>(id)].push_back(i);
  }
  /// The users of a value, ascending; a node that uses it twice stands twice.
  const std::vector<std::size_t>& of(ValueId id) const {
    return users_[static_cast<std::size_t>(id)];
  }
  /// The node that is the only user of the only output of `node`, if its op is `op`; else `none`.
  std::size_t only_user(const Node& node, const Op& op) const {
    const ValueId id = node.outputs.front();
    if (id == graph_.output || of(id).size() != 1) return none;
    return graph_.nodes[of(id).front()].op == &op ? of(id).front() : none;
  }
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

 private:
  const Graph& graph_;
  std::vector<std::vector<std::size_t>> users_;
};

/// add(a, b), rms_norm(sum) -> add_rms_norm.
std::optional<Candidate> match_add_rms_norm(const Graph& graph, const Uses& uses, std::size_t at) {
  const Node& add = graph.nodes[at];
  if (add.op != &ops::add || graph[add.inputs[1]].kind == ValueKind::weight) return {};
  for (const std::size_t user : uses.of(add.outputs[0])) {
    const Node& norm = graph.nodes[user];
    if (norm.op != &ops::rms_norm || norm.attributes.as<ops::NormAttributes>().groups != 1)
      continue;
    return Candidate{{at, user},
                     {.op = &ops::add_rms_norm,
                      .inputs = {add.inputs[0], add.inputs[1], norm.inputs[1]},
                      .outputs = {add.outputs[0], norm.outputs[0]},
                      .attributes = norm.attributes,
                      .name = norm.name}};
  }
  return {};
}

/// rms_norm per head, rope -> norm_rope.
std::optional<Candidate> match_norm_rope(const Graph& graph, const Uses& uses, std::size_t at) {
  const Node& norm = graph.nodes[at];
  if (norm.op != &ops::rms_norm) return {};
  const std::size_t user = uses.only_user(norm, ops::rope);
  if (user == Uses::none) return {};
  const Node& rope = graph.nodes[user];
  const auto norm_attributes = norm.attributes.as<ops::NormAttributes>();
  const auto rope_attributes = rope.attributes.as<ops::RopeAttributes>();
  if (rope.inputs[0] != norm.outputs[0] || norm_attributes.groups != rope_attributes.heads)
    return {};
  return Candidate{
      {at, user},
      {.op = &ops::norm_rope,
       .inputs = {norm.inputs[0], norm.inputs[1], rope.inputs[1]},
       .outputs = rope.outputs,
       .attributes = Attributes(ops::NormRopeAttributes{norm_attributes.epsilon, rope_attributes}),
       .name = rope.name}};
}

/// Three products of one input, one after the other -> matmul3.
std::optional<Candidate> match_matmul3(const Graph& graph, const Uses&, std::size_t at) {
  if (at + 2 >= graph.nodes.size()) return {};
  Node fused{.op = &ops::matmul3, .name = graph.nodes[at].name};
  const std::size_t arity = graph.nodes[at].inputs.size();
  for (std::size_t i = at; i < at + 3; ++i) {
    const Node& node = graph.nodes[i];
    if (node.op != &ops::matmul || node.inputs[1] != graph.nodes[at].inputs[1] ||
        node.inputs.size() != arity)
      return {};
    fused.inputs.push_back(node.inputs[0]);
    fused.outputs.push_back(node.outputs[0]);
  }
  fused.inputs.push_back(graph.nodes[at].inputs[1]);
  if (arity == 3)
    for (std::size_t i = at; i < at + 3; ++i) fused.inputs.push_back(graph.nodes[i].inputs[2]);
  return Candidate{{at, at + 1, at + 2}, std::move(fused)};
}

/// silu(x gate) * (x up) -> up_gate.
std::optional<Candidate> match_up_gate(const Graph& graph, const Uses& uses, std::size_t at) {
  const Node& gate = graph.nodes[at];
  if (gate.op != &ops::matmul || gate.inputs.size() != 2) return {};
  const std::size_t silu = uses.only_user(gate, ops::silu);
  if (silu == Uses::none) return {};
  const std::size_t mul = uses.only_user(graph.nodes[silu], ops::mul);
  if (mul == Uses::none) return {};
  const ValueId activated = graph.nodes[silu].outputs[0];
  const auto& factors = graph.nodes[mul].inputs;
  const ValueId other = factors[0] == activated ? factors[1] : factors[0];
  for (std::size_t up = 0; up < mul; ++up) {
    const Node& node = graph.nodes[up];
    if (node.op != &ops::matmul || node.inputs.size() != 2 || node.outputs[0] != other ||
        node.inputs[1] != gate.inputs[1] || uses.only_user(node, ops::mul) != mul)
      continue;
    Candidate candidate{{at, up, silu, mul},
                        {.op = &ops::up_gate,
                         .inputs = {gate.inputs[0], node.inputs[0], gate.inputs[1]},
                         .outputs = graph.nodes[mul].outputs,
                         .attributes = {},
                         .name = gate.name}};
    std::ranges::sort(candidate.nodes);
    return candidate;
  }
  return {};
}

using Match = std::optional<Candidate> (*)(const Graph&, const Uses&, std::size_t);
constexpr Match patterns[] = {match_matmul3, match_up_gate, match_norm_rope, match_add_rms_norm};

/// Whether everything that the fused node needs is made before the group's first node, where it
/// will stand.
bool can_move_to_first(const Graph& graph, const Candidate& candidate) {
  for (std::size_t i = candidate.nodes.front() + 1; i < candidate.nodes.back(); ++i)
    for (const ValueId made : graph.nodes[i].outputs)
      if (std::ranges::find(candidate.fused.inputs, made) != candidate.fused.inputs.end())
        return false;
  return true;
}

}  // namespace

void fuse(Graph& graph, const Device& device) {
  std::optional<Uses> uses(graph);
  for (const Match match : patterns) {
    for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
      if (!uses) uses.emplace(graph);
      auto candidate = match(graph, *uses, at);
      if (!candidate || candidate->nodes.front() != at || !can_move_to_first(graph, *candidate))
        continue;
      const NodeTypes types(graph, candidate->fused);
      if (device.find(types.view()) == nullptr) continue;
      for (std::size_t i = candidate->nodes.size(); i-- > 1;)
        graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(candidate->nodes[i]));
      graph.nodes[at] = std::move(candidate->fused);
      uses.reset();
    }
  }
}

}  // namespace tacet
