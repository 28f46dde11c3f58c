#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tacet/stop.hpp"

namespace tacet::detail {

/// Something that is told when a StopState fires. Registered with at most one state at a time.
class StopListener {
 public:
  virtual ~StopListener() = default;
  /// Called once, on the thread that asked, with no lock held. `when` is the moment of the request.
  virtual void on_stop(StopReason reason, Clock::time_point when) noexcept = 0;

 private:
  friend class StopState;
  StopListener* previous_ = nullptr;
  StopListener* next_ = nullptr;
  bool listed_ = false;
};

/// Counts polls down for tests: fires at the n-th look.
using PollCountdown = std::atomic<std::int64_t>;

/// What a token listens to beside requests: host memory and time that somebody has to look at.
/// Collected from a token when a run is submitted; the vectors keep their capacity, so that a
/// repeated collect does not allocate.
struct HostSignals {
  struct Byte {
    const volatile unsigned char* byte;
    StopReason reason;
  };
  struct Callback {
    const std::function<bool()>* poll;
    StopReason reason;
  };
  struct Countdown {
    PollCountdown* polls;
    StopReason reason;
  };
  std::vector<Byte> bytes;
  std::vector<Callback> callbacks;
  std::vector<Countdown> countdowns;
  Clock::time_point deadline = Clock::time_point::max();
  StopReason deadline_reason = StopReason::none;

  void clear() noexcept;
  /// Whether `check` could ever fire: bytes, a deadline or a countdown.
  bool watched() const noexcept {
    return !bytes.empty() || !countdowns.empty() || deadline != Clock::time_point::max();
  }
  /// Looks at bytes, deadline and countdowns; any thread. `none` if nothing fired.
  StopReason check() const noexcept;
  /// Calls the callbacks; only on the thread that waits for the run.
  StopReason call() const noexcept;
};

/// The shared state behind tokens and sources: fires once, tells its listeners, and may follow
/// parents.
class StopState : public std::enable_shared_from_this<StopState> {
 public:
  StopState();
  ~StopState();
  StopState(const StopState&) = delete;
  StopState& operator=(const StopState&) = delete;

  /// Fires, if it has not yet, and calls the listeners in the order of their registration before it
  /// returns: of queued runs the one that runs is told first. Returns true for the first request.
  bool fire(StopReason reason, Clock::time_point when) noexcept;
  /// Why it fired, parents included; `none` if it did not. Does not look at host signals.
  StopReason fired() const noexcept { return reason_.load(std::memory_order_acquire); }
  /// When the request was made; meaningful once `fired` is not `none`.
  Clock::time_point fired_at() const noexcept { return when_; }
  /// Why it fired, host signals included.
  StopReason reason() const noexcept;

  /// Registers `listener`, or calls it at once if the state fired already.
  void add(StopListener& listener) noexcept;
  /// Removes `listener`; waits for a call of it that runs on another thread.
  void remove(StopListener& listener) noexcept;

  /// Fires with `parent`: with its own reason, or with `parent` if `as_parent`. Before the state is
  /// shared.
  void follow(std::shared_ptr<StopState> parent, bool as_parent);
  void follow(std::stop_token token);
  void watch(const volatile unsigned char* byte) { byte_ = byte; }
  void watch(Clock::time_point deadline) { deadline_ = deadline; }
  void watch(std::function<bool()> poll) { poll_ = std::move(poll); }
  void watch(std::shared_ptr<PollCountdown> polls) { countdown_ = std::move(polls); }

  /// Adds this state's host signals and its parents' to `signals`.
  void collect(HostSignals& signals, bool as_parent = false) const;

 private:
  class Link;
  struct Request {
    StopState* state;
    void operator()() const noexcept;
  };

  std::atomic<StopReason> reason_ = StopReason::none;
  Clock::time_point when_{};
  std::mutex mutex_;
  std::condition_variable idle_;
  StopListener* first_ = nullptr;  ///< in the order of registration
  StopListener* last_ = nullptr;
  StopListener* running_ = nullptr;
  std::thread::id runner_;

  std::vector<std::unique_ptr<Link>> links_;
  std::optional<std::stop_callback<Request>> standard_;
  const volatile unsigned char* byte_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::function<bool()> poll_;
  std::shared_ptr<PollCountdown> countdown_;
};

/// A token for tests that fires at the n-th look at it, by a run that carries it or by
/// `stop_requested`, counting `*polls` down.
StopToken countdown_token(std::shared_ptr<PollCountdown> polls);

}  // namespace tacet::detail
