#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/run_args.hpp"
#include "base/result.hpp"
#include "base/stop_slot.hpp"
#include "base/stop_state.hpp"

namespace tacet {

class Tape;
class RunQueue;

/// How a run ended.
enum class RunStatus : std::uint8_t { done, stopped, failed };

/// What is known of a run that ended.
struct RunResult {
  RunStatus status = RunStatus::done;
  StopReason reason = StopReason::none;  ///< of a stopped run
  std::optional<Error> error;            ///< of a failed run
  Clock::time_point requested_at{};      ///< of a stopped run: when the stop was asked for, or seen
  Clock::time_point idle_at{};           ///< when the device had left the run
  std::uint32_t steps_done = 0;          ///< tape steps that were finished
  std::uint32_t steps = 0;               ///< tape steps in all
};

/// What is asked of a device.
struct RunRequest {
  const Tape* tape = nullptr;
  RunArgs args;
  StopToken token;
  /// Runs with the same chain (a session) that are queued behind one that stops or fails, stop with
  /// it.
  const void* chain = nullptr;
};

/// What one of several sessions of a run asks for.
struct RiderRequest {
  StopToken token;
  const void* chain = nullptr;
};

/// One submission: its slot, its signals, its state. Owned by the queue; handed out by RunHandle.
/// A run of several sessions has a carrier, which is what the device executes, and for each session
/// a rider. A rider that stops ends at once, and what the run computes for it is for nobody; the
/// run stops when the last of its riders does.
class RunState final : public detail::StopListener {
 public:
  explicit RunState(RunQueue& queue) noexcept : queue_(queue) {}

  const RunRequest& request() const noexcept { return request_; }
  /// The word that a device polls.
  const std::atomic<std::uint32_t>& stop_word() const noexcept { return slot_.word(); }
  /// Bytes, deadlines and countdowns, for a device that reads host memory; null if there are none.
  const detail::HostSignals* host_signals() const noexcept {
    return watched_ ? &signals_ : nullptr;
  }
  /// Callbacks, for the thread that waits; null if there are none.
  const detail::HostSignals* callbacks() const noexcept {
    return signals_.callbacks.empty() ? nullptr : &signals_;
  }
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  /// The run that carries this one; itself if it is no rider.
  RunState& carrier() noexcept { return carrier_ != nullptr ? *carrier_ : *this; }

  /// Asks this run alone to stop; nothing happens if it has ended. Any thread.
  void raise(StopReason reason, Clock::time_point when) noexcept;
  void on_stop(StopReason reason, Clock::time_point when) noexcept override { raise(reason, when); }

 private:
  friend class RunQueue;
  enum class Phase : std::uint8_t { preparing, queued, running, riding, ended };

  RunQueue& queue_;
  RunRequest request_;
  StopSlot slot_;
  std::uint64_t epoch_ = 0;
  std::uint64_t serial_ = 0;  ///< order of submission
  detail::HostSignals signals_;
  bool watched_ = false;
  bool relayed_ = false;
  Phase phase_ = Phase::ended;
  RunState* carrier_ = nullptr;    ///< of a rider
  std::vector<RunState*> riders_;  ///< of a carrier: those that have not ended
  RunResult result_;
  std::atomic<bool> finished_ = true;
  std::condition_variable changed_;
};

/// What a device does with the run at the head of its queue.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Starts `run` and returns at once; the executor calls `RunQueue::finish` when the device has
  /// left it. Runs start one at a time.
  virtual void start(RunState& run) noexcept = 0;
  /// Lends the calling thread to `run`, or to what carries it, for a while, until `run` is to
  /// stop. Returns false at once if that is of no use.
  virtual bool lend(RunState&) noexcept { return false; }
  /// Told, with no lock held, after the stop word of a running run was set.
  virtual void raised(RunState&) noexcept {}
  /// The device's name, for errors.
  virtual std::string_view name() const noexcept = 0;
  /// The longest work between two polls; 0: the device states none, and takes no runs with a token.
  virtual std::chrono::nanoseconds stop_bound() const noexcept = 0;
  /// Whether the executor looks at `host_signals` itself; otherwise the relay does.
  virtual bool reads_host_signals() const noexcept = 0;
};

