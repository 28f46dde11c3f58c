#include "base/relay.hpp"

#include <algorithm>
#include <system_error>

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
  std::unique_lock lock(mutex_);
  std::erase_if(watches_, [&](const Watch& w) { return w.context == context; });
  if (thread_ != std::this_thread::get_id()) idle_.wait(lock, [&] { return firing_ != context; });
}

/// Calls one watch that fired; false if there is none.
bool Relay::fire_one(std::unique_lock<std::mutex>& lock) noexcept {
  for (auto watch = watches_.begin(); watch != watches_.end(); ++watch) {
    const StopReason reason = watch->signals->check();
    if (reason == StopReason::none) continue;
    const Watch fired = *watch;
    watches_.erase(watch);
    firing_ = fired.context;
    // What is told may remove watches, its own and others.
    lock.unlock();
    fired.fired(fired.context, reason);
    lock.lock();
    firing_ = nullptr;
    idle_.notify_all();
    return true;
  }
  return false;
}

void Relay::loop() noexcept {
  std::unique_lock lock(mutex_);
  thread_ = std::this_thread::get_id();
  for (;;) {
    wake_.wait(lock, [&] { return !watches_.empty(); });
    while (fire_one(lock)) {
    }
    lock.unlock();
    std::this_thread::sleep_for(interval);
    lock.lock();
  }
}

}  // namespace tacet
