#include "tacet/session.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/stop_state.hpp"
#include "runtime/session_impl.hpp"

namespace tacet {

namespace detail {

namespace {

constexpr std::uint32_t most_window = 1U << 30;

std::chrono::nanoseconds since(Clock::time_point then) {
  return std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds(Clock::now() - then));
}

}  // namespace

Outcome not_started(Error error) noexcept {
  Outcome outcome;
  outcome.status = Status::failed;
  outcome.error = std::move(error);
  return outcome;
}

Outcome stopped_between_runs(const StopToken& stop) noexcept {
  const Clock::time_point now = Clock::now();
  Outcome outcome;
  outcome.status = Status::stopped;
  const StopReason reason = stop.reason();
  outcome.reason = reason == StopReason::none ? StopReason::requested : reason;
  const StopState& state = *stop.state();
  const Clock::time_point asked = state.fired() != StopReason::none ? state.fired_at() : now;
  outcome.to_idle = outcome.to_return =
      std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds(now - asked));
  return outcome;
}

RunImpl::RunImpl(SessionImpl& owner, const StopToken& token) : session(owner) {
  const StopToken both[] = {token, source.token()};
  stop = StopToken::any(both);
}

RunImpl::~RunImpl() {
  if (call.settled) return;
  source.request_stop();
  session.settle(call);
}

SessionImpl::SessionImpl(std::shared_ptr<const ModelImpl> model, const SessionOptions& options,
                         std::uint32_t context)
    : model_(std::move(model)),
      options_(options),
      context_(context),
      positions_(context),
      pages_(model_->kv_pool(dtype_of(options.k_type), dtype_of(options.v_type)), context,
             options.window),
      sampler_(model_->config().vocabulary) {
  history_.reserve(context);
  pages_.keep_private(!options.share_prefix);
}

SessionImpl::~SessionImpl() {
  for (const CallImpl* call : pending_)
    for (const auto& chunk : call->chunks) chunk->run.stop();
  settle_all();
  end_shared();
}

Result<std::unique_ptr<SessionImpl>> SessionImpl::create(std::shared_ptr<const ModelImpl> model,
                                                         const SessionOptions& options) {
  const std::uint32_t trained = model->config().context_length;
  const std::uint32_t context =
      options.context != 0 ? options.context : std::min(trained, default_context);
  if (auto checked = check_context(context); !checked) return fail(std::move(checked));
  if (options.window > most_window)
    return fail(Code::invalid_argument, "A window of {} tokens is too large; use at most {}.",
                options.window, most_window);
  // Finds out before the first run whether the device has kernels for these types.
  auto plan = model->plan(1, plan_options(context, options), {.candidates = true});
  if (!plan) return fail(std::move(plan));
  return std::unique_ptr<SessionImpl>(new SessionImpl(std::move(model), options, context));
}

Result<void> SessionImpl::check_tokens(std::span<const Token> tokens) const {
  if (tokens.empty())
    return fail(Code::invalid_argument, "There are no tokens to evaluate; give at least one.");
  const auto vocabulary = static_cast<Token>(model_->config().vocabulary);
  for (const Token token : tokens)
    if (token < 0 || token >= vocabulary)
      return fail(Code::invalid_argument, "There is no token {}; the model has tokens 0 to {}.",
                  token, vocabulary - 1);
  const std::size_t length = pending_.empty() ? history_.size() : pending_.back()->end;
  if (tokens.size() > context_ - length)
    return fail(Code::context_full,
                "{} more tokens do not fit: the session holds {} of {}; shorten the prompt, or use "
                "a larger context.",
                tokens.size(), length, context_);
  return {};
}

std::unique_ptr<Chunk> SessionImpl::take_chunk() {
  if (spare_chunks_.empty()) {
    spare_chunks_.reserve(++chunks_made_);  // so that giving it back can not fail
    return std::make_unique<Chunk>();
  }
  auto chunk = std::move(spare_chunks_.back());
  spare_chunks_.pop_back();
  return chunk;
}

