#include "backends/cpu/cpu_device.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <system_error>

#include "backends/cpu/executor.hpp"
#include "backends/cpu/gemm/packing.hpp"
#include "backends/cpu/ops/cut.hpp"

namespace tacet {

namespace {

using namespace cpu;

constexpr unsigned most_threads = 512;

unsigned usable_cores() noexcept {
  cpu_set_t set;
  const unsigned cores = sched_getaffinity(0, sizeof set, &set) == 0
                             ? static_cast<unsigned>(CPU_COUNT(&set))
                             : std::thread::hardware_concurrency();
  return std::clamp(cores, 1U, most_threads);
}

/// A line of /proc/meminfo in bytes; 0 if there is none.
std::uint64_t memory_info(std::string_view key) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes) {
    std::getline(file, unit);
    if (name == key) return kilobytes * 1024;
  }
  return 0;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "processor";
}

class HostBuffer final : public Buffer {
 public:
  explicit HostBuffer(std::size_t bytes) : bytes_(bytes), size_(bytes) {}
  /// Asks for huge pages, for what is read over and over; without them it works as well.
  void ask_for_huge_pages() noexcept {
    constexpr std::uintptr_t huge = 2u << 20;
    const auto begin = (reinterpret_cast<std::uintptr_t>(bytes_.data()) + huge - 1) / huge * huge;
    const auto end = (reinterpret_cast<std::uintptr_t>(bytes_.data()) + size_) / huge * huge;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }
  /// Clears the memory, which makes it resident; false if the stop came first.
  bool clear(const StopToken& stop) noexcept {
    for (std::size_t at = 0; at < size_; at += clear_at_once) {
      if (stop.possible() && stop.stop_requested()) return false;
      std::memset(bytes_.data() + at, 0, std::min(clear_at_once, size_ - at));
    }
    return true;
  }
  std::byte* data() const noexcept override { return bytes_.data(); }
  std::size_t size() const noexcept override { return size_; }

 private:
  /// One page fault, which takes up to about 20 us on a virtual machine.
  static constexpr std::size_t clear_at_once = 4096;
  AlignedBytes bytes_;
  std::size_t size_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(unsigned threads, Isa isa)
      : table_(kernel_table(isa)),
        scratch_((std::max(1U, threads - 1) + 1) * scratch_bytes),
        queue_(executor_),
        executor_(threads, scratch_pointers(threads)) {
    executor_.attach(queue_);
    info_.name = executor_.name();
    info_.description = fmt::format("{}, {}, {} thread{}", processor_name(), cpu::name(isa),
                                    threads, threads == 1 ? "" : "s");
    info_.memory_total = memory_info("MemTotal:");
    info_.stop_bound = executor_.stop_bound();
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  std::uint64_t memory_free() const override { return memory_info("MemAvailable:"); }

  const Kernel* find(const NodeView& node) const noexcept override {
    for (const CpuKernel& kernel : table_)
      if (kernel.op == node.op && (kernel.supports == nullptr || kernel.supports(node)))
        return &kernel;
    return nullptr;
  }

  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes, std::string_view purpose,
                                           const StopToken& stop) override {
    const std::uint64_t free = memory_free();
    if (free == 0 || bytes <= free) {
      try {
        auto buffer = std::make_unique<HostBuffer>(bytes);
        if (buffer->clear(stop)) return buffer;
        return fail(Code::stopped, "The allocation of {} was stopped.", purpose);
      } catch (const std::bad_alloc&) {
      }
    }
    return fail(
        Code::out_of_memory,
        "The host has no {:.1f} MiB for {} ({:.1f} MiB are free); use a smaller context or model.",
        mib(bytes), purpose, mib(free));
  }

  Result<std::unique_ptr<Buffer>> arrange(const ValueType& matrix, const std::byte* rows, Layout,
                                          const StopToken& stop) override {
    const std::size_t bytes = packed_bytes(matrix);
    const auto groups =
        static_cast<std::uint32_t>((matrix.shape.rows() + group_rows - 1) / group_rows);
    const std::uint32_t at_once = groups_at_once(matrix);
    try {
      auto buffer = std::make_unique<HostBuffer>(bytes);
      buffer->ask_for_huge_pages();
      for (std::uint32_t first = 0; first < groups; first += at_once) {
        TapeBuilder builder;
        builder.node("packing");
        emit_packing({matrix, rows, buffer->data(), first, std::min(at_once, groups - first)},
                     builder);
        auto packed = run(std::move(builder), stop);
        if (!packed) return fail(std::move(packed));
      }
      return buffer;
    } catch (const std::bad_alloc&) {
      return fail(
          Code::out_of_memory,
          "The host has no {:.1f} MiB for weights ({:.1f} MiB are free); use a smaller model.",
          mib(bytes), mib(memory_free()));
    }
  }

