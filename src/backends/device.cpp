#include "backends/device.hpp"

#include <algorithm>

#include "ops/ops.hpp"

namespace tacet {

namespace {

/// The smallest `max_keys` of a part's attention; 0 if it has none.
std::uint32_t most_keys(const Part& part) noexcept {
  std::uint32_t keys = 0;
  for (const PlacedNode& node : part.nodes) {
    if (node.view.op != &ops::attention) continue;
    const auto its =
        static_cast<std::uint32_t>(node.view.attributes->as<ops::AttentionAttributes>().max_keys);
    keys = keys == 0 ? its : std::min(keys, its);
  }
  return keys;
}

bool uses_state(const Part& part) noexcept {
  const auto is_state = [](const Ref& ref) { return ref.space == Ref::Space::state; };
  return std::ranges::any_of(part.nodes, [&](const PlacedNode& node) {
    return std::ranges::any_of(node.inputs, is_state);
  });
}

}  // namespace

Tape::Tape(const Part& part)
    : rows_(part.rows), max_keys_(most_keys(part)), uses_state_(uses_state(part)) {}

Result<void> Tape::check(const RunArgs& args) const {
  if (args.rows > rows_)
    return fail(Code::invalid_argument,
                "The run has {} rows, but its plan only {}; use a plan for more rows.", args.rows,
                rows_);
  if (!uses_state_) return {};
  std::uint32_t row = 0;
  for (const KvSequence& sequence : args.kv.sequences) {
    if (sequence.begin != row || sequence.end < row)
      return fail(Code::invalid_argument,
                  "A sequence of the run has the rows {} to {}, but the next row is {}; give every "
                  "row to one sequence, in order.",
                  sequence.begin, sequence.end, row);
    row = sequence.end;
    if (sequence.pages.empty()) continue;
    const std::uint64_t cells = std::uint64_t{sequence.past} + sequence.rows();
    if (max_keys_ != 0 && cells > max_keys_)
      return fail(Code::invalid_argument,
                  "The run sees {} keys, but its plan is made for {}; use a plan for a larger "
                  "context.",
                  cells, max_keys_);
    if (cells > std::uint64_t{sequence.pages.size()} * args.kv.page_tokens)
      return fail(Code::invalid_argument,
                  "The run has {} cells, but pages for {}; add pages before it is submitted.",
                  cells, std::uint64_t{sequence.pages.size()} * args.kv.page_tokens);
    if (!sequence.positions.empty() && sequence.positions.size() < cells)
      return fail(Code::invalid_argument,
                  "The run has {} cells, but {} positions; give each cell one, or none.", cells,
                  sequence.positions.size());
  }
  if (row == args.rows) return {};
  return fail(Code::invalid_argument,
              "The run has {} rows, but its sequences {}; give every row to one sequence.",
              args.rows, row);
}

}  // namespace tacet
