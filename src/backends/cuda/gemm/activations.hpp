#pragma once

#include <cstddef>
#include <cstdint>

/// How products read their activations: for each chunk of 64 columns the rows of the plan, one
/// after the other; of each what a lane needs lies together. q: lane % 4.
namespace tacet::cuda {

/// 64 columns of a row as the sum of `Parts` halves (or bfloat16), each the nearest to what is
/// left: word 32 part + 8 q + 2 s + h is of the columns 16 s + 4 q + h and 16 s + 4 q + h + 2.
/// Halves are multiplied by a power of two that brings the largest to 2^13, so that none is
/// infinite or loses bits that count; sums of their products are multiplied by `scale`.
template <int Parts>
struct HalfChunk {
  std::uint32_t words[32 * Parts];
  float scale;
  std::uint32_t padding[3];  ///< rows begin at different banks of shared memory
};
static_assert(sizeof(HalfChunk<1>) == 144 && sizeof(HalfChunk<2>) == 272);

inline std::size_t chunks_of(std::size_t columns) noexcept {
  return (columns + 63) / 64;
}

/// What brings f32 activations into one of these forms.
struct ActivationArguments {
  const float* x;  ///< {rows, columns}
  void* out;
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t chunks;
  bool selected;
};

}  // namespace tacet::cuda
