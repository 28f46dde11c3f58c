#include "cuda/fake_driver.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "backends/cuda/run_block.hpp"

namespace tacet::test {

namespace {

constexpr std::size_t memory_total = std::size_t{8} << 30;

/// What the functions of a driver, which are told of no object, share.
struct State {
  std::atomic<long> calls{0};
  long fail_at = 0;
  CUresult status = CUDA_SUCCESS;
  bool for_good = false;
  std::atomic<long> held{0};
  std::function<void()> before_end;
  std::mutex mutex;
  std::map<void*, std::size_t> memory;
  std::size_t used = 0;
} state;

CUresult may_fail() noexcept {
  const long call = ++state.calls;
  const bool fails = call == state.fail_at || (state.for_good && call > state.fail_at);
  return state.fail_at != 0 && fails ? state.status : CUDA_SUCCESS;
}

void* take(std::size_t bytes) {
  const std::lock_guard lock(state.mutex);
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(data, 0, bytes);
  state.memory[data] = bytes;
  state.used += bytes;
  ++state.held;
  return data;
}
CUresult give_back(void* data) {
  const std::lock_guard lock(state.mutex);
  const auto it = state.memory.find(data);
  if (it == state.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  state.used -= it->second;
  state.memory.erase(it);
  std::free(data);
  --state.held;
  return CUDA_SUCCESS;
}
void* host(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

/// Something that is made and goes; its address is its handle.
template <typename Handle>
CUresult make(Handle* handle) {
  if (const CUresult status = may_fail(); status != CUDA_SUCCESS) return status;
  *handle = reinterpret_cast<Handle>(new char);
  ++state.held;
  return CUDA_SUCCESS;
}
template <typename Handle>
CUresult unmake(Handle handle) {
  delete reinterpret_cast<char*>(handle);
  --state.held;
  return CUDA_SUCCESS;
}

char the_context, ends_runs, does_nothing;

CUresult launch(CUfunction function, void** parameters) {
  if (const CUresult status = may_fail(); status != CUDA_SUCCESS) return status;
  if (reinterpret_cast<char*>(function) != &ends_runs) return CUDA_SUCCESS;
  auto* ended = *static_cast<std::uint32_t**>(parameters[0]);
  const auto& run = *static_cast<cuda::RunContext*>(parameters[1]);
  if (state.before_end) state.before_end();
  const std::uint32_t stop = __atomic_load_n(run.stop, __ATOMIC_ACQUIRE);
  if (stop != run.block->epoch) *ended = run.block->epoch;
  return CUDA_SUCCESS;
}

void set_device_functions(cuda::Driver& d) {
  d.init = [](unsigned) { return CUDA_SUCCESS; };
  d.get_error_name = [](CUresult, const char** name) {
    *name = "A_TEST";
    return CUDA_SUCCESS;
  };
  d.device_get_count = [](int* count) {
    *count = 1;
    return CUDA_SUCCESS;
  };
  d.device_get = [](CUdevice* device, int) {
    *device = 0;
    return may_fail();
  };
  d.device_get_name = [](char* name, int size, CUdevice) {
    std::strncpy(name, "a test", static_cast<std::size_t>(size));
    return may_fail();
  };
  d.device_get_attribute = [](int* value, CUdevice_attribute which, CUdevice) {
    switch (which) {
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
      case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *value = 228 * 1024;
        break;
      default:
        *value = 4;
    }
    return may_fail();
  };
  d.device_total_mem = [](std::size_t* bytes, CUdevice) {
    *bytes = memory_total;
    return may_fail();
  };
  d.primary_context_retain = [](CUcontext* context, CUdevice) {
    if (const CUresult status = may_fail(); status != CUDA_SUCCESS) return status;
    *context = reinterpret_cast<CUcontext>(&the_context);
    ++state.held;
    return CUDA_SUCCESS;
  };
  d.primary_context_release = [](CUdevice) {
    --state.held;
    return CUDA_SUCCESS;
  };
  d.context_push = [](CUcontext) { return CUDA_SUCCESS; };
  d.context_pop = [](CUcontext*) { return CUDA_SUCCESS; };
  d.stream_priority_range = [](int* least, int* most) {
    *least = *most = 0;
    return CUDA_SUCCESS;
  };
}

void set_memory_functions(cuda::Driver& d) {
  d.mem_get_info = [](std::size_t* free, std::size_t* total) {
    *free = memory_total - state.used;
    *total = memory_total;
    return may_fail();
  };
  d.mem_alloc = [](CUdeviceptr* data, std::size_t bytes) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) *data = reinterpret_cast<CUdeviceptr>(take(bytes));
    return status;
  };
  d.mem_free = [](CUdeviceptr data) { return give_back(host(data)); };
  d.mem_host_alloc = [](void** data, std::size_t bytes, unsigned) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) *data = take(bytes);
    return status;
  };
  d.mem_free_host = [](void* data) { return give_back(data); };
  d.mem_alloc_async = [](CUdeviceptr* data, std::size_t bytes, CUstream) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) *data = reinterpret_cast<CUdeviceptr>(take(bytes));
    return status;
  };
  d.mem_free_async = [](CUdeviceptr data, CUstream) { return give_back(host(data)); };
  d.default_mem_pool = [](CUmemoryPool* pool, CUdevice) {
    *pool = nullptr;
    return may_fail();
  };
  d.mem_pool_set = [](CUmemoryPool, CUmemPool_attribute, void*) { return may_fail(); };
  d.mem_pool_get = [](CUmemoryPool, CUmemPool_attribute, void* value) {
    *static_cast<std::uint64_t*>(value) = 0;
    return CUDA_SUCCESS;
  };
  d.mem_pool_trim = [](CUmemoryPool, std::size_t) { return CUDA_SUCCESS; };
  d.copy_to_device = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) std::memcpy(host(to), from, bytes);
    return status;
  };
  d.copy_to_host = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) std::memcpy(to, host(from), bytes);
    return status;
  };
  d.copy_on_device = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) std::memmove(host(to), host(from), bytes);
    return status;
  };
  d.set_bytes = [](CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS) std::memset(host(to), value, bytes);
    return status;
  };
}

