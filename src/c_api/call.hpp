#pragma once

#include <condition_variable>
#include <mutex>

#include "base/result.hpp"
#include "tacet/stop.hpp"

namespace tacet::c_api {

/// What all handles have in common: how many calls are inside, and how it ends. Thread-safe.
class Handle {
 public:
  enum class Use { shared, exclusive };

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  virtual ~Handle() = default;

  /// Fires when the handle is to go, or the process shuts down.
  const StopToken& stop() const noexcept { return stop_; }

  /// Counts a call in. Code::invalid_argument if the handle serves another one, or is being freed.
  Result<void> enter() noexcept;
  /// Counts a call out. Returns true if this was the last one of a handle that waits to be deleted.
  bool leave() noexcept;
  /// Stops the calls inside and waits for them, except for `own`, the calling thread's. Returns
  /// true if none is left; else the last `leave` returns true.
  bool close(std::size_t own) noexcept;

 protected:
  explicit Handle(Use use);

 private:
  StopSource closing_;
  StopToken stop_;
  const Use use_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
  bool closed_ = false;
  bool doomed_ = false;  ///< the last call to leave deletes it
};

/// A call in flight: on the stack of the thread that made it.
class Call {
 public:
  Call() noexcept = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// Ends the call, and deletes the handle if it was freed meanwhile by this thread.
  ~Call();

  /// Begins a call that has no handle. Errors: shut_down.
  Result<void> begin();
  /// Begins a call on `handle`. Errors: invalid_argument for none or one in use, shut_down.
  Result<void> begin(Handle* handle);
  /// Fires with the handle's token or once `*byte` is not 0; `byte` may be null.
  /// For a call that has a handle.
  StopToken stop(const volatile unsigned char* byte) const;

 private:
  friend std::size_t calls_of_this_thread(const Handle* handle) noexcept;
  bool begun_ = false;
  Handle* handle_ = nullptr;
  Call* outer_ = nullptr;
};

/// How many calls of this thread are in flight on `handle`, or on any handle if it is null.
std::size_t calls_of_this_thread(const Handle* handle) noexcept;

/// Frees a handle: stops and waits for the calls of other threads; from inside a call of its own,
/// the handle goes with the end of that call.
void free_handle(Handle* handle) noexcept;

}  // namespace tacet::c_api