  Result<std::unique_ptr<Tape>> lower(const Part& part) override {
    TapeBuilder builder;
    for (const PlacedNode& node : part.nodes) {
      builder.node(node.name, most_seconds(node.view, part.rows));
      static_cast<const CpuKernel*>(node.kernel)->emit(node, builder);
    }
    auto arena = arena_of(part.arena_bytes);
    if (!arena) return fail(std::move(arena));
    return std::make_unique<CpuTape>(part, std::move(builder), std::move(*arena));
  }

  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Result<void> read(std::span<std::byte> to, const std::byte* from) override {
    return copy(to.data(), from, to.size());
  }
  Result<void> write(std::byte* to, std::span<const std::byte> from) override {
    return copy(to, from.data(), from.size());
  }

  RunQueue& queue() noexcept override { return queue_; }

 private:
  /// About how long one thread computes a node at most, with any number of keys.
  double most_seconds(const NodeView& node, std::uint32_t rows) const {
    double elements = 0;  // seconds of them
    for (const ValueType& output : node.outputs) {
      const double width = static_cast<double>(output.shape.width()) * rows;
      elements += node.op->writes_state
                      ? width * static_cast<double>(output.shape.rows()) *
                            stored_element_seconds(output.dtype, table_.element_seconds)
                      : width * table_.element_seconds;
    }
    const Work work = node.op->work(node, {rows, 1U << 20});
    // An estimate counts a multiply-add as two operations.
    return work.operations / 2 * table_.mac_seconds + work.bytes * table_.byte_seconds + elements;
  }

  static double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

  std::vector<std::byte*> scratch_pointers(unsigned threads) {
    std::vector<std::byte*> pointers;
    for (unsigned i = 0; i <= std::max(1U, threads - 1); ++i)
      pointers.push_back(scratch_.data() + i * scratch_bytes);
    return pointers;
  }

  /// Runs steps that need no arena.
  Result<void> run(TapeBuilder builder, const StopToken& stop) {
    auto arena = arena_of(0);
    if (!arena) return fail(std::move(arena));
    const CpuTape tape(Part{}, std::move(builder), std::move(*arena));
    auto submitted = queue_.submit({.tape = &tape, .args = {}, .token = stop});
    if (!submitted) return fail(std::move(submitted));
    RunHandle handle(queue_, **submitted);
    if (handle.wait().status == RunStatus::done) return {};
    return fail(Code::stopped, "The load was stopped.");
  }

  /// Runs execute one at a time, so all tapes share one arena: the largest that any of them needs.
  /// Tapes that were compiled before it grew keep the smaller one.
  Result<std::shared_ptr<AlignedBytes>> arena_of(std::size_t bytes) {
    const std::lock_guard lock(arena_mutex_);
    if (arena_ == nullptr || bytes > arena_bytes_) {
      try {
        arena_ = std::make_shared<AlignedBytes>(std::max<std::size_t>(bytes, 64));
      } catch (const std::bad_alloc&) {
        return fail(
            Code::out_of_memory,
            "The host has no {:.1f} MiB for intermediate values; use a smaller context or model.",
            mib(bytes));
      }
      arena_bytes_ = bytes;
    }
    return arena_;
  }

  KernelTable table_;
  AlignedBytes scratch_;
  RunQueue queue_;  ///< goes after the executor, whose threads use it to the last
  CpuExecutor executor_;
  DeviceInfo info_;
  std::mutex arena_mutex_;
  std::shared_ptr<AlignedBytes> arena_;
  std::size_t arena_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options) {
  const unsigned threads = options.threads == 0 ? usable_cores() : options.threads;
  if (threads > most_threads)
    return fail(Code::invalid_argument, "{} threads are too many; use at most {}.", threads,
                most_threads);
  try {
    return std::make_unique<CpuDevice>(threads, options.isa);
  } catch (const std::system_error&) {
    return fail(Code::out_of_memory,
                "The system refuses {} threads; use fewer, free some memory, or raise the "
                "limits (ulimit -v, ulimit -u).",
                threads);
  }
}

}  // namespace tacet
