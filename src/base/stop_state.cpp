#include "base/stop_state.hpp"

namespace tacet::detail {

namespace {

/// The caller's byte is no std::atomic (C, signal handlers, other languages), but read as one.
bool is_set(const volatile unsigned char* byte) noexcept {
  return __atomic_load_n(byte, __ATOMIC_RELAXED) != 0;
}

}  // namespace

void HostSignals::clear() noexcept {
  bytes.clear();
  callbacks.clear();
  countdowns.clear();
  deadline = Clock::time_point::max();
  deadline_reason = StopReason::none;
}

StopReason HostSignals::check() const noexcept {
  for (const Byte& b : bytes)
    if (is_set(b.byte)) return b.reason;
  for (const Countdown& c : countdowns)
    if (c.polls->fetch_sub(1, std::memory_order_relaxed) <= 1) return c.reason;
  if (deadline != Clock::time_point::max() && Clock::now() >= deadline) return deadline_reason;
  return StopReason::none;
}

StopReason HostSignals::call() const noexcept {
  for (const Callback& c : callbacks)
    if ((*c.poll)()) return c.reason;
  return StopReason::none;
}

/// Carries a parent's request to the child that follows it.
class StopState::Link final : public StopListener {
 public:
  Link(std::weak_ptr<StopState> child, std::shared_ptr<StopState> parent, bool as_parent) noexcept
      : child_(std::move(child)), parent_(std::move(parent)), as_parent_(as_parent) {}
  ~Link() override { parent_->remove(*this); }
  void start() noexcept { parent_->add(*this); }
  void on_stop(StopReason reason, Clock::time_point when) noexcept override {
    // The lock keeps the child alive while it fires; a listener may drop the last other owner.
    if (const auto child = child_.lock())
      child->fire(as_parent_ ? StopReason::parent : reason, when);
  }
  const StopState& parent() const noexcept { return *parent_; }
  bool as_parent() const noexcept { return as_parent_; }

 private:
  std::weak_ptr<StopState> child_;
  std::shared_ptr<StopState> parent_;
  bool as_parent_;
};

StopState::StopState() = default;
StopState::~StopState() = default;

bool StopState::fire(StopReason reason, Clock::time_point when) noexcept {
  std::unique_lock lock(mutex_);
  if (fired() != StopReason::none) return false;
  when_ = when;
  reason_.store(reason, std::memory_order_release);
  runner_ = std::this_thread::get_id();
  while (first_ != nullptr) {
    StopListener* listener = first_;
    first_ = listener->next_;
    (first_ != nullptr ? first_->previous_ : last_) = nullptr;
    listener->listed_ = false;
    running_ = listener;
    lock.unlock();
    listener->on_stop(reason, when);
    lock.lock();
    running_ = nullptr;  // the listener may be gone by now
    idle_.notify_all();
  }
  return true;
}

StopReason StopState::reason() const noexcept {
  if (const StopReason reason = fired(); reason != StopReason::none) return reason;
  if (byte_ != nullptr && is_set(byte_)) return StopReason::requested;
  if (countdown_ && countdown_->fetch_sub(1, std::memory_order_relaxed) <= 1)
    return StopReason::requested;
  if (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_)
    return StopReason::deadline;
  for (const auto& link : links_)
    if (const StopReason reason = link->parent().reason(); reason != StopReason::none)
      return link->as_parent() ? StopReason::parent : reason;
  return StopReason::none;
}

void StopState::add(StopListener& listener) noexcept {
  std::unique_lock lock(mutex_);
  if (const StopReason reason = fired(); reason != StopReason::none) {
    const Clock::time_point when = when_;
    lock.unlock();
    listener.on_stop(reason, when);
    return;
  }
  listener.next_ = nullptr;
  listener.previous_ = last_;
  (last_ != nullptr ? last_->next_ : first_) = &listener;
  last_ = &listener;
  listener.listed_ = true;
}

void StopState::remove(StopListener& listener) noexcept {
  std::unique_lock lock(mutex_);
  if (listener.listed_) {
    (listener.previous_ != nullptr ? listener.previous_->next_ : first_) = listener.next_;
    (listener.next_ != nullptr ? listener.next_->previous_ : last_) = listener.previous_;
    listener.listed_ = false;
    return;
  }
  if (runner_ == std::this_thread::get_id()) return;  // removed from inside its own call
  idle_.wait(lock, [&] { return running_ != &listener; });
}

void StopState::follow(std::shared_ptr<StopState> parent, bool as_parent) {
  links_.push_back(std::make_unique<Link>(weak_from_this(), std::move(parent), as_parent));
  links_.back()->start();
}

void StopState::Request::operator()() const noexcept {
  if (const auto self = state->weak_from_this().lock())
    self->fire(StopReason::requested, Clock::now());
}

void StopState::follow(std::stop_token token) {
  standard_.emplace(std::move(token), Request{this});
}

void StopState::collect(HostSignals& signals, bool as_parent) const {
  const auto seen = [as_parent](StopReason own) { return as_parent ? StopReason::parent : own; };
  if (byte_ != nullptr) signals.bytes.push_back({byte_, seen(StopReason::requested)});
  if (poll_) signals.callbacks.push_back({&poll_, seen(StopReason::requested)});
  if (countdown_) signals.countdowns.push_back({countdown_.get(), seen(StopReason::requested)});
  if (deadline_ < signals.deadline) {
    signals.deadline = deadline_;
    signals.deadline_reason = seen(StopReason::deadline);
  }
  for (const auto& link : links_) link->parent().collect(signals, as_parent || link->as_parent());
}

StopToken countdown_token(std::shared_ptr<PollCountdown> polls) {
  auto state = std::make_shared<StopState>();
  state->watch(std::move(polls));
  return StopToken(std::move(state));
}

}  // namespace tacet::detail
