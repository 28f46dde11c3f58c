#include "tacet/stop.hpp"

#include "base/stop_state.hpp"

namespace tacet {

using detail::StopState;

std::string_view name(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::none:
      return "none";
    case StopReason::requested:
      return "requested";
    case StopReason::deadline:
      return "deadline";
    case StopReason::parent:
      return "parent";
    case StopReason::shutdown:
      return "shutdown";
  }
  return "unknown";
}

StopToken StopToken::at(Clock::time_point when) {
  auto state = std::make_shared<StopState>();
  state->watch(when);
  return StopToken(std::move(state));
}

StopToken StopToken::after(std::chrono::nanoseconds delay) {
  const Clock::time_point now = Clock::now();
  const auto room = Clock::time_point::max() - now;
  return delay >= room ? StopToken() : at(now + delay);
}

StopToken StopToken::byte(const volatile unsigned char* byte) {
  if (byte == nullptr) return StopToken();
  auto state = std::make_shared<StopState>();
  state->watch(byte);
  return StopToken(std::move(state));
}

StopToken StopToken::callback(std::function<bool()> poll) {
  if (!poll) return StopToken();
  auto state = std::make_shared<StopState>();
  state->watch(std::move(poll));
  return StopToken(std::move(state));
}

StopToken StopToken::from(std::stop_token token) {
  if (!token.stop_possible()) return StopToken();
  auto state = std::make_shared<StopState>();
  state->follow(std::move(token));
  return StopToken(std::move(state));
}

StopToken StopToken::any(std::span<const StopToken> tokens) {
  auto state = std::make_shared<StopState>();
  bool possible = false;
  for (const StopToken& token : tokens) {
    if (!token.possible()) continue;
    state->follow(token.state(), false);
    possible = true;
  }
  return possible ? StopToken(std::move(state)) : StopToken();
}

StopReason StopToken::reason() const noexcept {
  return state_ != nullptr ? state_->reason() : StopReason::none;
}

StopSource::StopSource() : state_(std::make_shared<StopState>()) {}

StopSource::StopSource(const StopToken& parent) : StopSource() {
  if (parent.possible()) state_->follow(parent.state(), true);
}

bool StopSource::request_stop(StopReason reason) noexcept {
  const auto state = state_;  // a callback may destroy this source
  return state->fire(reason == StopReason::none ? StopReason::requested : reason, Clock::now());
}

namespace {

class CallbackListener final : public detail::StopListener {
 public:
  CallbackListener(std::shared_ptr<StopState> state, std::function<void(StopReason)> callback)
      : state_(std::move(state)), callback_(std::move(callback)) {
    state_->add(*this);
  }
  ~CallbackListener() override { state_->remove(*this); }
  void on_stop(StopReason reason, Clock::time_point) noexcept override { callback_(reason); }

 private:
  std::shared_ptr<StopState> state_;
  std::function<void(StopReason)> callback_;
};

}  // namespace

StopCallback::StopCallback(const StopToken& token, std::function<void(StopReason)> callback) {
  if (token.possible() && callback)
    listener_ = std::make_unique<CallbackListener>(token.state(), std::move(callback));
}

StopCallback::~StopCallback() = default;

}  // namespace tacet
