#pragma once

#include <vector>

#include "backends/device.hpp"
#include "graph/graph.hpp"
#include "plan/plan.hpp"

namespace tacet {

/// Replaces each node that `device` has no kernel for by simpler ones, and adds a sentence to
/// `notes` for each op that was decomposed. Fails with Code::unsupported if an op that can not be
/// decomposed has no kernel.
Result<void> decompose(Graph& graph, const Device& device, std::vector<PlanNote>& notes);

}  // namespace tacet
