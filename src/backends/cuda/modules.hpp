#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tacet::cuda {

/// Kernels that are compiled together: a fat binary, with machine code and PTX.
struct Module {
  std::string_view name;
  std::span<const std::byte> image;
};

/// All modules of this build; the build lists them.
std::span<const Module> modules() noexcept;

}  // namespace tacet::cuda
