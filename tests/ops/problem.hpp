#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/data.hpp"
#include "ops/kv_memory.hpp"

namespace tacet::op_tests {

struct Step {
  const Op* op = nullptr;
  Attributes attributes{};
  std::vector<Input> inputs{};
};

/// What a device is asked to compute in one run: nodes that share nothing but state.
struct Problem {
  std::vector<Step> steps;
  std::uint32_t rows = 0;   ///< live rows of the run
  std::uint32_t spare = 0;  ///< rows that the plan has beyond them, and beyond the output rows
  /// For ops on state: one for each sequence of the run, in the order of their rows.
  std::vector<KvMemory> kv = {};
  /// Rows of a sequence see one another: it can only be cut at its ends.
  bool whole_sequences = false;
};

/// How far a result may be from the reference. For an output y of a row with root mean square s the
/// error is at most of_row * s + of_element * |y|.
struct Tolerance {
  double of_row = 0;
  double of_element = 0;
};

/// A problem that every device has to solve. `name` seeds its data and has only letters, digits and
/// underscores.
struct Case {
  std::string name;
  Tolerance tolerance;
  std::function<Problem(Random&)> make;

  Problem problem() const {
    Random random(name);
    return make(random);
  }
};

/// What a problem gives: the outputs of its last node, live rows only, and the KV memory.
struct Outcome {
  std::vector<std::vector<float>> outputs{};
  std::vector<std::size_t> widths{};
  std::vector<std::byte> kv{};
};

/// Computes `problem` with the ops' references.
Outcome reference(const Problem& problem);

/// The rows `first` to `first + count - 1` of a problem alone: the same results are expected.
Problem slice(const Problem& problem, std::uint32_t first, std::uint32_t count);
/// The same problem in a plan of `count` more rows, which are not live.
Problem with_spare_rows(Problem problem, std::uint32_t count);

std::vector<ValueType> input_types(const Step& step);
/// Whether the rows of a node are the output rows, not the run's.
bool is_selected(const Step& step);
/// Live rows of a node's outputs.
std::uint32_t live_rows(const Problem& problem, const Step& step);
/// The widths of a node's outputs that are not state.
std::vector<std::size_t> output_widths(const Step& step);

/// The largest error in units of what is allowed, and if it is above 1, what is wrong.
struct Comparison {
  double worst = 0;
  std::string difference{};
};
Comparison compare(const Outcome& given, const Outcome& expected, const Tolerance& tolerance);

/// What differs between the bits of `part` and those of the rows of `all` from `first` on; empty if
/// nothing does. KV memory is not looked at.
std::string bits_differ(const Outcome& part, const Outcome& all, std::uint32_t first);

}  // namespace tacet::op_tests
