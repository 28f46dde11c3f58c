#pragma once

#include <cstddef>
#include <cstdint>

namespace tacet::cuda {

/// A KvSequence as kernels see it.
struct SequenceArgs {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t begin;  ///< its rows of the run
  std::uint32_t end;
  std::uint32_t past;
  std::uint32_t first_page;      ///< of RunBlock::pages
  std::uint32_t page_count;      ///< 0: it has no cells
  std::uint32_t first_position;  ///< of RunBlock::cell_positions; `none`: cell i has position i
};

/// Where the keys and values of a layer begin in a page, in bytes.
struct LayerArgs {
  std::uint64_t k_offset;
  std::uint64_t v_offset;
};

/// What changes from run to run. In device memory, at one address for all runs of a device, so that
/// kernels can be told of it before there is a run.
struct RunBlock {
  std::uint32_t epoch;  ///< of the run; never 0
  std::uint32_t rows;
  std::uint32_t outputs;
  std::uint32_t sequence_count;
  std::uint32_t page_tokens;
  std::uint32_t page_inverse;  ///< (2^32 - 1) / page_tokens
  const std::int32_t* tokens;
  const std::int32_t* positions;
  const std::int32_t* output_rows;
  const std::int32_t* cell_positions;
  const SequenceArgs* sequences;
  std::byte* const* pages;
  const LayerArgs* layers;
};

/// Words of a device that blocks count their arrivals in: zeros before and behind each run.
inline constexpr std::uint32_t arrival_words = 4096;

/// The second parameter of each kernel.
struct RunContext {
  const RunBlock* block;
  const std::uint32_t* stop;  ///< the epoch of the run that is to stop; 0: none was yet
};

}  // namespace tacet::cuda
