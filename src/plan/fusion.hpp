#pragma once

#include "backends/device.hpp"
#include "graph/graph.hpp"

namespace tacet {

/// Replaces groups of nodes by fused ops wherever `device` has a row for the fused node with its
/// very types and shapes.
void fuse(Graph& graph, const Device& device);

}  // namespace tacet