std::unique_ptr<std::vector<float>> SessionImpl::take_logits() {
  if (spare_logits_.empty()) {
    spare_logits_.reserve(++logits_made_);
    return std::make_unique<std::vector<float>>(model_->config().vocabulary);
  }
  auto logits = std::move(spare_logits_.back());
  spare_logits_.pop_back();
  return logits;
}

void SessionImpl::recycle(CallImpl& call) noexcept {
  for (auto& chunk : call.chunks) {
    chunk->run.reset();
    chunk->logits = {};
    if (chunk->shared != nullptr && chunk->shared->run && !chunk->shared->run.finished())
      left_.push_back(std::move(chunk->shared));
    chunk->shared.reset();
    spare_chunks_.push_back(std::move(chunk));
  }
  call.chunks.clear();
  if (call.logits != nullptr) spare_logits_.push_back(std::move(call.logits));
  call.stop = {};
}

Result<void> SessionImpl::start_chunk(CallImpl& call, std::uint32_t begin, std::uint32_t end,
                                      const StopToken& stop) {
  const std::uint32_t rows = end - begin;
  if (auto prepared = pages_.prepare(begin, rows, stop); !prepared) return prepared;
  const RunOutputs outputs{.rows = call.all_logits != nullptr ? rows : 1,
                           .candidates = call.candidates != nullptr};
  auto plan = model_->plan(rows, plan_options(context_, options_), outputs, stop);
  if (!plan) return fail(std::move(plan));

  call.chunks.reserve(call.chunks.size() + 1);
  call.chunks.push_back(take_chunk());
  Chunk& chunk = *call.chunks.back();
  chunk.tokens.clear();
  chunk.positions.clear();
  chunk.output_rows.clear();
  for (std::uint32_t cell = begin; cell < end; ++cell) {
    chunk.tokens.push_back(token_at(call, cell));
    chunk.positions.push_back(positions_[cell]);
  }
  chunk.sequence = sequence(begin, end);
  RunArgs args{.rows = rows,
               .tokens = chunk.tokens,
               .positions = chunk.positions,
               .output_rows = {},
               .kv = pages_.pool()->view({&chunk.sequence, 1}),
               .logits = nullptr};
  if (call.all_logits != nullptr) {
    for (std::uint32_t row = 0; row < rows; ++row)
      chunk.output_rows.push_back(static_cast<std::int32_t>(row));
    args.output_rows = chunk.output_rows;
    args.logits = call.all_logits;
  } else if (end == call.end) {
    chunk.output_rows.push_back(static_cast<std::int32_t>(rows - 1));
    args.output_rows = chunk.output_rows;
    args.logits = call.candidates != nullptr ? call.candidates : call.logits->data();
  }
  RunQueue& queue = model_->queue();
  auto run =
      queue.submit({.tape = (*plan)->tape.get(), .args = args, .token = stop, .chain = this});
  if (!run) return fail(std::move(run));
  chunk.run = RunHandle(queue, **run);
  return {};
}

/// The sequence of a run of the cells from `begin` to `end`.
KvSequence SessionImpl::sequence(std::uint32_t begin, std::uint32_t end) noexcept {
  return pages_.sequence(begin, end - begin, positions_.of_run(end));
}

void SessionImpl::begin_call(CallImpl& call, const StopToken& stop) {
  call.outcome = {};
  // Behind a call that is cut nothing is to begin either.
  call.cut = !pending_.empty() && pending_.back()->cut;
  call.stop = stop;
  pending_.reserve(pending_.size() + 1);
  std::erase_if(left_, [](const auto& shared) { return shared->run.finished(); });
  if (call.candidates == nullptr) call.logits = take_logits();
}

/// Gives up what a call has taken that is not in flight.
void SessionImpl::take_back(CallImpl& call) noexcept {
  recycle(call);
  if (left_.empty()) pages_.truncate(pending_.empty() ? computed_ : pending_.back()->end);
}

