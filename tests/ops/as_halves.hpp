#pragma once

#include "ops/problem.hpp"

namespace tacet::op_tests {

/// The numbers of a quantized matrix as a device has them that makes halves of them: its rows are
/// multiplied by powers of two, scales and mins rounded to halves, and then the weights are.
std::vector<float> weights_as_halves(const Input& matrix);

/// The problem that such a device solves without further rounding, where the last node is a product
/// with quantized weights: they are f32 with these values, and activations those of halves.
Problem as_halves(Problem problem);

/// Whether the last node is attention to keys or values in types with blocks that such a device
/// makes halves of.
bool has_coded_keys(const Problem& problem);

/// The attention alone that it solves without further rounding: what is kept is in f16.
Problem attention_as_halves(Problem problem);

}  // namespace tacet::op_tests
