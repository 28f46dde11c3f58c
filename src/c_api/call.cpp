#include "c_api/call.hpp"

#include <array>

#include "c_api/process.hpp"
#include "c_api/thread_state.hpp"

namespace tacet::c_api {

namespace {

StopToken first_of(const StopToken& a, const StopToken& b) {
  const std::array tokens{a, b};
  return StopToken::any(tokens);
}

}  // namespace

Handle::Handle(Use use) : stop_(first_of(Process::get().token(), closing_.token())), use_(use) {}

Result<void> Handle::enter() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_)
    return tl::unexpected(
        Error::fixed(Code::invalid_argument, "This handle is being freed; make a new one."));
  if (use_ == Use::exclusive && inside_ != 0)
    return tl::unexpected(Error::fixed(Code::invalid_argument,
                                       "Another call on this session is in flight; wait for its "
                                       "end, or use a session for each thread."));
  ++inside_;
  return {};
}

bool Handle::leave() noexcept {
  // Notified under the lock: afterwards the thread that waits may delete the handle.
  const std::lock_guard lock(mutex_);
  --inside_;
  if (closed_) left_.notify_all();
  return doomed_ && inside_ == 0;
}

bool Handle::close(std::size_t own) noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  closing_.request_stop();
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return inside_ <= own; });
  doomed_ = inside_ != 0;
  return !doomed_;
}

Result<void> Call::begin() {
  if (auto entered = Process::get().enter(); !entered) return entered;
  begun_ = true;
  outer_ = std::exchange(thread_state().innermost, this);
  return {};
}

Result<void> Call::begin(Handle* handle) {
  if (handle == nullptr)
    return tl::unexpected(
        Error::fixed(Code::invalid_argument, "The handle is NULL; pass one that was created."));
  if (auto begun = begin(); !begun) return begun;
  if (auto entered = handle->enter(); !entered) return entered;
  handle_ = handle;
  return {};
}

Call::~Call() {
  if (!begun_) return;
  thread_state().innermost = outer_;
  if (handle_ != nullptr && handle_->leave()) delete handle_;
  Process::get().leave();
}

StopToken Call::stop(const volatile unsigned char* byte) const {
  return byte == nullptr ? handle_->stop() : first_of(handle_->stop(), StopToken::byte(byte));
}

std::size_t calls_of_this_thread(const Handle* handle) noexcept {
  std::size_t count = 0;
  for (const Call* call = thread_state().innermost; call != nullptr; call = call->outer_)
    if (handle == nullptr || call->handle_ == handle) ++count;
  return count;
}

void free_handle(Handle* handle) noexcept {
  if (handle != nullptr && handle->close(calls_of_this_thread(handle))) delete handle;
}

}  // namespace tacet::c_api
