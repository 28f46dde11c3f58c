#pragma once

#include "backends/cuda/gemm/activations.hpp"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

/// One matrix of a product.
struct ProductMatrix {
  const std::byte* tiles;
  const float* bias;  ///< null: none
  float* out;         ///< {rows, outputs}
  std::uint32_t outputs;
  std::uint32_t groups;  ///< of 16 outputs
};

/// Products of up to three matrices of one type and width with the same rows.
struct ProductArguments {
  ProductMatrix matrix[3];
  std::uint32_t matrices;
  std::uint32_t groups;  ///< of all; of a gated pair, of each
  std::uint32_t chunks;  ///< of 64 columns
  bool selected;
  std::size_t group_bytes;
  const void* activations;  ///< activations.hpp
  const float* scales;      ///< of their slices
  std::uint32_t rows;       ///< of the plan
  const float* row;         ///< of one row, where the kernel is to bring it into their form
  std::uint32_t columns;
};

/// Rows of a plan up to which the kernel for few is taken.
inline constexpr std::uint32_t few_rows = 128;
/// With many rows a block computes so many, and so many groups of 16 outputs; of a pair half of
/// them of each matrix. A warp takes two groups and so many rows.
inline constexpr std::uint32_t rows_of_block = 128;
inline constexpr std::uint32_t groups_of_block = 8;
inline constexpr std::uint32_t rows_of_warp = 64;
inline constexpr std::uint32_t threads_of_many =
    32 * (groups_of_block / 2) * (rows_of_block / rows_of_warp);
/// So many chunks of activations are in its shared memory, a power of two.
TACET_ON_BOTH constexpr std::uint32_t stages_of_many(int parts) {
  return parts == 1 ? 4 : 2;
}

/// Blocks of the kernel for one row that a multiprocessor is to hold.
inline constexpr std::uint32_t blocks_of_one = 3;
/// With one row a warp has so many chunks in shared memory, each of so many bytes.
TACET_ON_BOTH constexpr std::uint32_t ring_depth(std::uint32_t bytes) {
  const std::uint32_t depth = 5120 / bytes;
  return depth < 2 ? 2 : depth > 8 ? 8 : depth;
}

/// A product with f32 weights, which lie in rows.
struct FloatProduct {
  const float* weights;
  const float* bias;  ///< null: none
  const float* x;
  float* out;
  std::uint32_t columns;
  std::uint32_t outputs;
  bool selected;
};
inline constexpr std::uint32_t float_rows_at_once = 8;

}  // namespace tacet::cuda
