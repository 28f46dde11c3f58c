#pragma once

#include <chrono>

#include "tacet/stop.hpp"

namespace tacet::cli {

/// Takes over SIGINT, SIGTERM and SIGHUP, and ignores SIGPIPE and SIGXFSZ (writes fail with EPIPE
/// and EFBIG instead). Call once, before threads start. While nothing is in flight these signals
/// end the process with 128 + their number. A mapped file that is cut short in use (SIGBUS) ends it
/// with kFailed and a sentence.
void install_interrupts();

/// A stretch of work that a signal stops instead of ending the process: the first signal sets a
/// byte that `token` listens to, a second one within the same stretch ends the process. One at a
/// time, on the main thread.
class Interruptible {
 public:
  Interruptible() noexcept;
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  StopToken token() const;
  /// The signal that arrived, or 0.
  int signal() const noexcept;
  /// 128 + the signal that arrived, or 0.
  int exit_code() const noexcept;
  /// When it arrived; meaningful if `signal` is not 0.
  Clock::time_point when() const noexcept;
};

}  // namespace tacet::cli
