#pragma once

#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

/// ops::RopeTableAttributes.
struct RopeTableArguments {
  float base;
  std::uint32_t size;
  float scale, low, high, magnitude;
  const float* factors;  ///< null: 1
  float* out;
};

struct RopeArguments {
  const float* x;
  const float* weight;  ///< of the norm of each head; null: there is none
  const float* table;
  float* out;
  std::uint32_t heads;
  std::uint32_t head_size;
  std::uint32_t table_size;
  float epsilon;
  bool interleaved;
};

inline constexpr unsigned threads_of_rope = 128;
inline void launch_rope_table(Launches& launches, const RopeTableArguments& a, std::uint32_t rows) {
  launches.add({"rope", "rope_table"}, {ceil_div(a.size / 2, threads_of_rope), rows},
               threads_of_rope, a);
}
inline void launch_rope(Launches& launches, const RopeArguments& a, std::uint32_t rows) {
  launches.add({"rope", "rope"}, {a.heads, rows}, threads_of_rope, a);
}

}  // namespace tacet::cuda
