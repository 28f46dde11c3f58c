#include "plan/memory_layout.hpp"

#include <algorithm>

namespace tacet {

namespace {

constexpr std::size_t alignment = 64;

/// A stretch of memory that is in use from one node to another, both included.
struct Block {
  std::size_t first_node;
  std::size_t last_node;
  std::size_t bytes;
  std::size_t offset = 0;
};

std::size_t bytes_of(const ValueType& type) {
  return static_cast<std::size_t>(type.shape.rows()) *
         row_bytes(type.dtype, static_cast<std::size_t>(type.shape.width()));
}

/// Places the large blocks first, each in the lowest gap; returns the bytes of all.
std::size_t place(std::vector<Block*> blocks) {
  std::ranges::stable_sort(blocks,
                           [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  std::vector<Block*> placed;  // ascending offsets
  std::size_t total = 0;
  for (Block* block : blocks) {
    std::size_t offset = 0;
    for (const Block* other : placed) {
      if (other->last_node < block->first_node || other->first_node > block->last_node) continue;
      if (other->offset >= offset + block->bytes) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    block->offset = offset;
    total = std::max(total, offset + block->bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Block::offset), block);
  }
  return total;
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

MemoryLayout lay_out(const Graph& graph, const std::vector<const Kernel*>& kernels,
                     std::size_t overlap) {
  MemoryLayout layout;
  layout.values.resize(graph.values.size());
  layout.workspaces.resize(graph.nodes.size());
  std::vector<Block> values(graph.values.size(), Block{0, 0, 0});
  std::vector<Block> workspaces(graph.nodes.size(), Block{0, 0, 0});
  std::vector<Block*> blocks;

  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    Ref& ref = layout.values[i];
    switch (value.kind) {
      case ValueKind::weight:
        ref = {.space = Ref::Space::weight, .data = value.data};
        break;
      case ValueKind::tokens:
        ref.space = Ref::Space::tokens;
        break;
      case ValueKind::positions:
        ref.space = Ref::Space::positions;
        break;
      case ValueKind::output_rows:
        ref.space = Ref::Space::output_rows;
        break;
      case ValueKind::state:
        ref.space = Ref::Space::state;
        ref.layer = value.layer;
        break;
      case ValueKind::stream:
        ref.space = Ref::Space::stream;
        break;
      case ValueKind::intermediate:
        ref.space = Ref::Space::arena;
        break;
    }
  }
  layout.values[static_cast<std::size_t>(graph.output)].space = Ref::Space::logits;

  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    for (const ValueId id : graph.nodes[node].outputs) {
      const auto i = static_cast<std::size_t>(id);
      if (layout.values[i].space != Ref::Space::arena) continue;
      values[i] = {node, node, aligned(bytes_of(graph.values[i].type))};
      blocks.push_back(&values[i]);
    }
    for (const ValueId id : graph.nodes[node].inputs)
      values[static_cast<std::size_t>(id)].last_node = node;
    if (kernels[node]->workspace != nullptr) {
      const NodeTypes types(graph, graph.nodes[node]);
      workspaces[node] = {node, node, aligned(kernels[node]->workspace(types.view()))};
      if (workspaces[node].bytes != 0) blocks.push_back(&workspaces[node]);
    }
  }
  for (Block* block : blocks) block->last_node += overlap;
  layout.arena_bytes = place(std::move(blocks));

  for (std::size_t i = 0; i < values.size(); ++i)
    if (layout.values[i].space == Ref::Space::arena) layout.values[i].offset = values[i].offset;
  for (std::size_t i = 0; i < workspaces.size(); ++i)
    if (workspaces[i].bytes != 0)
      layout.workspaces[i] = {.space = Ref::Space::arena, .offset = workspaces[i].offset};
  return layout;
}

}  // namespace tacet
