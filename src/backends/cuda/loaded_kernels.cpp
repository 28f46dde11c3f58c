#include "backends/cuda/loaded_kernels.hpp"

#include <algorithm>
#include <string>

#include "backends/cuda/modules.hpp"

namespace tacet::cuda {

LoadedKernels::~LoadedKernels() {
  const auto scope = gpu_.scope();
  for (const auto& [name, library] : libraries_) gpu_.driver->library_unload(library);
}

Result<CUlibrary> LoadedKernels::load(std::string_view module) {
  if (const auto found = libraries_.find(module); found != libraries_.end()) return found->second;
  const auto all = modules();
  const auto it = std::ranges::find(all, module, &Module::name);
  if (it == all.end()) return fail(Code::internal, "There is no CUDA module {}.", module);
  CUlibrary library = nullptr;
  const CUresult status = gpu_.driver->library_load(&library, it->image.data(), nullptr, nullptr, 0,
                                                    nullptr, nullptr, 0);
  if (status == CUDA_ERROR_NO_BINARY_FOR_GPU)
    return fail(
        Code::unsupported,
        "The GPU is of a kind that this build has no kernels for; update its driver, or use "
        "the device cpu.");
  if (status != CUDA_SUCCESS)
    return gpu_.driver->failure(status, fmt::format("the module {} was loaded", module));
  libraries_.emplace(it->name, library);
  return library;
}

Result<CUkernel> LoadedKernels::find(KernelName name, std::size_t shared_bytes) {
  auto library = load(name.module);
  if (!library) return fail(std::move(library));
  CUkernel kernel = nullptr;
  const std::string text(name.kernel);
  auto status = gpu_.driver->library_get_kernel(&kernel, *library, text.c_str());
  // Beyond 48 KiB, with what a kernel has by itself, shared memory has to be asked for.
  if (status == CUDA_SUCCESS && shared_bytes > 32 * 1024)
    status = gpu_.driver->kernel_set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(shared_bytes), kernel, gpu_.device);
  if (status != CUDA_SUCCESS)
    return gpu_.driver->failure(
        status, fmt::format("the kernel {}.{} was found", name.module, name.kernel));
  return kernel;
}

}  // namespace tacet::cuda
