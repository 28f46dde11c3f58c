#pragma once

#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

struct NormArguments {
  const float* x;
  const float* added;  ///< null: nothing is
  const float* weight;
  float* sum;  ///< of x and what is added
  float* out;
  std::uint32_t width;   ///< of a group
  std::uint32_t groups;  ///< of a row
  float epsilon;
  bool selected;
};

inline constexpr unsigned threads_of_norm = 256;
inline void launch_rms_norm(Launches& launches, const NormArguments& a, std::uint32_t rows) {
  launches.add({"norm", "rms_norm"}, {a.groups, rows}, threads_of_norm, a);
}

}  // namespace tacet::cuda
