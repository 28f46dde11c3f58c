#pragma once

#include "backends/cuda/launch.hpp"
#include "backends/cuda/on_both.hpp"
#include "types/dtype_id.hpp"

namespace tacet::cuda {

/// Of a query at most.
inline constexpr std::uint32_t most_splits = 128;
/// The floats of a part: sums, the largest score, the total, and what makes it whole 16 bytes where
/// the sums are.
TACET_ON_BOTH constexpr std::uint32_t part_floats(std::uint32_t v_size) {
  return v_size + 4;
}

struct AttentionArguments {
  const float* q;
  const float* sinks;  ///< null: there are none
  float* out;
  float* parts;  ///< of splits: one for each query and split
  /// How many blocks of a tile and head have left their parts: zeros before a run and behind it.
  std::uint32_t* arrivals;
  // ops::AttentionAttributes.
  std::uint32_t heads;
  float scale, softcap, max_bias;
  std::int32_t window;
  bool values_in_keys;
  bool causal;
  std::uint32_t layer;
  std::uint32_t kv_heads;
  std::uint32_t group;  ///< heads for a head of the keys
  std::uint32_t k_size, v_size;
  DType k_type, v_type;
  std::uint32_t split;  ///< keys of a split
  std::uint32_t most_splits;
  std::uint32_t rows;  ///< of the plan
};

/// Rows of a plan up to which keys are split between blocks.
inline constexpr std::uint32_t attention_few_rows = 8;

inline constexpr unsigned attention_threads = 256;
inline constexpr unsigned attention_warps = attention_threads / 32;

/// Whether tensor cores compute it (halves.cuh): keys and values in f16, of whole groups of 16
/// bytes and of up to `most_half_size` elements.
inline constexpr std::uint32_t most_half_size = 256;
/// Whether they may also be in this type, whose elements become halves on their way
/// (coded_pieces.cuh).
TACET_ON_BOTH constexpr bool has_coded_pieces(DType type) {
  return type == DType::q8_0 || type == DType::q4_0 || type == DType::q4_1 || type == DType::q5_0 ||
         type == DType::q5_1;
}
/// The keys of a tile, of heads up to `size`.
TACET_ON_BOTH constexpr std::uint32_t tile_keys(std::uint32_t size) {
  return size <= 128 ? 64 : 32;
}
/// Queries of a block, and its warps or threads; with many rows of heads up to `size`.
inline constexpr std::uint32_t half_few_queries = 16;
TACET_ON_BOTH constexpr std::uint32_t half_few_warps(std::uint32_t size) {
  return size == 128 ? 8 : 4;
}
TACET_ON_BOTH constexpr std::uint32_t half_many_queries(std::uint32_t size) {
  return size <= 128 ? 64 : 32;
}
inline constexpr std::uint32_t half_many_threads = 128;

/// How many multiprocessors there are decides how work is shared, no result.
void launch_attention(Launches& launches, const AttentionArguments& a,
                      std::uint32_t multiprocessors);

}  // namespace tacet::cuda
