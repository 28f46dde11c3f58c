// Runs that carry several sessions.

#include <algorithm>

#include "backends/device.hpp"
#include "backends/run_queue.hpp"

namespace tacet {

namespace {

std::optional<Error> copy_of(const Error& error) noexcept {
  try {
    return error;
  } catch (const std::bad_alloc&) {
    return Error::fixed(error.code(),
                        "The run failed; the log, or another session of it, says why.");
  }
}

}  // namespace

Result<RunState*> RunQueue::submit_shared(const RunRequest& request,
                                          std::span<const RiderRequest> requests,
                                          std::span<RunState*> riders) {
  for (const RiderRequest& asked : requests)
    if (auto stoppable = check_bound(asked.token); !stoppable) return fail(std::move(stoppable));
  if (auto checked = request.tape->check(request.args); !checked) return fail(std::move(checked));
  RunState& carrier = take();
  prepare(carrier, request);
  std::size_t taken = 0;
  const auto give_up = [&] {
    for (RunState* rider : riders.first(taken)) {
      close(*rider, RunStatus::stopped);
      release(*rider);
    }
    carrier.slot_.end();
    release(carrier);
  };
  try {
    carrier.riders_.reserve(requests.size());
    for (const RiderRequest& asked : requests) {
      RunState& rider = take();
      riders[taken++] = &rider;
      prepare(rider, {.tape = nullptr, .args = {}, .token = asked.token, .chain = asked.chain});
      rider.carrier_ = &carrier;
      // Always by the relay: the threads of a run would have to look at what many sessions watch.
      if (auto listens = listen(rider, true); !listens) {
        give_up();
        return fail(std::move(listens));
      }
    }
  } catch (...) {
    give_up();
    throw;
  }
  bool queued = false;
  {
    const std::lock_guard lock(mutex_);
    for (RunState* rider : riders.first(taken)) {
      rider->serial_ = ++submitted_;
      if (rider->slot_.reason() != StopReason::none) continue;
      rider->phase_ = RunState::Phase::riding;
      carrier.riders_.push_back(rider);
    }
    queued = !carrier.riders_.empty();
    if (queued) {
      carrier.phase_ = RunState::Phase::queued;
      carrier.serial_ = ++submitted_;
      waiting_.push_back(&carrier);
    }
  }
  for (RunState* rider : riders.first(taken)) {
    {
      const std::lock_guard lock(mutex_);
      if (rider->phase_ != RunState::Phase::preparing) continue;
      rider->phase_ = RunState::Phase::ended;
    }
    settle(*rider, RunStatus::stopped);
  }
  if (queued)
    start_next();
  else
    settle(carrier, RunStatus::stopped);
  return &carrier;
}

/// Ends a rider that is asked to stop. Returns false if it has ended, or if it is the last one:
/// then its carrier stops, and ends it.
bool RunQueue::take_off(RunState& rider) noexcept {
  RunState& carrier = *rider.carrier_;
  {
    const std::lock_guard lock(mutex_);
    if (rider.phase_ != RunState::Phase::riding) return false;
    if (carrier.riders_.size() > 1) {
      std::erase(carrier.riders_, &rider);
      rider.phase_ = RunState::Phase::ended;
      return true;
    }
  }
  // The carrier can not go meanwhile: it ends the rider first, and that waits for this request.
  carrier.raise(rider.slot_.reason(), rider.slot_.requested_at());
  return false;
}

/// Ends the riders that are still aboard as their carrier ended.
void RunQueue::settle_riders(RunState& carrier, RunStatus status) noexcept {
  for (;;) {
    RunState* rider = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (carrier.riders_.empty()) return;
      rider = carrier.riders_.back();
      carrier.riders_.pop_back();
      rider->phase_ = RunState::Phase::ended;
    }
    rider->result_.steps_done = carrier.result_.steps_done;
    rider->result_.steps = carrier.result_.steps;
    if (carrier.result_.error) rider->result_.error = copy_of(*carrier.result_.error);
    settle(*rider, status);
  }
}

}  // namespace tacet
