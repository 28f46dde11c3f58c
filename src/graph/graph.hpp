#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/op.hpp"

namespace tacet {

/// The number of a value in its graph.
enum class ValueId : std::uint32_t { none = 0xffffffff };

/// Where a value comes from.
enum class ValueKind {
  weight,        ///< constant data of the model
  tokens,        ///< int32 {rows}: token ids of the run
  positions,     ///< int32 {rows}: positions of the run's rows
  output_rows,   ///< int32 {outputs}: the rows whose logits are asked for
  state,         ///< keys or values of a layer; type {heads, head size}
  stream,        ///< f32 {rows, width}: what the layers before have computed, on another device
  intermediate,  ///< computed by a node
};

struct Value {
  std::string name;
  ValueType type;
  ValueKind kind = ValueKind::intermediate;
  const std::byte* data = nullptr;  ///< of a weight; owned by the model, outlives graph and plan
  std::uint32_t layer = 0;          ///< of a state value
};

struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> inputs{};
  std::vector<ValueId> outputs{};
  Attributes attributes{};
  std::string name{};  ///< "blk.0.attn_q", for plans and errors
};

/// A model's computation for one shape: values, and nodes in an order in which they can run.
/// Immutable once built.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  ValueId output = ValueId::none;  ///< the logits, f32 {outputs, vocabulary}, or top_k of them
  std::vector<ValueId> streams;    ///< what each layer begins with, f32 {rows, width}
  std::uint32_t rows = 0;          ///< the shape class: rows of a run at most
  std::uint32_t outputs = 0;       ///< rows of logits at most

  const Value& operator[](ValueId id) const noexcept {
    return values[static_cast<std::size_t>(id)];
  }
  Value& operator[](ValueId id) noexcept { return values[static_cast<std::size_t>(id)]; }
};

/// The types of a node's inputs and outputs, collected for a NodeView.
class NodeTypes {
 public:
  NodeTypes(const Graph& graph, const Node& node);
  NodeView view() const noexcept { return {op_, inputs_, outputs_, &attributes_}; }

 private:
  const Op* op_;
  std::vector<ValueType> inputs_;
  std::vector<ValueType> outputs_;
  Attributes attributes_;
};

/// Checks that every node uses values made before it, that shapes follow from the ops' rules, and
/// that each state value is read only after it was written.
Result<void> verify(const Graph& graph);

/// A readable listing, a line a node.
std::string print(const Graph& graph);

}  // namespace tacet
