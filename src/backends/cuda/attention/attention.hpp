#pragma once

#include "backends/cuda/launch.hpp"
#include "types/dtype_id.hpp"

namespace tacet::cuda {

struct AttentionArguments {
  const float* q;
  const float* sinks;  ///< null: there are none
  float* out;
  float* parts;  ///< of splits: for each query and split the sums, then largest and total
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

void launch_attention(Launches& launches, const AttentionArguments& a);

}  // namespace tacet::cuda