/// Submits the runs of a call whose extent is set. On an error nothing of it is in flight.
Result<void> SessionImpl::start(CallImpl& call, const StopToken& stop) {
  try {
    begin_call(call, stop);
    // Cuts lie at absolute multiples, so that what a chunk computes does not depend on where a call
    // began.
    for (std::uint32_t begin = call.begin; begin < call.end && !call.cut;) {
      call.cut = stop.stop_requested();
      if (call.cut) break;
      const std::uint32_t end = std::min(call.end, (begin / chunk_rows + 1) * chunk_rows);
      auto started = start_chunk(call, begin, end, stop);
      if (!started && started.error().code() != Code::stopped) {
        take_back(call);
        return started;
      }
      call.cut = !started;
      begin = end;
    }
  } catch (...) {
    take_back(call);
    throw;
  }
  call.settled = false;
  pending_.push_back(&call);
  return {};
}

/// Sets what a call computes.
Result<void> SessionImpl::lay_out(CallImpl& call, std::span<const Token> tokens,
                                  const StopToken& stop, const EvaluateOptions& options) {
  if (auto checked = check_tokens(tokens); !checked) return checked;
  call.appended.assign(tokens.begin(), tokens.end());
  call.options = options;
  call.append_at =
      static_cast<std::uint32_t>(pending_.empty() ? history_.size() : pending_.back()->end);
  call.begin = pending_.empty() ? computed_ : call.append_at;
  call.end = call.append_at + static_cast<std::uint32_t>(tokens.size());
  call.reused = pending_.empty() && left_.empty() ? reuse_prefix(call, stop) : 0;
  call.begin += call.reused;
  return {};
}

Result<void> SessionImpl::submit(CallImpl& call, std::span<const Token> tokens,
                                 const StopToken& stop, const EvaluateOptions& options) {
  if (auto laid_out = lay_out(call, tokens, stop, options); !laid_out) return laid_out;
  return start(call, stop);
}

/// How many cells of a call behind the computed ones are those of other sessions; its last cell is
/// left, for its logits. Ends early at a stop.
std::uint32_t SessionImpl::reuse_prefix(const CallImpl& call, const StopToken& stop) noexcept {
  std::uint32_t reused = 0;
  std::array<Token, KvPool::page_tokens> tokens;
  for (std::uint32_t cell = call.begin;
       cell + KvPool::page_tokens < call.end && !stop.stop_requested() &&
       positions_.plain(cell + KvPool::page_tokens);
       cell += KvPool::page_tokens) {
    for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = token_at(call, cell + i);
    const std::uint32_t found = pages_.reuse(cell, tokens);
    if (found == 0) break;
    reused += found;
  }
  return reused;
}

Outcome SessionImpl::evaluate(std::span<const Token> tokens, const StopToken& stop,
                              const EvaluateOptions& options) {
  CallImpl call;
  if (auto submitted = submit(call, tokens, stop, options); !submitted)
    return not_started(std::move(submitted.error()));
  return settle(call);
}

void SessionImpl::commit(CallImpl& call, std::uint32_t computed) noexcept {
  const std::uint32_t kept = computed > call.append_at ? computed - call.append_at : 0;
  history_.insert(history_.end(), call.appended.begin(), call.appended.begin() + kept);
  computed_ = computed;
  // After a stop nobody is to wait for it: the next commit does.
  if (computed == call.end)
    pages_.offer(std::span(history_).first(std::min(computed_, positions_.plain_cells())));
  if (options_.window != 0 && computed_ != 0) pages_.release_before(first_seen(computed_ - 1));
  call.outcome.tokens = kept;
  call.outcome.reused = std::min(call.reused, kept);
  std::swap(logits_, call.logits);
  if (computed != call.end && logits_ != nullptr) spare_logits_.push_back(std::move(logits_));
  if (kept != 0) text_ = {};
}

