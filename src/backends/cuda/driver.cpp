#include "backends/cuda/driver.hpp"

#include <dlfcn.h>

#include <optional>

namespace tacet::cuda {

namespace {

/// The version of the driver's functions that is asked for.
constexpr int version = 12000;

/// Finds the driver's functions by their names in cuda.h.
class Finder {
 public:
  Finder() noexcept {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr)
      find_ = reinterpret_cast<decltype(find_)>(dlsym(library_, "cuGetProcAddress_v2"));
    complete_ = find_ != nullptr;
  }
  template <typename Function>
  void operator()(const char* name, Function& function) noexcept {
    void* found = nullptr;
    if (complete_) {
      const auto status = find_(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
      complete_ = status == CUDA_SUCCESS && found != nullptr;
    }
    function = reinterpret_cast<Function>(found);
  }
  /// One that came with a later version; null where it is not there.
  template <typename Function>
  void if_there(const char* name, Function& function, int since) noexcept {
    void* found = nullptr;
    if (!complete_ ||
        find_(name, &found, since, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS)
      found = nullptr;
    function = reinterpret_cast<Function>(found);
  }
  bool complete() const noexcept { return complete_; }

 private:
  void* library_ = nullptr;
  decltype(&::cuGetProcAddress) find_ = nullptr;
  bool complete_ = false;
};

std::optional<Driver> find_driver() noexcept {
  Finder find;
  Driver d{};
  find("cuInit", d.init);
  find("cuGetErrorName", d.get_error_name);
  find("cuDeviceGetCount", d.device_get_count);
  find("cuDeviceGet", d.device_get);
  find("cuDeviceGetName", d.device_get_name);
  find("cuDeviceGetAttribute", d.device_get_attribute);
  find("cuDeviceTotalMem", d.device_total_mem);
  find("cuDevicePrimaryCtxRetain", d.primary_context_retain);
  find("cuDevicePrimaryCtxRelease", d.primary_context_release);
  find("cuCtxPushCurrent", d.context_push);
  find("cuCtxPopCurrent", d.context_pop);
  find("cuCtxGetStreamPriorityRange", d.stream_priority_range);
  find("cuMemGetInfo", d.mem_get_info);
  find("cuMemAlloc", d.mem_alloc);
  find("cuMemFree", d.mem_free);
  find("cuMemHostAlloc", d.mem_host_alloc);
  find("cuMemFreeHost", d.mem_free_host);
  find("cuMemAllocAsync", d.mem_alloc_async);
  find("cuMemFreeAsync", d.mem_free_async);
  find("cuDeviceGetDefaultMemPool", d.default_mem_pool);
  find("cuMemPoolSetAttribute", d.mem_pool_set);
  find("cuMemPoolGetAttribute", d.mem_pool_get);
  find("cuMemPoolTrimTo", d.mem_pool_trim);
  find("cuMemcpyHtoDAsync", d.copy_to_device);
  find("cuMemcpyDtoHAsync", d.copy_to_host);
  find("cuMemcpyDtoDAsync", d.copy_on_device);
  find("cuMemsetD8Async", d.set_bytes);
  find("cuStreamCreateWithPriority", d.stream_create);
  find("cuStreamDestroy", d.stream_destroy);
  find("cuStreamSynchronize", d.stream_synchronize);
  find("cuStreamQuery", d.stream_query);
  find("cuStreamWriteValue32", d.stream_write_value);
  find("cuLibraryLoadData", d.library_load);
  find("cuLibraryUnload", d.library_unload);
  find("cuLibraryGetKernel", d.library_get_kernel);
  find("cuKernelSetAttribute", d.kernel_set_attribute);
  find("cuLaunchKernel", d.launch_kernel);
  find("cuGraphCreate", d.graph_create);
  find("cuGraphDestroy", d.graph_destroy);
  find("cuGraphAddKernelNode", d.graph_add_kernel);
  find.if_there("cuGraphAddDependencies", d.graph_add_dependencies, 12030);
  find("cuGraphInstantiateWithFlags", d.graph_instantiate);
  find("cuGraphExecDestroy", d.graph_exec_destroy);
  find("cuGraphLaunch", d.graph_launch);
  if (!find.complete() || d.init(0) != CUDA_SUCCESS) return std::nullopt;
  return d;
}

}  // namespace

const Driver* driver() noexcept {
  static const std::optional<Driver> found = find_driver();
  return found ? &*found : nullptr;
}

tl::unexpected<Error> Driver::failure(CUresult status, std::string_view doing) const {
  const char* text = nullptr;
  if (get_error_name(status, &text) != CUDA_SUCCESS) text = "an error without a name";
  switch (status) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return fail(Code::out_of_memory,
                  "The GPU has no memory left when {}; use a smaller context or model.", doing);
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
      return fail(Code::device_lost,
                  "The GPU was lost when {} ({}); start the process again, or use another device.",
                  doing, text);
    default:
      return fail(Code::internal, "CUDA failed when {}: {}.", doing, text);
  }
}

}  // namespace tacet::cuda
