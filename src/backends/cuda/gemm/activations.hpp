#pragma once

#include <cstddef>
#include <cstdint>

/// How products read their activations: for each row and each chunk of 64 columns what a lane needs
/// lies together. q: lane % 4.
namespace tacet::cuda {

/// Rounded to 8 bits, 32 columns sharing a scale: x = scale * code. Word 4 q + 2 b + h of a chunk's
/// 16 words of codes is of the columns 32 b + 16 h + 4 q to 32 b + 16 h + 4 q + 3.
struct CodedChunk {
  std::uint32_t codes[16];
  float scales[2];
  std::int16_t sums[4];  ///< of the codes of each 16 columns
  float scaled_sums[4];  ///< the same, multiplied by the scale
};
static_assert(sizeof(CodedChunk) == 96);

/// As the sum of two halves (or bfloat16), the first the nearest one: word 32 part + 8 q + 2 s + h
/// is of the columns 16 s + 8 h + 2 q and the one behind. Rows for halves are multiplied by a power
/// of two, so that neither part is infinite or loses bits; the sum of their products is divided by
/// it.
struct SplitChunk {
  std::uint32_t words[64];
};
static_assert(sizeof(SplitChunk) == 256);

/// Bytes of `rows` rows of so many columns, rounded or split, and of the factors of the latter.
inline std::size_t chunks_of(std::size_t columns) noexcept {
  return (columns + 63) / 64;
}
inline std::size_t coded_bytes(std::size_t rows, std::size_t columns) noexcept {
  return rows * chunks_of(columns) * sizeof(CodedChunk);
}
inline std::size_t split_bytes(std::size_t rows, std::size_t columns) noexcept {
  return rows * (chunks_of(columns) * sizeof(SplitChunk) + 16);
}

/// What brings f32 activations into one of these forms.
struct ActivationArguments {
  const float* x;  ///< {rows, columns}
  void* out;
  float* factors;  ///< of split rows
  std::uint32_t columns;
  std::uint32_t chunks;
  bool selected;
};

}  // namespace tacet::cuda
