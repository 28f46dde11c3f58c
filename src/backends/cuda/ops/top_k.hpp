#pragma once

#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

/// ops::most_k
inline constexpr std::uint32_t most_top_k = 128;
/// Elements of a part of a row, whose best a block selects.
inline constexpr std::uint32_t top_k_part = 4096;
inline constexpr unsigned top_k_part_threads = 512;
/// Threads of the block that selects the best of a row from those of its parts.
inline constexpr unsigned top_k_row_threads = 1024;

struct TopKArguments {
  const float* x;
  std::uint64_t* parts;  ///< k keys of each part of each row
  float* out;            ///< of each row k elements, then their places
  std::uint32_t width;
  std::uint32_t k;
  std::uint32_t part_count;  ///< of a row
  bool selected;
};
inline void launch_top_k(Launches& launches, const TopKArguments& a, std::uint32_t rows) {
  launches.add({"top_k", "top_k_of_parts"}, {a.part_count, rows}, top_k_part_threads, a);
  launches.add({"top_k", "top_k_of_rows"}, {rows}, top_k_row_threads, a);
}

}  // namespace tacet::cuda
