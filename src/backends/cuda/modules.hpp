#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tacet::cuda {

/// Kernels that are compiled together: a fat binary, with machine code and PTX; empty in a build
/// without kernels.
struct Module {
  std::string_view name;
  std::span<const std::byte> image;
};

/// All modules of this build; the build lists them.
std::span<const Module> modules() noexcept;
/// Whether this build has kernels, without which no GPU is of use.
inline bool has_kernels() noexcept {
  return !modules().front().image.empty();
}

}  // namespace tacet::cuda
