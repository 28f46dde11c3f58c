#include <algorithm>

#include "runtime/session_impl.hpp"

namespace tacet::detail {

/// Calls of several sessions on their way into common runs. What was submitted when it goes without
/// `finish` is taken back.
class TogetherSubmission {
 public:
  TogetherSubmission(std::span<RunImpl* const> runs, std::span<const SessionCall> calls)
      : runs_(runs), calls_(calls) {}
  TogetherSubmission(const TogetherSubmission&) = delete;
  TogetherSubmission& operator=(const TogetherSubmission&) = delete;
  ~TogetherSubmission() {
    if (finished_) return;
    for (RunImpl* run : runs_.first(begun_)) run->session.take_back(run->call);
  }

  /// Refuses sessions that no run can carry together.
  Result<void> check() const {
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      const SessionImpl &session = runs_[i]->session, &first = runs_[0]->session;
      for (const RunImpl* other : runs_.first(i))
        if (&other->session == &session)
          return fail(Code::invalid_argument,
                      "A session is named twice; submit its second call after the first.");
      if (session.model_ != first.model_ || session.pages_.pool() != first.pages_.pool() ||
          session.options_.window != first.options_.window)
        return fail(Code::invalid_argument,
                    "Sessions that run together have the same model, the same types of keys and "
                    "values, and the same window; submit these ones apart.");
    }
    return {};
  }

  Result<void> begin() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      SessionImpl& session = runs_[i]->session;
      CallImpl& call = runs_[i]->call;
      if (auto laid_out =
              session.lay_out(call, calls_[i].tokens, runs_[i]->stop, calls_[i].options);
          !laid_out)
        return laid_out;
      begun_ = i + 1;
      session.begin_call(call, runs_[i]->stop);
      next_.push_back(call.begin);
    }
    return {};
  }

  /// Submits the next chunk of every call, in as few runs as their rows allow. Returns whether
  /// there was one.
  Result<bool> submit_round() {
    std::uint32_t rows = 0;
    bool any = false;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      RunImpl& run = *runs_[i];
      if (run.call.cut || next_[i] == run.call.end) continue;
      const std::uint32_t begin = next_[i];
      const std::uint32_t end = std::min(run.call.end, (begin / chunk_rows + 1) * chunk_rows);
      if (rows + end - begin > chunk_rows) {
        if (auto submitted = submit_run(); !submitted) return fail(std::move(submitted));
        rows = 0;
      }
      run.call.cut = run.stop.stop_requested();
      if (run.call.cut) continue;
      if (auto ready = run.session.pages_.prepare(begin, end - begin, run.stop); !ready) {
        if (ready.error().code() != Code::stopped) return fail(std::move(ready));
        run.call.cut = true;
        continue;
      }
      parts_.push_back({&run, begin, end});
      next_[i] = end;
      rows += end - begin;
      any = true;
    }
    if (auto submitted = submit_run(); !submitted) return fail(std::move(submitted));
    return any;
  }

  void finish() noexcept {
    for (RunImpl* run : runs_) {
      run->call.settled = false;
      run->session.pending_.push_back(&run->call);
    }
    finished_ = true;
  }

 private:
  struct Part {
    RunImpl* run;
    std::uint32_t begin;  ///< cells
    std::uint32_t end;
    bool last() const noexcept { return end == run->call.end; }
  };

  static std::shared_ptr<SharedRun> arguments_of(std::span<const Part> parts) {
    auto shared = std::make_shared<SharedRun>();
    for (const auto& [run, begin, end] : parts) {
      SessionImpl& session = run->session;
      KvSequence sequence = session.sequence(begin, end);
      sequence.begin = static_cast<std::uint32_t>(shared->tokens.size());
      sequence.end = sequence.begin + end - begin;
      shared->sequences.push_back(sequence);
      for (std::uint32_t cell = begin; cell < end; ++cell) {
        shared->tokens.push_back(session.token_at(run->call, cell));
        shared->positions.push_back(session.positions_[cell]);
      }
      if (end == run->call.end)
        shared->output_rows.push_back(static_cast<std::int32_t>(sequence.end - 1));
    }
    return shared;
  }

  Result<void> submit_run() {
    if (parts_.empty()) return {};
    const SessionImpl& first = parts_[0].run->session;
    const ModelImpl& model = *first.model_;
    const std::shared_ptr<SharedRun> shared = arguments_of(parts_);
    const auto rows = static_cast<std::uint32_t>(shared->tokens.size());
    const auto outputs = static_cast<std::uint32_t>(shared->output_rows.size());
    std::uint32_t context = 0;
    for (const Part& part : parts_) context = std::max(context, part.run->session.context_);
    auto plan =
        model.plan(rows, plan_options(context, first.options_), {.rows = std::max(outputs, 1U)});
    if (!plan) return fail(std::move(plan));
    const std::size_t vocabulary = model.config().vocabulary;
    shared->logits = std::make_unique_for_overwrite<float[]>(outputs * vocabulary);

    // All that can fail comes before the run.
    std::span<const float> logits(shared->logits.get(), outputs * vocabulary);
    std::vector<RiderRequest> requests;
    for (const Part& part : parts_) {
      SessionImpl& session = part.run->session;
      CallImpl& call = part.run->call;
      requests.push_back({part.run->stop, &session});
      session.left_.reserve(session.left_.size() + call.chunks.size() + 1);
      call.chunks.reserve(call.chunks.size() + 1);
      call.chunks.push_back(session.take_chunk());
      Chunk& chunk = *call.chunks.back();
      chunk.shared = shared;
      chunk.tokens.assign(part.end - part.begin, 0);
      if (!part.last()) continue;
      chunk.logits = logits.first(vocabulary);
      logits = logits.subspan(vocabulary);
    }
    std::vector<RunState*> riders(parts_.size());
    RunQueue& queue = model.queue();
    const RunArgs args{.rows = rows,
                       .tokens = shared->tokens,
                       .positions = shared->positions,
                       .output_rows = shared->output_rows,
                       .kv = first.pages_.pool()->view(shared->sequences),
                       .logits = shared->logits.get()};
    auto carrier = queue.submit_shared({.tape = (*plan)->tape.get(), .args = args, .token = {}},
                                       requests, riders);
    if (!carrier) return fail(std::move(carrier));
    shared->run = RunHandle(queue, **carrier);
    for (std::size_t i = 0; i < riders.size(); ++i)
      parts_[i].run->call.chunks.back()->run = RunHandle(queue, *riders[i]);
    parts_.clear();
    return {};
  }

  std::span<RunImpl* const> runs_;
  std::span<const SessionCall> calls_;
  std::vector<std::uint32_t> next_;  ///< the first cell of each call that is not submitted
  std::vector<Part> parts_;          ///< of the next run
  std::size_t begun_ = 0;
  bool finished_ = false;
};

Result<void> SessionImpl::submit_together(std::span<RunImpl* const> runs,
                                          std::span<const SessionCall> calls) {
  TogetherSubmission together(runs, calls);
  if (auto checked = together.check(); !checked) return checked;
  if (auto begun = together.begin(); !begun) return begun;
  for (bool more = true; more;) {
    auto submitted = together.submit_round();
    if (!submitted) return fail(std::move(submitted));
    more = *submitted;
  }
  together.finish();
  return {};
}

}  // namespace tacet::detail
