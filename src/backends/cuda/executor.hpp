#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "backends/cuda/tape.hpp"
#include "backends/run_queue.hpp"

namespace tacet::cuda {

/// Called before a segment is submitted, from the executor's thread, with the number of those of
/// the run that were: how tests stop a run at a gate.
using GateFunction = std::function<void(std::size_t submitted)>;

/// Runs tapes on one GPU, one after the other, on a thread of its own. The segments of a tape are
/// submitted two at a time, so that little is left to drain when a stop comes; a stop is also
/// stored in the device's stop word, through a second stream, where every kernel looks.
class CudaExecutor final : public Executor {
 public:
  CudaExecutor(const Gpu& gpu, std::string name, GateFunction at_gate)
      : gpu_(gpu), name_(std::move(name)), at_gate_(std::move(at_gate)) {}
  ~CudaExecutor() override;

  /// Makes streams and memory, and starts the thread.
  Result<void> open(RunQueue& queue, LoadedKernels& kernels);
  /// Ends the thread; all runs must have ended.
  void close() noexcept;
  /// What kernels are told, the same for all runs.
  RunContext context() const noexcept {
    return {reinterpret_cast<const RunBlock*>(fixed_.data()),
            reinterpret_cast<const std::uint32_t*>(fixed_.data() + stop_at)};
  }
  std::uint32_t* arrivals() const noexcept {
    return reinterpret_cast<std::uint32_t*>(fixed_.data() + arrivals_at);
  }
  void start(RunState& run) noexcept override;
  void raised(RunState& run) noexcept override;
  std::string_view name() const noexcept override { return name_; }
  std::chrono::nanoseconds stop_bound() const noexcept override {
    return std::chrono::microseconds(250);
  }
  bool reads_host_signals() const noexcept override { return false; }

 private:
  static constexpr std::size_t stop_at = 512, arrivals_at = 1024;
  static constexpr std::size_t fixed_bytes = arrivals_at + arrival_words * sizeof(std::uint32_t);
  struct Ended;

  void work() noexcept;
  Ended execute_or_fail(RunState& run) noexcept;
  Ended execute(RunState& run);
  Result<void> upload(const RunArgs& args, std::uint32_t epoch);
  Result<void> bring_stream(const CudaTape& tape, const RunState& run);
  Result<void> mark_progress();
  Result<void> wait_for(std::uint32_t progress);
  Result<void> end_run(const CudaTape& tape, std::size_t floats);
  bool store(CUstream stream, const void* to, std::uint32_t value) const noexcept;

  const Gpu gpu_;
  const std::string name_;
  const GateFunction at_gate_;
  RunQueue* queue_ = nullptr;
  CUstream stream_ = nullptr;  ///< runs
  CUstream side_ = nullptr;    ///< stops
  CUkernel end_ = nullptr;
  DeviceMemory fixed_;     ///< the RunBlock, the stop word, and arrivals
  DeviceMemory variable_;  ///< what the RunBlock points to
  DeviceMemory staging_;   ///< of both, on the host
  DeviceMemory results_;   ///< logits, on the host
  DeviceMemory words_;     ///< on the host: progress, and the epoch of the run that came to its end
  std::uint32_t progress_ = 0;  ///< the last number that was asked for
  bool lost_ = false;
  bool cut_short_ = false;  ///< the last run was, and blocks may have left arrivals behind

  std::mutex mutex_;
  std::condition_variable changed_;
  RunState* next_ = nullptr;
  RunState* current_ = nullptr;
  std::uint32_t epoch_ = 0;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace tacet::cuda
