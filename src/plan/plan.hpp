#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/device.hpp"
#include "graph/graph.hpp"

namespace tacet {

/// Something worth knowing about a plan.
struct PlanNote {
  const Op* op;          ///< that was decomposed
  std::string sentence;  ///< in plain words
};

/// A graph with a kernel for every node, its memory laid out, and its tape compiled. Immutable;
/// keeps its graph, not its weights or its device.
struct Plan {
  Graph graph;                         ///< after fusion and decomposition
  std::vector<const Kernel*> kernels;  ///< of each node
  std::string device;                  ///< its name
  std::size_t arena_bytes = 0;
  std::vector<PlanNote> notes;  ///< one for each op that was decomposed
  std::unique_ptr<Tape> tape;   ///< null in a plan that is the lower part of another
  std::unique_ptr<Plan> lower;  ///< of the layers before, on another device; null: there are none
};

/// Plans `graph` for `device`: fuses where the device has the fused kernel, decomposes where it
/// lacks one, and fails with Code::unsupported, naming op, types, shape, device and remedy, if an
/// op has nowhere to go.
Result<std::unique_ptr<Plan>> make_plan(Graph graph, Device& device, const StopToken& stop = {});

/// Joins the plans of a model's lower and upper layers to one, for a Conductor of their devices.
std::unique_ptr<Plan> join_plans(std::unique_ptr<Plan> lower, std::unique_ptr<Plan> upper);

}  // namespace tacet
