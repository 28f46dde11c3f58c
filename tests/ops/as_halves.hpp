#pragma once

#include <optional>

#include "ops/problem.hpp"

namespace tacet::op_tests {

/// The numbers of a quantized matrix as a device has them that makes halves of them: its rows are
/// multiplied by powers of two, scales and mins rounded to halves, and then the weights are.
std::vector<float> weights_as_halves(const Input& matrix);

/// What is expected of a device that makes halves of the codes of weights, keys and values: but for
/// that rounding it has no excuse.
struct InHalves {
  Outcome expected;     ///< behind the rounding
  Tolerance tolerance;  ///< of that
  Tolerance rough;      ///< of what is expected of all
};
/// Nothing where it rounds nothing of `problem`, of which `tolerance` is allowed.
std::optional<InHalves> in_halves(const Problem& problem, const Tolerance& tolerance);

}  // namespace tacet::op_tests
