#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "base/stop_state.hpp"

namespace tacet {

/// Carries host state (bytes, deadlines) to devices that can not read it: one thread per process,
/// asleep while nothing is watched, looking every `interval` otherwise. Thread-safe.
class Relay {
 public:
  /// How often the thread looks; part of the stop bound of devices that need the relay.
  static constexpr std::chrono::microseconds interval{50};

  /// Something to watch. `fired` is called once from the relay's thread, with no lock held.
  struct Watch {
    const detail::HostSignals* signals;
    void (*fired)(void* context, StopReason reason) noexcept;
    void* context;
  };

  /// The process's relay. Never destroyed: its thread may outlive `main`.
  static Relay& process();

  /// Starts to watch; everything in `watch` must live until `remove`. Fails if the thread can not
  /// be started.
  Result<void> add(const Watch& watch);
  /// Ends the watch of `context`; when it returns, `fired` neither runs nor will, unless it is
  /// called from inside `fired`.
  void remove(void* context) noexcept;

 private:
  void loop() noexcept;
  bool fire_one(std::unique_lock<std::mutex>& lock) noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::vector<Watch> watches_;
  void* firing_ = nullptr;  ///< whose `fired` runs
  std::thread::id thread_;
  bool started_ = false;
};

}  // namespace tacet
