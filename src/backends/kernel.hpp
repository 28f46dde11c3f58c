#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "graph/op.hpp"

namespace tacet {

/// One row of a backend's kernel table. A backend derives its own row type, which adds how the
/// kernel is put on its tape (`emit`).
struct Kernel {
  const Op* op = nullptr;
  std::string_view name;  ///< "matmul.q8_0.avx2"
  /// Whether it computes this node: looks at types, shapes and attributes. Null: every node of the
  /// op.
  bool (*supports)(const NodeView&) = nullptr;
  /// Bytes of scratch memory that one execution needs. Null: none.
  std::size_t (*workspace)(const NodeView&) = nullptr;
  /// How its matrices of weights have to lie; empty: it reads them as they are.
  std::optional<Layout> layout = {};
};

/// Where a value lies when a tape runs.
struct Ref {
  enum class Space : std::uint8_t {
    none,
    weight,
    arena,
    tokens,
    positions,
    output_rows,
    state,
    stream,
    logits
  };
  Space space = Space::none;
  const std::byte* data = nullptr;  ///< weight
  std::size_t offset = 0;           ///< arena: bytes
  std::uint32_t layer = 0;          ///< state
};

/// A node that has its kernel and its memory: what a device compiles.
struct PlacedNode {
  const Kernel* kernel = nullptr;
  NodeView view;  ///< points into the plan
  std::span<const Ref> inputs;
  std::span<const Ref> outputs;
  Ref workspace;
  bool selected = false;  ///< its rows are the output rows, not the run's rows
  std::string_view name;  ///< "blk.0.attn_q"
};

/// A plan's part for one device.
struct Part {
  std::span<const PlacedNode> nodes;
  std::size_t arena_bytes = 0;
  std::uint32_t rows = 0;
};

}  // namespace tacet
