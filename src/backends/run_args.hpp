#pragma once

#include <cstdint>
#include <span>

#include "graph/kv_view.hpp"

namespace tacet {

/// What changes from run to run of one plan. The memory is the submitter's and must stay until the
/// run has ended.
struct RunArgs {
  std::uint32_t rows = 0;                     ///< at most the plan's rows
  std::span<const std::int32_t> tokens;       ///< rows
  std::span<const std::int32_t> positions;    ///< rows
  std::span<const std::int32_t> output_rows;  ///< the rows that are asked for; may be empty
  KvView kv;                                  ///< a sequence for each session in the run
  const float* stream = nullptr;              ///< rows x width, for a plan of the upper layers
  /// output_rows.size() x what the plan gives of each: vocabulary, or candidates and their places;
  /// rows x width of the lower layers.
  float* logits = nullptr;
};

}  // namespace tacet
