#pragma once

#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

enum class Function { add, mul, silu, gate };  ///< gate: silu(a) b

struct ElementwiseArguments {
  const float* a;
  const float* b;
  float* out;
  std::uint32_t width;
  bool b_is_vector;
  bool selected;
};

/// Appends the function of `rows` rows.
inline void launch_elementwise(Launches& launches, Function function, const ElementwiseArguments& a,
                               std::uint32_t rows) {
  constexpr std::string_view names[] = {"add", "mul", "silu", "gate"};
  launches.add({"elementwise", names[static_cast<int>(function)]}, {ceil_div(a.width, 256), rows},
               256, a);
}

}  // namespace tacet::cuda
