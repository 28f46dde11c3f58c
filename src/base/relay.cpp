#include "base/relay.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

namespace tacet {

Relay& Relay::process() {
  static auto* relay = new Relay;
  return *relay;
}

Result<void> Relay::add(const Watch& watch) {
  const std::lock_guard lock(mutex_);
  watches_.reserve(watches_.size() + 1);
  if (!started_) {
    try {
      std::thread([this] { loop(); }).detach();
    } catch (const std::system_error&) {
      return fail(
          Code::out_of_memory,
          "The system refuses another thread, which bytes and deadlines need on this device; "
          "raise the limit on threads.");
    }
    started_ = true;
  }
  watches_.push_back(watch);
  wake_.notify_one();
  return {};
}

void Relay::remove(void* context) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(watches_, [&](const Watch& w) { return w.context == context; });
}

void Relay::loop() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !watches_.empty(); });
    std::erase_if(watches_, [](const Watch& w) {
      const StopReason reason = w.signals->check();
      if (reason != StopReason::none) w.fired(w.context, reason);
      return reason != StopReason::none;
    });
    lock.unlock();
    std::this_thread::sleep_for(interval);
    lock.lock();
  }
}

}  // namespace tacet