void set_work_functions(cuda::Driver& d) {
  d.stream_create = [](CUstream* stream, unsigned, int) { return make(stream); };
  d.stream_destroy = [](CUstream stream) { return unmake(stream); };
  d.stream_synchronize = [](CUstream) { return may_fail(); };
  d.stream_query = [](CUstream) { return may_fail(); };
  d.stream_write_value = [](CUstream, CUdeviceptr to, cuuint32_t value, unsigned) {
    const CUresult status = may_fail();
    if (status == CUDA_SUCCESS)
      __atomic_store_n(static_cast<std::uint32_t*>(host(to)), value, __ATOMIC_RELEASE);
    return status;
  };
  d.library_load = [](CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                      CUlibraryOption*, void**, unsigned) { return make(library); };
  d.library_unload = [](CUlibrary library) { return unmake(library); };
  d.library_get_kernel = [](CUkernel* kernel, CUlibrary, const char* name) {
    const bool ends = std::string_view(name) == "end_of_run";
    *kernel = reinterpret_cast<CUkernel>(ends ? &ends_runs : &does_nothing);
    return may_fail();
  };
  d.kernel_set_attribute = [](CUfunction_attribute, int, CUkernel, CUdevice) { return may_fail(); };
  d.launch_kernel = [](CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, CUstream, void** parameters,
                       void**) { return launch(function, parameters); };
  d.graph_create = [](CUgraph* graph, unsigned) { return make(graph); };
  d.graph_destroy = [](CUgraph graph) { return unmake(graph); };
  d.graph_add_kernel = [](CUgraphNode* node, CUgraph, const CUgraphNode*, std::size_t,
                          const CUDA_KERNEL_NODE_PARAMS*) {
    *node = reinterpret_cast<CUgraphNode>(&does_nothing);
    return may_fail();
  };
  d.graph_add_dependencies = [](CUgraph, const CUgraphNode*, const CUgraphNode*,
                                const CUgraphEdgeData*, std::size_t) { return may_fail(); };
  d.graph_instantiate = [](CUgraphExec* graph, CUgraph, unsigned long long) { return make(graph); };
  d.graph_exec_destroy = [](CUgraphExec graph) { return unmake(graph); };
  d.graph_launch = [](CUgraphExec, CUstream) { return may_fail(); };
}

}  // namespace

FakeDriver::FakeDriver() {
  state.held = 0;
  state.before_end = {};
  fail(0, CUDA_SUCCESS);
  set_device_functions(driver_);
  set_memory_functions(driver_);
  set_work_functions(driver_);
}

void FakeDriver::fail(long n, CUresult status, bool for_good) noexcept {
  state.calls = 0;
  state.fail_at = n;
  state.status = status;
  state.for_good = for_good;
}
void FakeDriver::before_end(std::function<void()> call) {
  state.before_end = std::move(call);
}
long FakeDriver::calls() const noexcept {
  return state.calls;
}
long FakeDriver::held() const noexcept {
  return state.held;
}

}  // namespace tacet::test
