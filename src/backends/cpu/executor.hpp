#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cpu/tape.hpp"
#include "backends/run_queue.hpp"
#include "base/aligned_bytes.hpp"

namespace tacet::cpu {

/// A compiled part: steps, and the memory they share.
class CpuTape final : public Tape {
 public:
  CpuTape(const Part& part, TapeBuilder builder, std::shared_ptr<AlignedBytes> arena);

  std::span<const TapeStep> steps() const noexcept { return steps_; }
  std::uint32_t step_count() const noexcept override {
    return static_cast<std::uint32_t>(steps_.size());
  }
  std::byte* arena() const noexcept { return arena_->data(); }

 private:
  friend class CpuExecutor;
  std::vector<TapeStep> steps_;
  std::vector<std::unique_ptr<std::byte[]>> arguments_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::shared_ptr<AlignedBytes> arena_;
  /// The executor's, while the tape runs: the number of the first chunk of each step, and the
  /// number of all; how long a chunk of each step takes at most.
  mutable std::vector<std::uint64_t> first_chunk_;
  mutable std::vector<float> chunk_seconds_;
};

/// Runs tapes on a few threads. All chunks of a tape are numbered in order, and threads take
/// numbers from one counter. A thread that holds a chunk of a later step, or of a later round of
/// the same one, waits until the chunks before are done: a count, not a barrier of threads, so a
/// thread that the system does not run holds nobody up unless it holds a chunk. Each thread looks
/// at the stop word before each chunk and while it waits, and at bytes and deadlines while it waits
/// and before it has worked for longer than the stop bound since its last look, by an estimate.
class CpuExecutor final : public Executor {
 public:
  /// Starts threads - 1 threads, at least one; the thread that waits for a run is the last one.
  /// Throws std::system_error if the system refuses.
  CpuExecutor(unsigned threads, std::span<std::byte* const> scratch);
  ~CpuExecutor() override;

  void attach(RunQueue& queue) noexcept { queue_ = &queue; }
  void start(RunState& run) noexcept override;
  bool lend(RunState& run) noexcept override;
  bool reads_host_signals() const noexcept override { return true; }
  std::string_view name() const noexcept override { return "cpu"; }
  std::chrono::nanoseconds stop_bound() const noexcept override {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(chunk_seconds * 1e9));
  }

 private:
  void work(unsigned index) noexcept;
  bool join(const RunState* waited) noexcept;
  void leave(bool lent) noexcept;
  void end_run() noexcept;
  void take_chunks(std::byte* scratch, RunState* waiter) noexcept;

  const unsigned threads_;
  const std::vector<std::byte*> scratch_;  ///< one for each worker, then one for the waiter
  RunQueue* queue_ = nullptr;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool quit_ = false;
  bool open_ = false;  ///< the current run may be joined
  unsigned participants_ = 0;
  bool lent_ = false;  ///< the waiter's place is taken
  std::atomic<std::uint64_t> started_ = 0;

  // The current run.
  RunState* run_ = nullptr;
  const CpuTape* tape_ = nullptr;
  std::uint64_t chunks_ = 0;
  alignas(64) std::atomic<std::uint64_t> next_ = 0;
  alignas(64) std::atomic<std::uint64_t> done_ = 0;

  std::vector<std::thread> workers_;
};

}  // namespace tacet::cpu
