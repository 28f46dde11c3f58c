#include "backends/cuda/cuda_device.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

#include "backends/cuda/executor.hpp"
#include "backends/cuda/gemm/tiles.hpp"
#include "backends/cuda/modules.hpp"
#include "backends/cuda/open_device.hpp"
#include "backends/cuda/table.hpp"
#include "ops/ops.hpp"

namespace tacet {

namespace {

using namespace cuda;

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

/// Memory of a GPU, from its pool.
class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(const Gpu& gpu, CUdeviceptr data, std::size_t size, CUstream stream) noexcept
      : gpu_(gpu), data_(data), size_(size), stream_(stream) {}
  ~CudaBuffer() override {
    const auto scope = gpu_.scope();
    gpu_.driver->mem_free_async(data_, stream_);
  }
  std::byte* data() const noexcept override { return reinterpret_cast<std::byte*>(data_); }
  std::size_t size() const noexcept override { return size_; }

 private:
  Gpu gpu_;
  CUdeviceptr data_;
  std::size_t size_;
  CUstream stream_;
};

/// Holds a GPU's context.
class HeldContext {
 public:
  explicit HeldContext(const Gpu& gpu) noexcept : gpu_(gpu) {}
  HeldContext(const HeldContext&) = delete;
  HeldContext& operator=(const HeldContext&) = delete;
  ~HeldContext() { gpu_.driver->primary_context_release(gpu_.device); }
  const Gpu& gpu() const noexcept { return gpu_; }

 private:
  Gpu gpu_;
};

class CudaDevice final : public Device {
 public:
  /// Takes over the hold on the context.
  CudaDevice(const Gpu& gpu, int index, GateFunction at_gate)
      : held_(gpu),
        kernels_of_gpu_(gpu),
        executor_(gpu, fmt::format("cuda:{}", index), std::move(at_gate)),
        queue_(executor_) {}

  ~CudaDevice() override {
    executor_.close();  // its thread uses the queue to the last
    const auto scope = gpu().scope();
    arena_.reset();
    if (copies_ != nullptr) driver().stream_destroy(copies_);
  }

