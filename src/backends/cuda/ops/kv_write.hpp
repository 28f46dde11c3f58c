#pragma once

#include "backends/cuda/launch.hpp"
#include "types/dtype_id.hpp"

namespace tacet::cuda {

/// Keys or values.
struct KeptRows {
  const float* rows;
  DType type;
  std::uint32_t size;  ///< of a head
};
struct KvWriteArguments {
  KeptRows k, v;
  std::uint32_t layer;
  std::uint32_t heads;
  bool has_values;
};

inline void launch_kv_write(Launches& launches, const KvWriteArguments& a, std::uint32_t rows) {
  launches.add({"kv_write", "kv_write"}, {ceil_div(a.heads, 8), rows, a.has_values ? 2U : 1U}, 256,
               a);
}

}  // namespace tacet::cuda
