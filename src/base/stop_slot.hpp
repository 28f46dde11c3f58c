#pragma once

#include <atomic>
#include <mutex>

#include "tacet/stop.hpp"

namespace tacet {

/// The place where a run in flight is told to stop: a word that the device polls, and a number
/// (epoch) that keeps late requests out. A slot serves one run after another and is never moved.
/// Thread-safe.
class StopSlot {
 public:
  /// Starts a new epoch with a clear word and returns its number.
  std::uint64_t begin() noexcept {
    const std::lock_guard lock(mutex_);
    word_.store(0, std::memory_order_relaxed);
    open_ = true;
    return ++epoch_;
  }

  /// Sets the word for `reason` if `epoch` is still open. Returns true for the request that set it.
  /// Nothing is stored after `end`, so a late request can not reach the slot's next run.
  bool raise(std::uint64_t epoch, StopReason reason, Clock::time_point when) noexcept {
    const std::lock_guard lock(mutex_);
    if (!open_ || epoch != epoch_ || word_.load(std::memory_order_relaxed) != 0) return false;
    when_ = when;
    word_.store(static_cast<std::uint32_t>(reason), std::memory_order_relaxed);
    return true;
  }

  /// Closes the epoch: from here on `raise` does nothing.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }

  /// The word: 0 while nobody asked, else the StopReason. One relaxed load is a poll.
  const std::atomic<std::uint32_t>& word() const noexcept { return word_; }
  StopReason reason() const noexcept {
    return static_cast<StopReason>(word_.load(std::memory_order_relaxed));
  }
  /// When the request that set the word was made; meaningful if `reason` is not `none`.
  Clock::time_point requested_at() const noexcept {
    const std::lock_guard lock(mutex_);
    return when_;
  }

 private:
  alignas(64) std::atomic<std::uint32_t> word_ = 0;
  alignas(64) mutable std::mutex mutex_;
  std::uint64_t epoch_ = 0;
  bool open_ = false;
  Clock::time_point when_{};
};

}  // namespace tacet