  Result<void> open() {
    const auto scope = gpu().scope();
    char name[128] = {};
    int major = 0, minor = 0, multiprocessors = 0, shared_bytes = 0;
    std::size_t memory = 0;
    auto status = driver().device_get_name(name, sizeof name - 1, gpu().device);
    const auto attribute = [&](int& value, CUdevice_attribute which) {
      if (status == CUDA_SUCCESS)
        status = driver().device_get_attribute(&value, which, gpu().device);
    };
    attribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    attribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    attribute(multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    attribute(shared_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    if (status == CUDA_SUCCESS) status = driver().device_total_mem(&memory, gpu().device);
    if (status == CUDA_SUCCESS)
      status = driver().stream_create(&copies_, CU_STREAM_NON_BLOCKING, 0);
    if (status == CUDA_SUCCESS) status = driver().default_mem_pool(&pool_, gpu().device);
    // What is freed is kept for the next allocation, until memory is short.
    std::uint64_t kept = UINT64_MAX;
    if (status == CUDA_SUCCESS)
      status = driver().mem_pool_set(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
    if (status != CUDA_SUCCESS) return driver().failure(status, "it was opened");
    if (major < 8)
      return fail(Code::unsupported,
                  "{} ({}) has compute capability {}.{}; tacet needs 8.0 (Ampere) or later.",
                  executor_.name(), name, major, minor);
    size_ = {static_cast<std::uint32_t>(multiprocessors), static_cast<std::size_t>(shared_bytes)};
    info_ = {.name = std::string(executor_.name()),
             .description = fmt::format("{}, compute capability {}.{}, {} multiprocessors", name,
                                        major, minor, multiprocessors),
             .memory_total = memory,
             .stop_bound = executor_.stop_bound(),
             .reads_host_memory = false,
             // A product and the norm before it, or what is written of rotated keys, are one
             // launch.
             .overlap = 1};
    for (const auto& rows :
         {elementwise_kernels(), norm_kernels(), rope_kernels(), gather_kernels(),
          kv_write_kernels(), attention_kernels(), matmul_kernels(), top_k_kernels()})
      kernels_.insert(kernels_.end(), rows.begin(), rows.end());
    return executor_.open(queue_, kernels_of_gpu_);
  }

  const DeviceInfo& info() const noexcept override { return info_; }

  std::uint64_t memory_free() const override {
    const auto scope = gpu().scope();
    std::size_t free = 0, total = 0;
    if (driver().mem_get_info(&free, &total) != CUDA_SUCCESS) return 0;
    std::uint64_t reserved = 0, used = 0;
    driver().mem_pool_get(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
    driver().mem_pool_get(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    return free + (reserved - used);
  }

  const Kernel* find(const NodeView& node) const noexcept override {
    for (const CudaKernel& kernel : kernels_)
      if (kernel.op == node.op && (kernel.supports == nullptr || kernel.supports(node)))
        return &kernel;
    return nullptr;
  }

  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes, std::string_view purpose,
                                           const StopToken& stop) override {
    if (stop.stop_requested())
      return fail(Code::stopped, "The allocation of {} was stopped.", purpose);
    auto buffer = take(bytes, purpose);
    if (!buffer) return buffer;
    const auto scope = gpu().scope();
    auto status = driver().set_bytes(pointer((*buffer)->data()), 0, bytes, copies_);
    if (status == CUDA_SUCCESS) status = driver().stream_synchronize(copies_);
    if (status != CUDA_SUCCESS) return driver().failure(status, "memory was cleared");
    return buffer;
  }

  Result<std::unique_ptr<Buffer>> arrange(const ValueType& value, const std::byte* data,
                                          Layout layout, const StopToken& stop) override {
    const auto rows = static_cast<std::size_t>(value.shape.rows());
    const auto columns = static_cast<std::size_t>(value.shape.width());
    const bool tiled = layout == Layout::tiles && has_tiles(value.dtype);
    const std::size_t group_bytes =
        tiled ? tiled_bytes(value.dtype, tile_rows, columns) : row_bytes(value.dtype, columns);
    const std::size_t groups = tiled ? (rows + tile_rows - 1) / tile_rows : rows;
    auto buffer = take(groups * group_bytes, "weights");
    if (!buffer) return buffer;
    // Some groups at a time. Each thread puts its share of them into tiles.
    const std::size_t at_once = std::max<std::size_t>(1, arranged_at_once / group_bytes);
    std::vector<std::byte> tiles(tiled ? std::min(at_once, groups) * group_bytes : 0);
    for (std::size_t first = 0; first < groups; first += at_once) {
      if (stop.stop_requested()) return fail(Code::stopped, "The load was stopped.");
      const std::size_t count = std::min(at_once, groups - first);
      const auto tile = [&](std::size_t begin, std::size_t end) {
        for (std::size_t g = begin; g < end; ++g)
          tile_group(value.dtype, data, rows, columns, first + g, tiles.data() + g * group_bytes);
      };
      if (tiled) in_parallel(count, tile);
      const std::byte* from = tiled ? tiles.data() : data + first * group_bytes;
      auto written = write((*buffer)->data() + first * group_bytes, {from, count * group_bytes});
      if (!written) return fail(std::move(written));
    }
    return buffer;
  }

  Result<std::unique_ptr<Tape>> lower(const Part& part) override {
    const std::lock_guard lock(mutex_);
    const auto scope = gpu().scope();
    auto tape = std::make_unique<CudaTape>(part);
    // Behind the arena lie the logits, and behind them the stream.
    const auto behind = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    std::size_t logits_bytes = 0, stream_bytes = 0;
    const auto find = [](std::span<const Ref> refs, std::span<const ValueType> types,
                         Ref::Space space, std::size_t& width, std::size_t& bytes) {
      for (std::size_t i = 0; i < refs.size(); ++i) {
        if (refs[i].space != space) continue;
        width = static_cast<std::size_t>(types[i].shape.width());
        bytes = static_cast<std::size_t>(types[i].shape.elements()) * sizeof(float);
      }
    };
    for (const PlacedNode& node : part.nodes) {
      find(node.outputs, node.view.outputs, Ref::Space::logits, tape->logits_width, logits_bytes);
      find(node.inputs, node.view.inputs, Ref::Space::stream, tape->stream_width, stream_bytes);
    }
    const std::size_t logits_at = behind(part.arena_bytes);
    const std::size_t stream_at = behind(logits_at + logits_bytes);
    auto arena = arena_of(stream_at + stream_bytes);
    if (!arena) return fail(std::move(arena));
    tape->arena = std::move(*arena);
    tape->logits = reinterpret_cast<const float*>(tape->arena->data() + logits_at);
    tape->stream = tape->arena->data() + stream_at;
    TapeBuilder builder(tape->arena->data(), logits_at, stream_at, executor_.arrivals(), size_);
    for (const PlacedNode& node : part.nodes) {
      static_cast<const CudaKernel*>(node.kernel)->emit(node, builder);
      builder.launches.take_seconds(estimate(node.view, part.rows));
    }
    const auto launches = builder.launches.take();
    tape->steps = static_cast<std::uint32_t>(launches.size());
    auto segments = make_segments(launches, part.rows, executor_.context(), gpu(), kernels_of_gpu_);
    if (!segments) return fail(std::move(segments));
    tape->segments = std::move(*segments);
    return tape;
  }

  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    const auto scope = gpu().scope();
    return copied(driver().copy_on_device(pointer(to), pointer(from), bytes, copies_));
  }
  Result<void> read(std::span<std::byte> to, const std::byte* from) override {
    const auto scope = gpu().scope();
    return copied(driver().copy_to_host(to.data(), pointer(from), to.size(), copies_));
  }
  Result<void> write(std::byte* to, std::span<const std::byte> from) override {
    const auto scope = gpu().scope();
    return copied(driver().copy_to_device(pointer(to), from.data(), from.size(), copies_));
  }

  RunQueue& queue() noexcept override { return queue_; }

 private:
  static constexpr std::size_t arranged_at_once = 16 << 20;

  /// Calls `part(begin, end)` for parts of 0 to `count` on several threads, as many as the system
  /// gives.
  template <typename Part>
  void in_parallel(std::size_t count, const Part& part) const {
    const std::size_t share = (count + threads_ - 1) / threads_;
    std::vector<std::jthread> helpers;
    std::size_t begin = 0;
    try {
      helpers.reserve(threads_);
      for (; begin + share < count; begin += share)
        helpers.emplace_back(part, begin, begin + share);
    } catch (const std::system_error&) {
      // What no thread was given is done here.
    }
    part(begin, count);
  }

  const Gpu& gpu() const noexcept { return held_.gpu(); }
  const Driver& driver() const noexcept { return *gpu().driver; }

  /// Waits for a copy that was submitted.
  Result<void> copied(CUresult status) {
    if (status == CUDA_SUCCESS) status = driver().stream_synchronize(copies_);
    if (status != CUDA_SUCCESS) return driver().failure(status, "memory was copied");
    return {};
  }

  /// Memory that is not cleared.
  Result<std::unique_ptr<Buffer>> take(std::size_t bytes, std::string_view purpose) {
    const auto scope = gpu().scope();
    CUdeviceptr data = 0;
    const std::size_t taken = std::max<std::size_t>(bytes, 64);
    auto status = driver().mem_alloc_async(&data, taken, copies_);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
      driver().mem_pool_trim(pool_, 0);
      status = driver().mem_alloc_async(&data, taken, copies_);
    }
    if (status == CUDA_SUCCESS) {
      auto buffer = std::make_unique<CudaBuffer>(gpu(), data, bytes, copies_);
      status = driver().stream_synchronize(copies_);
      if (status == CUDA_SUCCESS) return buffer;
    }
    if (status != CUDA_ERROR_OUT_OF_MEMORY) return driver().failure(status, "memory was allocated");
    return fail(
        Code::out_of_memory,
        "{} has no {:.1f} MiB for {} ({:.1f} MiB are free); use a smaller context or model, "
        "fewer layers on the GPU (--gpu-layers), or the device cpu.",
        info_.name, mib(bytes), purpose, mib(memory_free()));
  }

  /// Runs execute one at a time, so all tapes share one arena: the largest that any of them needs.
  /// Tapes that were compiled before it grew keep the smaller one.
  Result<std::shared_ptr<DeviceMemory>> arena_of(std::size_t bytes) {
    if (arena_ != nullptr && bytes <= arena_bytes_) return arena_;
    const std::size_t taken = std::max<std::size_t>(bytes, 256);
    auto memory = DeviceMemory::on_device(gpu(), taken);
    if (!memory) {
      driver().mem_pool_trim(pool_, 0);
      memory = DeviceMemory::on_device(gpu(), taken);
    }
    if (!memory)
      return fail(
          Code::out_of_memory,
          "{} has no {:.1f} MiB for intermediate values ({:.1f} MiB are free); use a smaller "
          "context or model, or fewer layers on the GPU (--gpu-layers).",
          info_.name, mib(bytes), mib(memory_free()));
    arena_ = std::make_shared<DeviceMemory>(std::move(memory));
    arena_bytes_ = bytes;
    return arena_;
  }

  static double estimate(const NodeView& node, std::uint32_t rows) {
    const Work work = node.op->work(node, {rows, std::max(rows, 512U)});
    return std::max(work.bytes / 2e12, work.operations / 50e12) + 2e-6;
  }

  HeldContext held_;  ///< goes last
  LoadedKernels kernels_of_gpu_;
  DeviceInfo info_;
  GpuSize size_;
  std::vector<CudaKernel> kernels_;
  CUstream copies_ = nullptr;
  CUmemoryPool pool_ = nullptr;
  const std::size_t threads_ = std::max(1U, std::thread::hardware_concurrency());
  std::mutex mutex_;
  std::shared_ptr<DeviceMemory> arena_;
  std::size_t arena_bytes_ = 0;
  CudaExecutor executor_;
  RunQueue queue_;
};

}  // namespace

int cuda_device_count() noexcept {
  const Driver* driver = cuda::driver();
  int count = 0;
  if (!has_kernels() || driver == nullptr || driver->device_get_count(&count) != CUDA_SUCCESS)
    return 0;
  return count;
}

Result<std::unique_ptr<Device>> make_cuda_device(int index) {
  if (!has_kernels())
    return fail(Code::unsupported,
                "This build has no CUDA kernels, so there is no device cuda:{}; build it with "
                "TACET_CUDA_KERNELS=ON, or use the device cpu.",
                index);
  const int count = cuda_device_count();
  if (index < 0 || index >= count)
    return fail(Code::invalid_argument,
                "There is no device cuda:{}; this machine has {} that can be used.", index, count);
  return cuda::open_device(*cuda::driver(), index);
}

Result<std::unique_ptr<Device>> cuda::open_device(const Driver& driver, int index,
                                                  GateFunction at_gate) {
  Gpu gpu{.driver = &driver};
  auto status = driver.device_get(&gpu.device, index);
  int major = 0;
  if (status == CUDA_SUCCESS)
    status = driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                         gpu.device);
  gpu.begins_early = major == 9 && driver.graph_add_dependencies != nullptr;
  if (status == CUDA_SUCCESS) status = driver.primary_context_retain(&gpu.context, gpu.device);
  if (status != CUDA_SUCCESS)
    return driver.failure(status, fmt::format("cuda:{} was opened", index));
  auto device = std::make_unique<CudaDevice>(gpu, index, std::move(at_gate));
  if (auto opened = device->open(); !opened) return fail(std::move(opened));
  return device;
}

}  // namespace tacet
