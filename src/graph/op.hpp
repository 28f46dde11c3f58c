#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "graph/attributes.hpp"
#include "graph/kv_view.hpp"
#include "graph/shape.hpp"
#include "types/dtype.hpp"

namespace tacet {

class Rewriter;

/// How the elements of a matrix of weights lie in memory.
enum class Layout : std::uint8_t {
  rows,    ///< row after row, as in files
  groups,  ///< rows interleaved for the CPU: backends/cpu/gemm/packed.hpp
  tiles,   ///< tiles for CUDA: backends/cuda/gemm/tiles.hpp; f32 stays in rows
};

/// Element type, shape and layout of a value.
struct ValueType {
  DType dtype = DType::f32;
  Shape shape;
  Layout layout = Layout::rows;
  friend bool operator==(const ValueType&, const ValueType&) noexcept = default;
};

/// An estimate of what a node moves and computes.
struct Work {
  double bytes = 0;
  double operations = 0;  ///< a multiplication and an addition count as two
};

/// What is known of a run when work is estimated: rows in it, and keys that its last row sees.
struct RunShape {
  std::uint32_t rows = 1;
  std::uint32_t keys = 1;
};

/// A node without its place in a graph: all that a shape rule or a kernel table needs to know.
struct NodeView {
  const struct Op* op = nullptr;
  std::span<const ValueType> inputs;
  std::span<const ValueType> outputs;
  const Attributes* attributes = nullptr;
};

/// A tensor in host memory for an op's reference.
struct HostTensor {
  ValueType type;
  const void* data = nullptr;  ///< null for state values
  std::uint32_t layer = 0;     ///< of a state value
};

/// One call of an op's reference. Shapes are those of the plan; only the first `rows` rows of the
/// outputs need be computed, and only those rows of the inputs hold anything.
struct ReferenceCall {
  const Attributes& attributes;
  std::span<const HostTensor> inputs;
  std::span<const std::span<float>> outputs;  ///< one per non-state output, row-major
  std::uint32_t rows;                         ///< live rows
  const KvView* kv;                           ///< for ops on state values
  /// Live rows of the run where they are not `rows`: select_rows clamps to them. 0: all of x.
  std::uint32_t run_rows = 0;
};

/// An operation: its shape rule, its estimate, its meaning in double precision, and for a fused one
/// its parts. One constant per op, defined in src/ops/<op>.cpp and listed in src/ops/registry.cpp.
struct Op {
  std::string_view name;
  /// The types of the outputs, or an error that names what does not fit.
  Result<std::vector<ValueType>> (*infer)(std::span<const ValueType> inputs, const Attributes&);
  Work (*work)(const NodeView&, RunShape);
  /// Computes the outputs in double precision, rounding once at the end. Written for clarity, not
  /// speed.
  void (*reference)(const ReferenceCall&);
  /// Rebuilds the node from simpler ops; null for an op that is not fused.
  void (*decompose)(Rewriter&) = nullptr;
  /// What a fused op is made of, in plain words: "two products and an activation".
  std::string_view parts = {};
  /// Whether the outputs are the op's state inputs, written.
  bool writes_state = false;
};

}  // namespace tacet
