#pragma once

#include "backends/cuda/attention/kept.cuh"

/// Pieces of eight elements of rows in types with blocks, made halves: all of them have a scale
/// that is a half, some a min, and codes of 4, 5 or 8 bits, at addresses that are even.
namespace tacet::cuda {

struct CodedPiece {
  std::uint32_t codes[2];  ///< bytes: a code in each, or two in nibbles
  std::uint32_t high;      ///< bit i: the fifth of code i
  std::uint16_t scale, min;
};

/// Piece `piece` of a row; one of zeros without a row.
__device__ inline CodedPiece load_piece(DType type, const std::byte* row, std::uint32_t piece) {
  CodedPiece loaded{};
  if (row == nullptr) return loaded;
  const auto* block =
      reinterpret_cast<const std::uint16_t*>(row + piece / 4 * kept_row_bytes(type, 32));
  const bool has_min = type == DType::q4_1 || type == DType::q5_1;
  const bool has_high = type == DType::q5_0 || type == DType::q5_1;
  const std::uint32_t high_at = has_min ? 2 : 1;
  loaded.scale = block[0];
  if (has_min) loaded.min = block[1];
  if (has_high) loaded.high = block[high_at + piece % 4 / 2] >> (8 * (piece % 2)) & 0xff;
  const auto* codes =
      block + high_at + (has_high ? 2 : 0) + 4 * (type == DType::q8_0 ? piece % 4 : piece % 2);
  loaded.codes[0] = codes[0] | std::uint32_t{codes[1]} << 16;
  loaded.codes[1] = codes[2] | std::uint32_t{codes[3]} << 16;
  return loaded;
}

/// Its elements as the nearest halves.
__device__ inline uint4 halves_of(DType type, const CodedPiece& coded, std::uint32_t piece) {
  const float scale = half_at(coded.scale), min = half_at(coded.min);
  const bool has_min = type == DType::q4_1 || type == DType::q5_1;
  const std::int32_t zero = type == DType::q4_0 ? 8 : type == DType::q5_0 ? 16 : 0;
  std::uint32_t words[4];
#pragma unroll
  for (std::uint32_t i = 0; i < 8; i += 2) {
    float two[2];
#pragma unroll
    for (std::uint32_t j = i; j < i + 2; ++j) {
      const std::uint32_t byte = coded.codes[j / 4] >> (8 * (j % 4)) & 0xff;
      const std::uint32_t nibble = piece % 4 < 2 ? byte & 15 : byte >> 4;
      const std::int32_t code =
          type == DType::q8_0
              ? static_cast<std::int8_t>(byte)
              : static_cast<std::int32_t>(nibble | (coded.high >> j & 1) << 4) - zero;
      const float value = scale * static_cast<float>(code);
      // Those that no half reaches become the largest.
      two[j - i] = fminf(fmaxf(has_min ? value + min : value, -65504.0f), 65504.0f);
    }
    const __half2 rounded = __floats2half2_rn(two[0], two[1]);
    words[i / 2] = *reinterpret_cast<const std::uint32_t*>(&rounded);
  }
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace tacet::cuda
