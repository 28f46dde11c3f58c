#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>

namespace tacet {

/// Why work stopped. `none` means that nobody asked.
enum class StopReason : std::uint32_t { none = 0, requested, deadline, parent, shutdown };

/// "requested", "deadline", ...
std::string_view name(StopReason reason) noexcept;

using Clock = std::chrono::steady_clock;

namespace detail {
class StopState;
class StopListener;
}  // namespace detail

/// Who listens: a cheap value that is copied freely and may be read by any thread. Functions that
/// make a token may throw `std::bad_alloc`, as `std::stop_source` does; nothing else here
/// allocates.
class StopToken {
 public:
  /// A token that never fires. Runs with such a token are not gated and nothing is recorded for
  /// them.
  StopToken() noexcept = default;
  explicit StopToken(std::shared_ptr<detail::StopState> state) noexcept
      : state_(std::move(state)) {}

  /// Fires at `when`, with the reason `deadline`.
  static StopToken at(Clock::time_point when);
  /// Fires `delay` from now, with the reason `deadline`.
  static StopToken after(std::chrono::nanoseconds delay);
  /// Fires once `*byte` is not 0. The byte is the caller's, may be written by any thread or signal
  /// handler, and must outlive every run that was given the token.
  static StopToken byte(const volatile unsigned char* byte);
  /// Fires once `poll` returns true. It is called only inside `wait`, on the thread that waits: a
  /// run that nobody waits for can not be stopped by it. It must not throw, and must not evaluate
  /// or generate: on the same device that would wait for the run that waits for it.
  static StopToken callback(std::function<bool()> poll);
  /// Fires with a standard token.
  static StopToken from(std::stop_token token);
  /// Fires when the first of `tokens` does, with its reason.
  static StopToken any(std::span<const StopToken> tokens);

  /// False if this token can never fire.
  bool possible() const noexcept { return state_ != nullptr; }
  /// Whether it fired. Looks at bytes and deadlines too; never calls a callback.
  bool stop_requested() const noexcept { return reason() != StopReason::none; }
  /// Why it fired, or `none`.
  StopReason reason() const noexcept;

  const std::shared_ptr<detail::StopState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<detail::StopState> state_;
};

/// Who asks. Requests may come from any thread, any number of times; the first one counts.
class StopSource {
 public:
  StopSource();
  /// A source that also fires, with the reason `parent`, when `parent` does.
  explicit StopSource(const StopToken& parent);

  /// Asks for a stop. Returns true if this was the first request. Runs the registered callbacks
  /// before it returns. Allocates nothing and is safe from any thread, but not from a signal
  /// handler (use a byte).
  bool request_stop(StopReason reason = StopReason::requested) noexcept;
  StopToken token() const noexcept { return StopToken(state_); }

 private:
  std::shared_ptr<detail::StopState> state_;
};

/// Calls `callback` (which must not throw; nothing happens if it is empty) once when the token
/// fires through a source or a standard token, on the thread that asked; at once if it fired
/// already. The destructor waits for a call that runs on another thread. Bytes, deadlines and
/// callbacks are looked at by runs, not by this class.
class StopCallback {
 public:
  StopCallback(const StopToken& token, std::function<void(StopReason)> callback);
  ~StopCallback();
  StopCallback(const StopCallback&) = delete;
  StopCallback& operator=(const StopCallback&) = delete;

 private:
  std::unique_ptr<detail::StopListener> listener_;
};

}  // namespace tacet
