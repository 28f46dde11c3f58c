#pragma once

#include <map>
#include <string_view>

#include "backends/cuda/gpu.hpp"
#include "backends/cuda/launch.hpp"

namespace tacet::cuda {

/// The kernels of a GPU; a module is loaded when the first of its kernels is asked for. Not
/// thread-safe.
class LoadedKernels {
 public:
  explicit LoadedKernels(const Gpu& gpu) noexcept : gpu_(gpu) {}
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;
  ~LoadedKernels();

  /// A kernel that may use so many bytes of shared memory.
  Result<CUkernel> find(KernelName name, std::size_t shared_bytes);

 private:
  Result<CUlibrary> load(std::string_view module);

  Gpu gpu_;
  std::map<std::string_view, CUlibrary> libraries_;
};

}  // namespace tacet::cuda
