#include "c_api/process.hpp"

namespace tacet::c_api {

Process& Process::get() {
  static auto* process = new Process;
  return *process;
}

Result<void> Process::enter() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_)
    return tl::unexpected(
        Error::fixed(Code::shut_down, "The library was shut down; nothing more can be asked."));
  ++calls_;
  return {};
}

void Process::leave() noexcept {
  const std::lock_guard lock(mutex_);
  --calls_;
  if (closed_) left_.notify_all();
}

bool Process::shut_down(std::chrono::milliseconds timeout, std::size_t own) {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  source_.request_stop(StopReason::shutdown);
  std::unique_lock lock(mutex_);
  // Calls that shut down themselves, from inside a callback, do not wait for one another.
  waiting_ += own;
  left_.notify_all();
  const bool left = left_.wait_for(lock, timeout, [&] { return calls_ <= waiting_; });
  waiting_ -= own;
  return left;
}

}  // namespace tacet::c_api
