#include "runtime/session_impl.hpp"

namespace tacet::detail {

namespace {

void set_failed(Outcome& outcome, Error error) {
  outcome.status = Status::failed;
  outcome.error = std::move(error);
}

}  // namespace

/// The step for a token: what it computes is undone unless the token is delivered. Keeps the logits
/// before it, which nothing else may write meanwhile.
class SessionImpl::TokenStep {
 public:
  explicit TokenStep(SessionImpl& session) noexcept
      : session_(session), computed_(session.computed_), logits_(std::move(session.logits_)) {}
  TokenStep(const TokenStep&) = delete;
  TokenStep& operator=(const TokenStep&) = delete;
  ~TokenStep() {
    if (!kept_) {
      session_.computed_ = computed_;
      std::swap(session_.logits_, logits_);
    }
    if (logits_ != nullptr) session_.spare_logits_.push_back(std::move(logits_));
  }
  void keep() noexcept { kept_ = true; }

 private:
  SessionImpl& session_;
  const std::uint32_t computed_;
  std::unique_ptr<std::vector<float>> logits_;
  bool kept_ = false;
};

Outcome SessionImpl::generate(const GenerateOptions& options, const TextFunction& on_text,
                              const StopToken& stop) {
  settle_all();
  std::uint32_t tokens = 0;
  Outcome outcome;
  try {
    outcome = answer(options, on_text, stop, tokens);
  } catch (const std::bad_alloc&) {
    set_failed(outcome, Error::no_memory());
  }
  outcome.tokens = tokens;
  return outcome;
}

/// Counts what is committed in `tokens`.
Outcome SessionImpl::answer(const GenerateOptions& options, const TextFunction& on_text,
                            const StopToken& stop, std::uint32_t& tokens) {
  Outcome outcome;
  const auto deliver = [&](const std::string& text) {
    if (!text.empty() && on_text) on_text(text);
  };
  if (auto checked = check(options.sampler); !checked) {
    set_failed(outcome, std::move(checked.error()));
    return outcome;
  }
  for (const std::string& end : options.stop)
    if (!check_utf8(end)) {
      set_failed(outcome, Error::fixed(Code::invalid_argument,
                                       "A stop string is not UTF-8, so that no text can have it; "
                                       "pass UTF-8."));
      return outcome;
    }
  if (options.shift && options.shift->keep + 2 > context_) {
    set_failed(outcome,
               Error(Code::invalid_argument,
                     fmt::format("To keep {} tokens of a context of {} leaves nothing to forget; "
                                 "keep fewer, or use a larger context.",
                                 options.shift->keep, context_)));
    return outcome;
  }
  if (history_.empty()) {
    set_failed(outcome, Error::fixed(Code::invalid_argument,
                                     "There is nothing to go on from; evaluate a prompt first."));
    return outcome;
  }
  RandomState random = options.sampler.seed ? RandomState{*options.sampler.seed, 0} : random_;
  for (;;) {
    if (options.max_tokens != 0 && tokens == options.max_tokens) {
      outcome.finish = Finish::token_limit;
      deliver(text_.take_held());
      return outcome;
    }
    if (stop.possible() && stop.stop_requested()) return stopped_between_runs(stop);
    const bool decodes = computed_ < history_.size() || logits_ == nullptr;
    const bool from_candidates = decodes && sampler_.is_enough(history_.size(), options.sampler);
    std::optional<TokenStep> computed;
    if (decodes) {
      computed.emplace(*this);
      Outcome step = decode(from_candidates ? sampler_.candidates() : nullptr, stop);
      if (!step.done()) return step;
    }
    const auto token = from_candidates
                           ? sampler_.choose_candidate(history_, options.sampler, random, stop)
                           : sampler_.choose(*logits_, history_, options.sampler, random, stop);
    if (!token) return stopped_between_runs(stop);
    const Tokenizer& tokenizer = model_->tokenizer();
    if (tokenizer.is_end(*token)) {
      if (computed) computed->keep();
      outcome.finish = Finish::end_token;
      deliver(text_.flush());
      return outcome;
    }
    // All that can fail comes before the shift, and that before the token.
    TextStream text = text_;
    const TextStream::Step step = text.feed(tokenizer.piece(*token, options.special), options.stop);
    if (history_.size() == context_ && options.shift) {
      Outcome shifted = shift(*options.shift, stop);
      if (!shifted.done()) return shifted;
    } else if (history_.size() == context_) {
      deliver(text_.take_held());  // its tokens are committed
      set_failed(outcome,
                 Error(Code::context_full,
                       fmt::format(
                           "The context of {} tokens is full; start a new session, or use a larger "
                           "context.",
                           context_)));
      return outcome;
    }
    if (computed) computed->keep();
    history_.push_back(*token);
    random_ = random;
    text_ = std::move(text);
    ++tokens;
    deliver(step.text);
    if (step.stopped) {
      outcome.finish = Finish::stop_string;
      return outcome;
    }
  }
}

}  // namespace tacet::detail
