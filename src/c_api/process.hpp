#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/result.hpp"
#include "tacet/stop.hpp"

namespace tacet::c_api {

/// The calls in flight in this process, and the end of all of them. Thread-safe.
class Process {
 public:
  /// The one of this process. Made at the first use and never destroyed: threads may be inside the
  /// library while the process ends. May throw std::bad_alloc.
  static Process& get();

  /// Counts a call in; Code::shut_down after `shut_down`.
  Result<void> enter() noexcept;
  void leave() noexcept;
  /// Fires when the process shuts down.
  StopToken token() const noexcept { return source_.token(); }
  /// Stops all calls, lets none in any more, and waits until only `own` are left. Returns false if
  /// that takes longer than `timeout`.
  bool shut_down(std::chrono::milliseconds timeout, std::size_t own);

 private:
  Process() = default;

  StopSource source_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t calls_ = 0;
  std::size_t waiting_ = 0;  ///< calls whose thread is inside `shut_down`
  bool closed_ = false;
};

}  // namespace tacet::c_api
