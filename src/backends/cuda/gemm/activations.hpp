#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/on_both.hpp"

/// How products read their activations: for each chunk of 64 columns the rows of the plan, one
/// after the other; of each what a lane needs lies together. q: lane % 4.
namespace tacet::cuda {

/// 64 columns of a row as the sum of `Parts` halves (or bfloat16), each the nearest to what is
/// left: word 32 part + 8 q + 2 s + h is of the columns 16 s + 4 q + h and 16 s + 4 q + h + 2.
template <int Parts>
struct HalfChunk {
  std::uint32_t words[32 * Parts];
};

/// The chunks of a row are cut in so many slices, some of which may be empty. Those of halves are
/// multiplied by a power of two that brings the largest of a slice to 2^13, so that none is
/// infinite or loses bits that count. What the sums of a slice's products are to be multiplied by
/// lies behind the chunks of all rows: the scales of all rows for one slice after the other.
inline constexpr std::uint32_t slices = 8;
TACET_ON_BOTH inline std::uint32_t slice_begin(std::uint32_t chunks, std::uint32_t slice) {
  return chunks * slice / slices;
}
TACET_ON_BOTH inline std::uint32_t slice_of(std::uint32_t chunks, std::uint32_t chunk) {
  return (slices * chunk + slices - 1) / chunks;
}

inline std::size_t chunks_of(std::size_t columns) noexcept {
  return (columns + 63) / 64;
}

/// What brings f32 activations into one of these forms.
struct ActivationArguments {
  const float* x;  ///< {rows, columns}
  void* out;
  float* scales;
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t chunks;
  bool selected;
};

}  // namespace tacet::cuda
