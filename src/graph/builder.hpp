#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace tacet {

/// Builds a graph. The first error sticks: later calls do nothing and give `ValueId::none`, and
/// `finish` returns it, so that model code reads as arithmetic.
class GraphBuilder {
 public:
  GraphBuilder(std::uint32_t rows, std::uint32_t outputs);

  ValueId tokens() const noexcept { return tokens_; }
  ValueId positions() const noexcept { return positions_; }
  ValueId output_rows() const noexcept { return output_rows_; }

  /// A weight in host memory that outlives the graph.
  ValueId weight(std::string name, ValueType type, const std::byte* data);
  /// The keys or the values of a layer: shape {heads, head size}, in the KV type.
  ValueId state(std::string name, DType dtype, std::int64_t heads, std::int64_t head_size,
                std::uint32_t layer);

  /// Appends a node; returns its only (or first) output. Inputs that are `none` at the end are left
  /// out.
  ValueId add(const Op& op, std::string name, std::initializer_list<ValueId> inputs,
              const Attributes& attributes = {});
  /// Appends a node and returns all its outputs; empty after an error.
  std::vector<ValueId> add_all(const Op& op, std::string name, std::span<const ValueId> inputs,
                               const Attributes& attributes = {});

  /// Says that the next layer begins, with the residual stream `x`.
  void begin_layer(ValueId x) { graph_.streams.push_back(x); }

  const ValueType& type(ValueId id) const noexcept;
  /// Records an error of the model's own.
  void fail(Error error);
  bool failed() const noexcept { return error_.has_value(); }
  std::uint32_t rows() const noexcept { return graph_.rows; }
  std::uint32_t outputs() const noexcept { return graph_.outputs; }

  /// The graph with `output` as its result, verified.
  Result<Graph> finish(ValueId output);

 private:
  ValueId append(Value value);

  Graph graph_;
  std::optional<Error> error_;
  ValueId tokens_, positions_, output_rows_;
};

/// Rebuilds one node of a graph from simpler ops: what an op's `decompose` works with.
class Rewriter {
 public:
  Rewriter(Graph& graph, const Node& node) noexcept : graph_(graph), node_(node) {}

  const Node& node() const noexcept { return node_; }
  ValueId input(std::size_t i) const noexcept {
    return i < node_.inputs.size() ? node_.inputs[i] : ValueId::none;
  }
  ValueId output(std::size_t i) const noexcept { return node_.outputs[i]; }
  const ValueType& type(ValueId id) const noexcept { return graph_[id].type; }

  /// Appends a node that computes a new value.
  ValueId add(const Op& op, std::string_view suffix, std::initializer_list<ValueId> inputs,
              const Attributes& attributes = {});
  /// Appends a node that computes `output`, an output of the node that is rebuilt.
  void add_into(ValueId output, const Op& op, std::string_view suffix,
                std::initializer_list<ValueId> inputs, const Attributes& attributes = {});

  /// The nodes made so far, or the first error.
  Result<std::vector<Node>> take();

 private:
  Graph& graph_;
  Node node_;
  std::vector<Node> nodes_;
  std::optional<Error> error_;
};

}  // namespace tacet