/// The runs of one device in the order of their submission: starts them, stops queued ones, and
/// hands out results. All logic of runs that does not depend on a device is here. Thread-safe.
class RunQueue {
 public:
  explicit RunQueue(Executor& executor) noexcept : executor_(executor) {}
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;
  /// All runs must have ended.
  ~RunQueue() = default;

  /// Submits a run that its tape accepts (Tape::check). It makes progress without a waiter. After
  /// the first few runs nothing is allocated here.
  Result<RunState*> submit(const RunRequest& request);
  /// Submits a run of several sessions, whose request has no token and no chain; `riders` receives
  /// a run for each of `requests`. All of them end before the carrier, which is the result, and are
  /// to be released before it.
  Result<RunState*> submit_shared(const RunRequest& request, std::span<const RiderRequest> requests,
                                  std::span<RunState*> riders);
  /// Waits until the run has ended, calling its token's callbacks, and lending the thread where the
  /// device takes it.
  void wait(RunState& run) noexcept;
  /// The result of a run that has ended.
  const RunResult& result(const RunState& run) const noexcept { return run.result_; }
  std::optional<Error> take_error(RunState& run) const noexcept {
    return std::exchange(run.result_.error, std::nullopt);
  }
  /// Gives a run that has ended back for reuse.
  void release(RunState& run) noexcept;
  /// Called by the executor when the device has left `run`. `status` is `done`, `stopped` or
  /// `failed` with an error.
  void finish(RunState& run, RunStatus status, std::uint32_t steps_done, std::uint32_t steps,
              std::optional<Error> error = std::nullopt) noexcept;

 private:
  friend class RunState;
  RunState& take();
  Result<void> check_bound(const StopToken& token) const;
  void prepare(RunState& run, const RunRequest& request) noexcept;
  Result<void> listen(RunState& run, bool relayed);
  bool take_off(RunState& rider) noexcept;
  void settle_riders(RunState& carrier, RunStatus status) noexcept;
  void start_next() noexcept;
  void raised(RunState& run) noexcept;
  void settle(RunState& run, RunStatus status) noexcept;
  void close(RunState& run, RunStatus status) noexcept;
  struct Follower {
    RunState* run = nullptr;
    RunState* carrier = nullptr;  ///< of which it was the last rider
  };
  Follower take_follower(const RunState& run) noexcept;

  Executor& executor_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunState>> states_;
  std::vector<RunState*> free_;
  std::vector<RunState*> waiting_;  ///< in the order of submission
  RunState* running_ = nullptr;
  std::uint64_t submitted_ = 0;
};

/// Owns one submission: stops it and waits for it when destroyed.
class RunHandle {
 public:
  RunHandle() noexcept = default;
  RunHandle(RunQueue& queue, RunState& run) noexcept : queue_(&queue), run_(&run) {}
  RunHandle(RunHandle&& other) noexcept
      : queue_(other.queue_), run_(std::exchange(other.run_, nullptr)) {}
  RunHandle& operator=(RunHandle&& other) noexcept;
  ~RunHandle() { reset(); }

  explicit operator bool() const noexcept { return run_ != nullptr; }
  bool finished() const noexcept { return run_->finished(); }
  const RunResult& wait() noexcept;
  /// The error of a failed run that has ended; it is the caller's from then on.
  std::optional<Error> take_error() noexcept { return queue_->take_error(*run_); }
  void stop(StopReason reason = StopReason::requested) noexcept {
    run_->raise(reason, Clock::now());
  }
  void reset() noexcept;

 private:
  RunQueue* queue_ = nullptr;
  RunState* run_ = nullptr;
};

}  // namespace tacet
