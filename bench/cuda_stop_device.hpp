#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "backends/cuda/run_block.hpp"
#include "base/spin.hpp"

/// How cuda_stop runs graphs and stops them: as the backend's executor does.
namespace tacet::bench {

using Clock = std::chrono::steady_clock;
using cuda::RunContext;

/// Launches the kernel that tells the host of a run's end.
void launch_end(std::uint32_t* ended, const RunContext& run, CUstream stream);

inline double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// Throws a sentence if CUDA refused.
inline void check(CUresult status, const char* doing) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(status, &name);
  throw std::runtime_error(std::string("CUDA says ") +
                           (name != nullptr ? name : "an unknown error") + " while " + doing + ".");
}
inline void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string("CUDA says ") + cudaGetErrorName(status) + " while " +
                           doing + ".");
}

struct DestroyGraph {
  void operator()(CUgraphExec graph) const noexcept { cuGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<CUgraphExec>, DestroyGraph>;

struct FreeMemory {
  void operator()(void* memory) const noexcept { cudaFree(memory); }
};
/// Memory of the device.
template <typename T>
using Array = std::unique_ptr<T[], FreeMemory>;

template <typename T>
Array<T> allocate(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "memory of the device was asked for");
  return Array<T>(static_cast<T*>(memory));
}

/// What became of a run that was asked to stop.
struct Stop {
  double microseconds;  ///< from just before the store to the idle device
  bool is_known;        ///< the end of the run saw it; without it the run is done
};

/// A device, two streams of it, and the words that runs need. For one thread.
class Device {
 public:
  /// @throws std::runtime_error, as all of its functions do.
  explicit Device(int index) : index_(index) {
    check(cudaSetDevice(index), "the device was opened");
    check(cudaGetDeviceProperties(&properties_, index), "the device was asked what it is");
    int least = 0, most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most), "streams were made");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, least),
          "streams were made");
    check(cudaStreamCreateWithPriority(&side_, cudaStreamNonBlocking, most), "streams were made");
    fixed_ = allocate<std::uint32_t>(256);
    check(cudaMemset(fixed_.get(), 0, 256 * sizeof(std::uint32_t)), "memory was cleared");
    void* words = nullptr;
    check(cudaHostAlloc(&words, 64, cudaHostAllocMapped), "pinned memory was asked for");
    words_ = static_cast<volatile std::uint32_t*>(words);
    words_[0] = 0;
    words_[1] = 0;
    check(cudaDeviceSynchronize(), "memory was cleared");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const cudaDeviceProp& properties() const { return properties_; }
  CUstream stream() const { return stream_; }
  RunContext context() const {
    return {reinterpret_cast<const cuda::RunBlock*>(fixed_.get()), fixed_.get() + stop_at};
  }

  /// Runs graphs one behind the other, two of them in flight at most; microseconds from before the
  /// first one was submitted to the idle device.
  double run(std::span<const Graph> graphs) {
    const auto begin = Clock::now();
    begin_run();
    const auto idle = execute(graphs);
    if (words_[1] != epoch_) throw std::runtime_error("A run that nobody stopped has not ended.");
    return microseconds(idle - begin);
  }

  /// As `run`, with a stop asked by a second thread; nothing if all had ended before.
  std::optional<Stop> stop(std::span<const Graph> graphs, double after_microseconds) {
    Clock::time_point begin, idle, asked = Clock::time_point::max();
    CUresult status = CUDA_SUCCESS;
    begin_run();
    {
      std::atomic<bool> is_ready = false, is_begun = false, is_over = false;
      const auto raise = [&] {
        // A thread's first call takes longer.
        cudaSetDevice(index_);
        status = store(side_, fixed_.get() + spare_at, 0);
        is_ready = true;
        while (!is_begun) spin_pause();
        while (microseconds(Clock::now() - begin) < after_microseconds)
          if (is_over) return;
        if (is_over) return;
        asked = Clock::now();
        is_stopped_.store(true, std::memory_order_relaxed);
        if (status == CUDA_SUCCESS) status = store(side_, fixed_.get() + stop_at, epoch_);
      };
      std::jthread raiser(raise);
      struct Release {
        std::atomic<bool>&is_begun, &is_over;
        ~Release() {
          is_over = true;
          is_begun = true;
        }
      } const release{is_begun, is_over};
      while (!is_ready) spin_pause();
      begin = Clock::now();
      is_begun = true;
      idle = execute(graphs);
    }
    check(status, "a run was told to stop");
    if (asked >= idle) return {};
    return Stop{microseconds(idle - asked), words_[1] != epoch_};
  }

 private:
  static constexpr std::size_t stop_at = 128, spare_at = 192;

  static CUresult store(CUstream stream, volatile void* to, std::uint32_t value) {
    return cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(to), value,
                                CU_STREAM_WRITE_VALUE_DEFAULT);
  }

  void begin_run() {
    ++epoch_;
    is_stopped_ = false;
  }

  void mark_progress() {
    check(store(stream_, words_, progress_ + 1), "a run was watched");
    ++progress_;
  }

  /// Waits until the device has come to a number of `progress_`.
  void wait_for(std::uint32_t progress) const {
    const auto begin = Clock::now();
    for (std::uint32_t spins = 1;; ++spins) {
      if (static_cast<std::int32_t>(words_[0] - progress) >= 0) return;
      spin_pause();
      if (spins % 8192 != 0) continue;
      const CUresult status = cuStreamQuery(stream_);
      if (status != CUDA_ERROR_NOT_READY) check(status, "a run was computed");
      if (Clock::now() - begin > std::chrono::seconds(20))
        throw std::runtime_error("The device has computed one run for 20 seconds; is it shared?");
    }
  }

  /// When all was over.
  Clock::time_point execute(std::span<const Graph> graphs) {
    constexpr std::size_t most_in_flight = 2;
    const std::uint32_t first = progress_;
    check(store(stream_, fixed_.get(), epoch_), "a run began");
    std::size_t submitted = 0;
    for (; submitted < graphs.size(); ++submitted) {
      if (submitted >= most_in_flight)
        wait_for(first + static_cast<std::uint32_t>(submitted - most_in_flight) + 1);
      if (is_stopped_.load(std::memory_order_relaxed)) break;
      check(cuGraphLaunch(graphs[submitted].get(), stream_), "a graph was started");
      mark_progress();
    }
    if (submitted == graphs.size()) {
      launch_end(const_cast<std::uint32_t*>(words_) + 1, context(), stream_);
      mark_progress();
    }
    wait_for(progress_);
    return Clock::now();
  }

  int index_;
  cudaDeviceProp properties_{};
  CUstream stream_ = nullptr, side_ = nullptr;
  Array<std::uint32_t> fixed_;  ///< the RunBlock, of which only the epoch is used; the stop word
  volatile std::uint32_t* words_ = nullptr;  ///< of the host: the progress; the epoch that ended
  std::uint32_t epoch_ = 0, progress_ = 0;
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace tacet::bench
