#include <algorithm>

#include "base/stop_state.hpp"
#include "runtime/session_impl.hpp"

namespace tacet::detail {

namespace {

/// The outcome of a stop that came between two runs.
void set_stopped(Outcome& outcome, const StopToken& stop) {
  const Clock::time_point now = Clock::now();
  const StopReason reason = stop.reason();
  outcome.status = Status::stopped;
  outcome.reason = reason == StopReason::none ? StopReason::requested : reason;
  const StopState& state = *stop.state();
  const Clock::time_point asked = state.fired() != StopReason::none ? state.fired_at() : now;
  outcome.to_idle = outcome.to_return =
      std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds(now - asked));
}

void set_failed(Outcome& outcome, Error error) {
  outcome.status = Status::failed;
  outcome.error = std::move(error);
}

}  // namespace

Outcome SessionImpl::generate(const GenerateOptions& options, const TextFunction& on_text,
                              const StopToken& stop) {
  settle_all();
  Outcome outcome;
  const auto deliver = [&](const std::string& text) {
    if (!text.empty() && on_text) on_text(text);
  };
  if (auto checked = check(options.sampler); !checked) {
    set_failed(outcome, std::move(checked.error()));
    return outcome;
  }
  if (history_.empty()) {
    set_failed(outcome, Error::fixed(Code::invalid_argument,
                                     "There is nothing to go on from; evaluate a prompt first."));
    return outcome;
  }
  RandomState random = options.sampler.seed ? RandomState{*options.sampler.seed, 0} : random_;
  for (;;) {
    if (options.max_tokens != 0 && outcome.tokens == options.max_tokens) {
      outcome.finish = Finish::token_limit;
      deliver(text_.take_held());
      return outcome;
    }
    if (stop.possible() && stop.stop_requested()) {
      set_stopped(outcome, stop);
      return outcome;
    }
    if (computed_ < history_.size() || logits_ == nullptr) {
      Outcome step = decode(stop);
      if (!step.done()) {
        step.tokens = outcome.tokens;
        return step;
      }
    }
    const auto token = sampler_.choose(*logits_, history_, options.sampler, random, stop);
    if (!token) {
      set_stopped(outcome, stop);
      return outcome;
    }
    const Tokenizer& tokenizer = model_->tokenizer();
    if (tokenizer.is_end(*token)) {
      outcome.finish = Finish::end_token;
      deliver(text_.flush());
      return outcome;
    }
    if (history_.size() == context_) {
      set_failed(outcome,
                 Error(Code::context_full,
                       fmt::format(
                           "The context of {} tokens is full; start a new session, or use a larger "
                           "context.",
                           context_)));
      return outcome;
    }
    TextStream text = text_;
    const TextStream::Step step = text.feed(tokenizer.piece(*token, options.special), options.stop);

    history_.push_back(*token);
    random_ = random;
    text_ = std::move(text);
    ++outcome.tokens;
    deliver(step.text);
    if (step.stopped) {
      outcome.finish = Finish::stop_string;
      return outcome;
    }
  }
}

}  // namespace tacet::detail
