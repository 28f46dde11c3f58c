#pragma once

#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

struct EmbedArguments {
  const std::byte* table;
  float* out;
  std::uint32_t width;
  std::uint32_t table_rows;
  std::size_t group_bytes;  ///< of tiles
};

struct SelectArguments {
  const float* x;
  float* out;
  std::uint32_t width;
};
/// Appends the reading of a table of weights in the module of its type.
inline void launch_embed(Launches& launches, std::string_view module, bool in_tiles,
                         const EmbedArguments& a, std::uint32_t rows) {
  // A warp reads 64 columns of codes; a thread an element.
  launches.add({module, "embed"}, {ceil_div(a.width, in_tiles ? 512 : 256), rows}, 256, a);
}
inline void launch_select_rows(Launches& launches, const SelectArguments& a, std::uint32_t rows) {
  launches.add({"gather", "select_rows"}, {ceil_div(a.width, 256), rows}, 256, a);
}

}  // namespace tacet::cuda
