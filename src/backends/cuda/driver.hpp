#pragma once

#include <cuda.h>

#include <string_view>

#include "base/result.hpp"

namespace tacet::cuda {

/// The functions of the CUDA driver that are used here. The driver belongs to the system, and is
/// looked for when it is first asked for.
struct Driver {
  decltype(&::cuInit) init;
  decltype(&::cuGetErrorName) get_error_name;
  decltype(&::cuDeviceGetCount) device_get_count;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetName) device_get_name;
  decltype(&::cuDeviceGetAttribute) device_get_attribute;
  decltype(&::cuDeviceTotalMem) device_total_mem;
  decltype(&::cuDevicePrimaryCtxRetain) primary_context_retain;
  decltype(&::cuDevicePrimaryCtxRelease) primary_context_release;
  decltype(&::cuCtxPushCurrent) context_push;
  decltype(&::cuCtxPopCurrent) context_pop;
  decltype(&::cuCtxGetStreamPriorityRange) stream_priority_range;
  decltype(&::cuMemGetInfo) mem_get_info;
  decltype(&::cuMemAlloc) mem_alloc;
  decltype(&::cuMemFree) mem_free;
  decltype(&::cuMemHostAlloc) mem_host_alloc;
  decltype(&::cuMemFreeHost) mem_free_host;
  decltype(&::cuMemAllocAsync) mem_alloc_async;
  decltype(&::cuMemFreeAsync) mem_free_async;
  decltype(&::cuDeviceGetDefaultMemPool) default_mem_pool;
  decltype(&::cuMemPoolSetAttribute) mem_pool_set;
  decltype(&::cuMemPoolGetAttribute) mem_pool_get;
  decltype(&::cuMemPoolTrimTo) mem_pool_trim;
  decltype(&::cuMemcpyHtoDAsync) copy_to_device;
  decltype(&::cuMemcpyDtoHAsync) copy_to_host;
  decltype(&::cuMemcpyDtoDAsync) copy_on_device;
  decltype(&::cuMemsetD8Async) set_bytes;
  decltype(&::cuStreamCreateWithPriority) stream_create;
  decltype(&::cuStreamDestroy) stream_destroy;
  decltype(&::cuStreamSynchronize) stream_synchronize;
  decltype(&::cuStreamQuery) stream_query;
  decltype(&::cuStreamWriteValue32) stream_write_value;
  decltype(&::cuLibraryLoadData) library_load;
  decltype(&::cuLibraryUnload) library_unload;
  decltype(&::cuLibraryGetKernel) library_get_kernel;
  decltype(&::cuKernelSetAttribute) kernel_set_attribute;
  decltype(&::cuLaunchKernel) launch_kernel;
  decltype(&::cuGraphCreate) graph_create;
  decltype(&::cuGraphDestroy) graph_destroy;
  decltype(&::cuGraphAddKernelNode) graph_add_kernel;
  /// Null before CUDA 12.3.
  decltype(&::cuGraphAddDependencies_v2) graph_add_dependencies;
  decltype(&::cuGraphInstantiateWithFlags) graph_instantiate;
  decltype(&::cuGraphExecDestroy) graph_exec_destroy;
  decltype(&::cuGraphLaunch) graph_launch;

  /// An Error that says what CUDA says: Code::device_lost where the device is of no use any more.
  tl::unexpected<Error> failure(CUresult status, std::string_view doing) const;
};

/// The driver, ready for use; null where there is none, or one older than CUDA 12.
const Driver* driver() noexcept;

/// Makes a context the calling thread's own, for as long as it lives; a program may have others.
class ContextScope {
 public:
  ContextScope(const Driver& driver, CUcontext context) noexcept : driver_(driver) {
    driver_.context_push(context);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    CUcontext popped = nullptr;
    driver_.context_pop(&popped);
  }

 private:
  const Driver& driver_;
};

}  // namespace tacet::cuda
