#include "backends/run_queue.hpp"

#include <algorithm>

#include "backends/device.hpp"
#include "base/relay.hpp"
#include "base/spin.hpp"

namespace tacet {

namespace {

/// How long a waiter looks at a run before it sleeps: about the time of the last chunks.
constexpr int spins_before_sleep = 4000;
/// How often a sleeping waiter looks at bytes, deadlines and callbacks.
constexpr std::chrono::microseconds look_interval{50};

void relay_fired(void* context, StopReason reason) noexcept {
  static_cast<RunState*>(context)->raise(reason, Clock::now());
}

}  // namespace

void RunState::raise(StopReason reason, Clock::time_point when) noexcept {
  if (slot_.raise(epoch_, reason, when)) queue_.raised(*this);
}

RunState& RunQueue::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    // Room for every state first, so that nothing allocates once a run is in flight.
    const std::size_t states = states_.size() + 1;
    states_.reserve(states);
    free_.reserve(states);
    waiting_.reserve(states);
    states_.push_back(std::make_unique<RunState>(*this));
    free_.push_back(states_.back().get());
  }
  RunState* run = free_.back();
  free_.pop_back();
  return *run;
}

/// Whether the device takes a run with this token.
Result<void> RunQueue::check_bound(const StopToken& token) const {
  if (!token.possible() || executor_.stop_bound() != std::chrono::nanoseconds{0}) return {};
  return fail(Code::unsupported,
              "{} states no stop bound, so a run there takes no stop token; run without one, or on "
              "another device.",
              executor_.name());
}

void RunQueue::prepare(RunState& run, const RunRequest& request) noexcept {
  run.request_ = request;
  run.result_ = {};
  run.signals_.clear();
  run.watched_ = run.relayed_ = false;
  run.phase_ = RunState::Phase::preparing;
  run.finished_.store(false, std::memory_order_relaxed);
  run.epoch_ = run.slot_.begin();
}

/// Lets what its token can say reach a run; by the relay what host memory says, if `relayed`.
Result<void> RunQueue::listen(RunState& run, bool relayed) {
  const StopToken& token = run.request_.token;
  if (!token.possible()) return {};
  token.state()->collect(run.signals_);
  run.watched_ = run.signals_.watched();
  if (run.watched_ && relayed) {
    if (auto added = Relay::process().add({&run.signals_, relay_fired, &run}); !added) return added;
    run.relayed_ = true;
  }
  token.state()->add(run);
  if (run.watched_)
    if (const StopReason reason = run.signals_.check(); reason != StopReason::none)
      run.raise(reason, Clock::now());
  return {};
}

Result<RunState*> RunQueue::submit(const RunRequest& request) {
  if (auto stoppable = check_bound(request.token); !stoppable) return fail(std::move(stoppable));
  if (auto checked = request.tape->check(request.args); !checked) return fail(std::move(checked));
  RunState& run = take();
  prepare(run, request);
  try {
    if (auto listens = listen(run, !executor_.reads_host_signals()); !listens) {
      release(run);
      return fail(std::move(listens));
    }
  } catch (...) {
    release(run);
    throw;
  }
  bool queued = false;
  {
    // Under the lock either this sees the word, or `raised` sees the run in the queue.
    const std::lock_guard lock(mutex_);
    queued = run.slot_.reason() == StopReason::none;
    if (queued) {
      run.phase_ = RunState::Phase::queued;
      run.serial_ = ++submitted_;
      waiting_.push_back(&run);
    }
  }
  if (queued)
    start_next();
  else
    settle(run, RunStatus::stopped);
  return &run;
}

void RunQueue::start_next() noexcept {
  RunState* run = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr || waiting_.empty()) return;
    run = running_ = waiting_.front();
    waiting_.erase(waiting_.begin());
    run->phase_ = RunState::Phase::running;
  }
  executor_.start(*run);
  // Wakes a waiter that can now lend its thread; a run that has ended meanwhile is woken for
  // nothing.
  const std::lock_guard lock(mutex_);
  run->changed_.notify_all();
  for (RunState* rider : run->riders_) rider->changed_.notify_all();
}

void RunQueue::raised(RunState& run) noexcept {
  if (run.carrier_ != nullptr) {
    if (take_off(run)) settle(run, RunStatus::stopped);
    return;
  }
  bool queued = false;
  {
    const std::lock_guard lock(mutex_);
    if (run.phase_ == RunState::Phase::queued) {
      std::erase(waiting_, &run);
      run.phase_ = RunState::Phase::ended;
      queued = true;
    }
  }
  if (!queued) {
    executor_.raised(run);
    return;
  }
  settle_riders(run, RunStatus::stopped);
  settle(run, RunStatus::stopped);
}

void RunQueue::finish(RunState& run, RunStatus status, std::uint32_t steps_done,
                      std::uint32_t steps, std::optional<Error> error) noexcept {
  run.result_.steps_done = steps_done;
  run.result_.steps = steps;
  run.result_.error = std::move(error);
  settle_riders(run, status);
  settle(run, status);
  {
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
  }
  start_next();
}

