#pragma once

#include <algorithm>

#include "backends/cuda/gemm/activations.hpp"
#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

struct NormArguments {
  const float* x;
  const float* added;  ///< null: nothing is
  const float* weight;
  float* sum;  ///< of x and what is added
  float* out;
  HalfChunk<1>* halves;  ///< what `out` is rounded to; null: nobody asked for it
  float* scales;         ///< of its slices
  std::uint32_t chunks;
  std::uint32_t width;   ///< of a group
  std::uint32_t groups;  ///< of a row
  float epsilon;
  bool selected;
};

inline constexpr unsigned most_threads_of_norm = 1024;
inline constexpr KernelName norm_kernel{"norm", "rms_norm"};
/// A thread for each four columns where that is enough.
inline void launch_rms_norm(Launches& launches, const NormArguments& a, std::uint32_t rows) {
  const unsigned threads = std::min(32 * ceil_div(a.width, 4 * 32), most_threads_of_norm);
  launches.add(norm_kernel, {a.groups, rows}, threads, a);
}
/// Whether the newest launch is a norm whose result is `x`; it then rounds it too.
inline bool halve_in_norm(Launches& launches, const float* x, HalfChunk<1>* halves, float* scales,
                          std::uint32_t chunks) {
  Launch* norm = launches.last(norm_kernel);
  if (norm == nullptr) return false;
  auto& a = norm->of<NormArguments>();
  if (a.out != x || a.groups != 1) return false;
  a.halves = halves;
  a.scales = scales;
  a.chunks = chunks;
  return true;
}

}  // namespace tacet::cuda
