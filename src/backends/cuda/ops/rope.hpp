#pragma once

#include "backends/cuda/ops/kv_write.hpp"

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

/// Up to two values that are rotated at once (queries and keys), and what is kept of the second
/// one and of values.
struct RopesArguments {
  RopeArguments of[2];
  std::uint32_t count;
  KvWriteArguments kept;  ///< without heads: nothing is
};

inline constexpr unsigned threads_of_rope = 128;
inline constexpr KernelName rope_kernel{"rope", "rope"};
inline void launch_rope_table(Launches& launches, const RopeTableArguments& a, std::uint32_t rows) {
  launches.add({"rope", "rope_table"}, {ceil_div(a.size / 2, threads_of_rope), rows},
               threads_of_rope, a);
}
/// Appends the rotation, or adds it to the newest launch if that is one.
inline void launch_rope(Launches& launches, const RopeArguments& a, std::uint32_t rows) {
  if (Launch* before = launches.last(rope_kernel)) {
    auto& both = before->of<RopesArguments>();
    if (both.count == 1 && both.kept.heads == 0 && both.of[0].out != a.x) {
      both.of[both.count++] = a;
      before->grid.x += a.heads;
      return;
    }
  }
  launches.add(rope_kernel, {a.heads, rows}, threads_of_rope, RopesArguments{{a, {}}, 1, {}});
}
/// Whether the newest launch makes the keys that are to be kept; it then keeps keys and values.
inline bool keep_in_rope(Launches& launches, const KvWriteArguments& a) {
  Launch* before = launches.last(rope_kernel);
  if (before == nullptr) return false;
  auto& both = before->of<RopesArguments>();
  const RopeArguments& keys = both.of[both.count - 1];
  if (both.kept.heads != 0 || keys.out != a.k.rows || keys.heads != a.heads) return false;
  both.kept = a;
  if (a.has_values) before->grid.x += a.heads;
  return true;
}

}  // namespace tacet::cuda
