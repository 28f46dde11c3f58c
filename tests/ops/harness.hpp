#pragma once

#include "backends/device.hpp"
#include "ops/problem.hpp"

namespace tacet::op_tests {

enum class Inputs { as_weights, in_arena, arranged };

/// Computes `problem` on a device. Activations are given as weights, or put into the arena by a
/// node before; matrices are put into the layout that the kernel asks for, with `arranged` into
/// Layout::groups if it asks for none. Fails if the device has no kernel for a node, if the run
/// fails, or if something outside the outputs was written.
Result<Outcome> compute(Device& device, const Problem& problem, Inputs inputs = Inputs::as_weights);

}  // namespace tacet::op_tests