/// Ends `run` as far as requests are concerned: afterwards none reaches it, and its result stands.
void RunQueue::close(RunState& run, RunStatus status) noexcept {
  run.slot_.end();
  run.result_.idle_at = Clock::now();
  run.result_.status = status;
  if (status == RunStatus::stopped) {
    run.result_.reason = run.slot_.reason();
    run.result_.requested_at = run.slot_.requested_at();
  }
  // Both wait for a request that is under way on another thread and may need the queue: no lock is
  // held here.
  if (run.relayed_) Relay::process().remove(&run);
  if (run.request_.token.possible()) run.request_.token.state()->remove(run);
}

/// Takes a queued run of the same chain that was submitted after `run`, or a rider of one, and its
/// carrier if nobody else is left for whom that would run. With the lock held.
RunQueue::Follower RunQueue::take_follower(const RunState& run) noexcept {
  if (run.request_.chain == nullptr) return {};
  const auto follows = [&](const RunState* other) {
    return other->request_.chain == run.request_.chain && other->serial_ > run.serial_ &&
           other->phase_ != RunState::Phase::ended;
  };
  for (RunState* queued : waiting_) {
    Follower follower;
    if (const auto rider = std::ranges::find_if(queued->riders_, follows);
        rider != queued->riders_.end()) {
      follower.run = *rider;
      queued->riders_.erase(rider);
      if (queued->riders_.empty()) follower.carrier = queued;
    } else if (follows(queued)) {
      follower.run = queued;
    } else {
      continue;
    }
    follower.run->phase_ = RunState::Phase::ended;
    if (follower.carrier != nullptr) follower.carrier->phase_ = RunState::Phase::ended;
    if (queued->phase_ == RunState::Phase::ended) std::erase(waiting_, queued);
    return follower;
  }
  return {};
}

/// Makes the end of `run` known, after the end of what is queued behind it if it did not succeed.
/// What is submitted after the end is known is a new beginning, so the last look and the
/// announcement share one lock.
void RunQueue::settle(RunState& run, RunStatus status) noexcept {
  const auto announce = [](RunState& ended) {
    ended.finished_.store(true, std::memory_order_release);
    ended.changed_.notify_all();
  };
  close(run, status);
  std::unique_lock lock(mutex_);
  while (status != RunStatus::done) {
    const Follower follower = take_follower(run);
    if (follower.run == nullptr) break;
    lock.unlock();
    follower.run->slot_.raise(follower.run->epoch_, StopReason::parent, Clock::now());
    close(*follower.run, RunStatus::stopped);
    if (follower.carrier != nullptr) close(*follower.carrier, RunStatus::stopped);
    lock.lock();
    if (follower.carrier != nullptr) announce(*follower.carrier);
    announce(*follower.run);
  }
  run.phase_ = RunState::Phase::ended;
  announce(run);
}

void RunQueue::wait(RunState& run) noexcept {
  const bool calls = !run.signals_.callbacks.empty();
  const auto raise = [&run](StopReason reason) {
    if (reason != StopReason::none) run.raise(reason, Clock::now());
  };
  for (;;) {
    if (run.finished()) return;
    if (executor_.lend(run)) continue;
    if (calls) raise(run.signals_.call());
    for (int i = 0; i < spins_before_sleep && !run.finished(); ++i) spin_pause();
    std::unique_lock lock(mutex_);
    if (run.finished()) return;
    // Once a run is running, the executor or the relay looks at the host's signals.
    const bool looks = run.watched_ && !run.relayed_ && run.phase_ == RunState::Phase::queued;
    if (!looks && !calls) {
      run.changed_.wait(lock);
      continue;
    }
    run.changed_.wait_for(lock, look_interval);
    const bool queued = run.phase_ == RunState::Phase::queued;
    lock.unlock();
    if (looks && queued) raise(run.signals_.check());
  }
}

void RunQueue::release(RunState& run) noexcept {
  run.request_ = {};  // gives up the token
  const std::lock_guard lock(mutex_);
  run.carrier_ = nullptr;
  run.riders_.clear();
  run.finished_.store(true, std::memory_order_relaxed);
  free_.push_back(&run);
}

RunHandle& RunHandle::operator=(RunHandle&& other) noexcept {
  if (this != &other) {
    reset();
    queue_ = other.queue_;
    run_ = std::exchange(other.run_, nullptr);
  }
  return *this;
}

const RunResult& RunHandle::wait() noexcept {
  queue_->wait(*run_);
  return queue_->result(*run_);
}

void RunHandle::reset() noexcept {
  if (run_ == nullptr) return;
  run_->raise(StopReason::requested, Clock::now());
  queue_->wait(*run_);
  queue_->release(*std::exchange(run_, nullptr));
}

}  // namespace tacet