void SessionImpl::settle_one(CallImpl& call) noexcept {
  Outcome& outcome = call.outcome;
  std::uint32_t computed = call.begin;
  RunHandle* bad_run = nullptr;
  Clock::time_point idle_at{};
  for (const auto& chunk : call.chunks) {
    const RunResult& result = chunk->run.wait();
    idle_at = std::max(idle_at, result.idle_at);
    if (bad_run != nullptr) continue;
    if (result.status == RunStatus::done)
      computed += static_cast<std::uint32_t>(chunk->tokens.size());
    else
      bad_run = &chunk->run;
  }
  const RunResult* bad = bad_run != nullptr ? &bad_run->wait() : nullptr;
  if (broken_) {
    // It ran on top of cells that were not committed.
    outcome.status = Status::stopped;
    outcome.reason = StopReason::parent;
  } else if (bad == nullptr && !call.cut) {
    if (const Chunk& last = *call.chunks.back(); !last.logits.empty())
      std::ranges::copy(last.logits, call.logits->begin());
    commit(call, computed);
  } else {
    broken_ = true;
    if (bad == nullptr) {
      outcome = stopped_between_runs(call.stop);
    } else {
      outcome.steps_done = bad->steps_done;
      outcome.steps = bad->steps;
      outcome.status = bad->status == RunStatus::failed ? Status::failed : Status::stopped;
      outcome.reason = bad->reason;
      if (outcome.status == Status::failed) outcome.error = bad_run->take_error();
    }
    if (outcome.stopped() && call.options.keep_progress && computed > call.append_at)
      commit(call, computed);
  }
  if (outcome.stopped() && bad != nullptr && bad->status == RunStatus::stopped) {
    outcome.to_idle = std::max(std::chrono::nanoseconds{0},
                               std::chrono::nanoseconds(idle_at - bad->requested_at));
    outcome.to_return = since(bad->requested_at);
  }
  recycle(call);
  call.settled = true;
}

const Outcome& SessionImpl::settle(CallImpl& call) noexcept {
  while (!call.settled) {
    settle_one(*pending_.front());
    pending_.erase(pending_.begin());
    if (pending_.empty() && std::exchange(broken_, false) && left_.empty())
      pages_.truncate(computed_);
  }
  return call.outcome;
}

void SessionImpl::settle_all() noexcept {
  if (!pending_.empty()) settle(*pending_.back());
}

/// Waits for runs that this session has left, before the host touches its pages or gives them up.
/// False if `stop` fired meanwhile.
bool SessionImpl::end_shared(const StopToken& stop) noexcept {
  constexpr std::chrono::microseconds look_interval{20};
  for (const auto& shared : left_) {
    while (stop.possible() && !shared->run.finished()) {
      if (stop.stop_requested()) return false;
      std::this_thread::sleep_for(look_interval);
    }
    shared->run.wait();
  }
  left_.clear();
  return true;
}

/// Computes the tokens that are not yet; if all are, the last one again, for its logits and with
/// the same bits. With `candidates` the most likely tokens go there, and no logits are readable.
Outcome SessionImpl::decode(float* candidates, const StopToken& stop) {
  CallImpl& call = decode_call_;
  call.appended.clear();
  call.reused = 0;
  call.append_at = call.end = static_cast<std::uint32_t>(history_.size());
  call.begin = std::min(computed_, call.end - 1);
  call.options = {};
  call.candidates = candidates;
  if (auto started = start(call, stop); !started) return not_started(std::move(started.error()));
  return settle(call);
}

Result<std::unique_ptr<SessionImpl>> SessionImpl::fork() {
  settle_all();
  end_shared();
  std::unique_ptr<SessionImpl> copy(new SessionImpl(model_, options_, context_));
  copy->history_.assign(history_.begin(), history_.end());
  copy->computed_ = computed_;
  copy->positions_ = Positions(positions_);
  copy->random_ = random_;
  copy->text_ = text_;
  if (logits_ != nullptr) {
    copy->logits_ = copy->take_logits();
    *copy->logits_ = *logits_;
  }
  copy->pages_.adopt(pages_.fork(computed_));
  return copy;
}

Result<void> SessionImpl::truncate(std::uint32_t count) {
  settle_all();
  end_shared();
  if (count > history_.size())
    return fail(Code::invalid_argument, "The session holds {} tokens; it can not keep {}.",
                history_.size(), count);
  if (count == history_.size()) return {};
  history_.resize(count);
  positions_.truncate(count);
  computed_ = std::min(computed_, count);
  if (count != 0 && first_seen(count - 1) < pages_.first_cell()) computed_ = 0;
  pages_.truncate(computed_);
  if (computed_ == 0) pages_.keep_private(!options_.share_prefix);
  if (logits_ != nullptr) spare_logits_.push_back(std::move(logits_));
  text_ = {};
  return {};
}

}  // namespace detail

