#include "graph/builder.hpp"

namespace tacet {

GraphBuilder::GraphBuilder(std::uint32_t rows, std::uint32_t outputs) {
  graph_.rows = rows;
  graph_.outputs = outputs;
  tokens_ = append({.name = "tokens", .type = {DType::i32, {rows}}, .kind = ValueKind::tokens});
  positions_ =
      append({.name = "positions", .type = {DType::i32, {rows}}, .kind = ValueKind::positions});
  output_rows_ = append(
      {.name = "output_rows", .type = {DType::i32, {outputs}}, .kind = ValueKind::output_rows});
}

ValueId GraphBuilder::append(Value value) {
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId GraphBuilder::weight(std::string name, ValueType type, const std::byte* data) {
  return append({.name = std::move(name), .type = type, .kind = ValueKind::weight, .data = data});
}

ValueId GraphBuilder::state(std::string name, DType dtype, std::int64_t heads,
                            std::int64_t head_size, std::uint32_t layer) {
  return append({.name = std::move(name),
                 .type = {dtype, {heads, head_size}},
                 .kind = ValueKind::state,
                 .layer = layer});
}

ValueId GraphBuilder::add(const Op& op, std::string name, std::initializer_list<ValueId> inputs,
                          const Attributes& attributes) {
  std::span<const ValueId> given(inputs.begin(), inputs.size());
  while (!given.empty() && given.back() == ValueId::none) given = given.first(given.size() - 1);
  const auto outputs = add_all(op, std::move(name), given, attributes);
  return outputs.empty() ? ValueId::none : outputs.front();
}

std::vector<ValueId> GraphBuilder::add_all(const Op& op, std::string name,
                                           std::span<const ValueId> inputs,
                                           const Attributes& attributes) {
  if (error_) return {};
  std::vector<ValueType> types;
  for (const ValueId id : inputs) {
    if (id == ValueId::none) {
      fail(Error(Code::internal, fmt::format("{}: an input is missing.", name)));
      return {};
    }
    types.push_back(graph_[id].type);
  }
  auto inferred = op.infer(types, attributes);
  if (!inferred) {
    fail(Error(inferred.error().code(), fmt::format("{}: {}", name, inferred.error().message())));
    return {};
  }
  Node node{
      .op = &op, .inputs = {inputs.begin(), inputs.end()}, .attributes = attributes, .name = name};
  std::uint32_t state = 0;
  for (std::size_t i = 0; i < inferred->size(); ++i) {
    // An op that writes state gives back the state values it was given, in their order.
    while (state < inputs.size() && graph_[inputs[state]].kind != ValueKind::state) ++state;
    Value value{.name = inferred->size() == 1 ? name : fmt::format("{}.{}", name, i),
                .type = (*inferred)[i]};
    if (op.writes_state) {
      value.kind = ValueKind::state;
      value.layer = graph_[inputs[state++]].layer;
    }
    node.outputs.push_back(append(std::move(value)));
  }
  auto outputs = node.outputs;
  graph_.nodes.push_back(std::move(node));
  return outputs;
}

const ValueType& GraphBuilder::type(ValueId id) const noexcept {
  static const ValueType nothing;
  return id == ValueId::none ? nothing : graph_[id].type;
}

void GraphBuilder::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<Graph> GraphBuilder::finish(ValueId output) {
  if (error_) return tl::unexpected(*error_);
  graph_.output = output;
  if (auto verified = verify(graph_); !verified) return tacet::fail(std::move(verified));
  return std::move(graph_);
}

ValueId Rewriter::add(const Op& op, std::string_view suffix, std::initializer_list<ValueId> inputs,
                      const Attributes& attributes) {
  std::vector<ValueType> types;
  for (const ValueId id : inputs)
    if (id != ValueId::none) types.push_back(graph_[id].type);
  auto inferred = op.infer(types, attributes);
  if (!inferred || inferred->size() != 1) {
    if (!error_)
      error_ =
          inferred ? Error(Code::internal, "A decomposition needs one output.") : inferred.error();
    return node_.outputs.front();
  }
  graph_.values.push_back(
      {.name = fmt::format("{}.{}", node_.name, suffix), .type = inferred->front()});
  const auto made = static_cast<ValueId>(graph_.values.size() - 1);
  add_into(made, op, suffix, inputs, attributes);
  return made;
}

void Rewriter::add_into(ValueId output, const Op& op, std::string_view suffix,
                        std::initializer_list<ValueId> inputs, const Attributes& attributes) {
  Node node{.op = &op,
            .outputs = {output},
            .attributes = attributes,
            .name = fmt::format("{}.{}", node_.name, suffix)};
  for (const ValueId id : inputs)
    if (id != ValueId::none) node.inputs.push_back(id);
  nodes_.push_back(std::move(node));
}

Result<std::vector<Node>> Rewriter::take() {
  if (error_) return tl::unexpected(*error_);
  return std::move(nodes_);
}

}  // namespace tacet
