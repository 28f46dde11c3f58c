#pragma once

#include <vector>

#include "backends/kernel.hpp"
#include "graph/graph.hpp"

namespace tacet {

/// Where everything of a plan lies.
struct MemoryLayout {
  std::vector<Ref> values;      ///< one for each value of the graph
  std::vector<Ref> workspaces;  ///< one for each node
  std::size_t arena_bytes = 0;
};

/// Lays out intermediate values and workspaces in one arena: each lives from the node that makes it
/// to the last that uses it and `overlap` further ones, and takes the first gap that is free all
/// that time. Offsets are multiples of 64.
MemoryLayout lay_out(const Graph& graph, const std::vector<const Kernel*>& kernels,
                     std::size_t overlap);

}  // namespace tacet