std::string_view name(Status status) noexcept {
  switch (status) {
    case Status::done:
      return "done";
    case Status::stopped:
      return "stopped";
    case Status::failed:
      return "failed";
  }
  return "unknown";
}

std::string_view name(Finish finish) noexcept {
  switch (finish) {
    case Finish::none:
      return "none";
    case Finish::end_token:
      return "end_token";
    case Finish::stop_string:
      return "stop_string";
    case Finish::token_limit:
      return "token_limit";
  }
  return "unknown";
}

namespace {

/// The guard of calls that say how they ended instead of returning a Result.
template <typename Body>
Outcome guard_outcome(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    Outcome outcome;
    outcome.status = Status::failed;
    outcome.error = Error::no_memory();
    return outcome;
  }
}

}  // namespace

Run::Run(std::unique_ptr<detail::RunImpl> impl) noexcept : impl_(std::move(impl)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

bool Run::finished() const noexcept {
  return impl_->call.settled || std::ranges::all_of(impl_->call.chunks, [](const auto& chunk) {
           return chunk->run.finished();
         });
}
const Outcome& Run::wait() noexcept {
  return impl_->session.settle(impl_->call);
}
void Run::stop() noexcept {
  impl_->source.request_stop();
}

Result<std::vector<Run>> submit_together(std::span<const SessionCall> calls) {
  return guard([&]() -> Result<std::vector<Run>> {
    std::vector<Run> runs;
    std::vector<detail::RunImpl*> impls;
    for (const SessionCall& call : calls) {
      if (call.session == nullptr)
        return fail(Code::invalid_argument, "A call names no session; leave it out.");
      auto run = std::make_unique<detail::RunImpl>(*call.session->impl_, call.stop);
      impls.push_back(run.get());
      runs.push_back(Run(std::move(run)));
    }
    if (auto submitted = detail::SessionImpl::submit_together(impls, calls); !submitted)
      return fail(std::move(submitted));
    return runs;
  });
}

Session::Session(std::unique_ptr<detail::SessionImpl> impl) noexcept : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::uint32_t Session::context() const noexcept {
  return impl_->context();
}
std::span<const Token> Session::tokens() const noexcept {
  return impl_->tokens();
}
std::span<const float> Session::logits() const noexcept {
  return impl_->logits();
}

Outcome Session::evaluate(std::span<const Token> tokens, const StopToken& stop,
                          const EvaluateOptions& options) {
  return guard_outcome([&] { return impl_->evaluate(tokens, stop, options); });
}

Result<Run> Session::submit(std::span<const Token> tokens, const StopToken& stop,
                            const EvaluateOptions& options) {
  return guard([&]() -> Result<Run> {
    auto run = std::make_unique<detail::RunImpl>(*impl_, stop);
    if (auto submitted = impl_->submit(run->call, tokens, run->stop, options); !submitted)
      return fail(std::move(submitted));
    return Run(std::move(run));
  });
}

Outcome Session::score(std::span<const Token> tokens, std::span<float> log_probabilities,
                       const StopToken& stop) {
  return guard_outcome([&] { return impl_->score(tokens, log_probabilities, stop); });
}

Outcome Session::generate(const GenerateOptions& options, const TextFunction& on_text,
                          const StopToken& stop) {
  return guard_outcome([&] { return impl_->generate(options, on_text, stop); });
}

Result<Session> Session::fork() {
  return guard([&]() -> Result<Session> {
    auto copy = impl_->fork();
    if (!copy) return fail(std::move(copy));
    return Session(std::move(*copy));
  });
}

Result<void> Session::save(const std::string& path, const StopToken& stop, std::string_view note) {
  return guard([&] { return impl_->save(path, stop, note); });
}

Outcome Session::remove(std::uint32_t begin, std::uint32_t end, bool close_gap,
                        const StopToken& stop) {
  return guard_outcome([&] { return impl_->remove(begin, end, close_gap, stop); });
}

Result<void> Session::truncate(std::uint32_t count) {
  return guard([&] { return impl_->truncate(count); });
}

}  // namespace tacet
