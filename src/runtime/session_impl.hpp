#pragma once

#include <memory>
#include <vector>

#include "backends/run_queue.hpp"
#include "runtime/model_impl.hpp"
#include "runtime/page_table.hpp"
#include "runtime/positions.hpp"
#include "runtime/sampler.hpp"
#include "runtime/text_stream.hpp"
#include "tacet/session.hpp"

namespace tacet::detail {

/// A run of several sessions, and the memory its arguments point to. Goes with the last of them.
struct SharedRun {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> output_rows;
  std::vector<KvSequence> sequences;
  std::unique_ptr<float[]> logits;  ///< a row for each output row
  RunHandle run;                    ///< the carrier
};

/// The part of a call that one run carries: the memory its arguments point to, and the run.
struct Chunk {
  std::shared_ptr<SharedRun> shared;  ///< of which it is a part, if it is
  std::span<const float> logits;      ///< in `shared`, if they were asked for
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> output_rows;
  KvSequence sequence;
  RunHandle run;
};

/// A submitted call: runs that are committed or rolled back together, in the order of submission.
class CallImpl {
 public:
  std::vector<Token> appended;  ///< what the call adds to the history
  std::uint32_t append_at = 0;  ///< where in the history
  std::uint32_t begin = 0;      ///< the first cell that it computes
  std::uint32_t reused = 0;     ///< cells before it that other sessions have computed
  std::uint32_t end = 0;        ///< behind its last cell
  EvaluateOptions options;
  StopToken stop;
  bool cut = false;  ///< stopped before all its runs were submitted
  std::unique_ptr<std::vector<float>> logits;
  float* all_logits = nullptr;  ///< where those of each row go instead, in a call of one run
  float* candidates = nullptr;  ///< where those of its last row go instead of logits
  std::vector<std::unique_ptr<Chunk>> chunks;
  bool settled = true;  ///< false while it is in flight
  Outcome outcome;
};

/// What a Run refers to.
class RunImpl {
 public:
  RunImpl(SessionImpl& owner, const StopToken& token);
  ~RunImpl();

  SessionImpl& session;
  StopSource source;  ///< for Run::stop
  StopToken stop;     ///< the user's token or `source`
  CallImpl call;
};

/// The outcome of a call that did not get as far as a run.
Outcome not_started(Error error) noexcept;
/// The outcome of a stop that was seen while nothing ran.
Outcome stopped_between_runs(const StopToken& stop) noexcept;

/// A session: what is committed, and the calls in flight. One thread at a time, but for stops.
///
/// Committed are: the token history and its positions; the number of cells that are computed for
/// it, which trails by the one token that `generate` delivered last; the readable logits; the
/// random generator; the text that waits for its character to be complete. A run writes cells
/// behind the computed ones, and logits into a buffer of its own, so a commit moves numbers and a
/// roll back does nothing.
class SessionImpl {
 public:
  static Result<std::unique_ptr<SessionImpl>> create(std::shared_ptr<const ModelImpl> model,
                                                     const SessionOptions& options);
  ~SessionImpl();

  std::uint32_t context() const noexcept { return context_; }
  std::span<const Token> tokens() const noexcept { return history_; }
  std::span<const float> logits() const noexcept {
    return logits_ != nullptr ? std::span<const float>(*logits_) : std::span<const float>();
  }

  // For tests: the committed state that has no public reader.
  std::uint32_t computed() const noexcept { return computed_; }
  const RandomState& random() const noexcept { return random_; }
  const PageTable& pages() const noexcept { return pages_; }
  const TextStream& text() const noexcept { return text_; }
  const Positions& positions() const noexcept { return positions_; }

  Outcome evaluate(std::span<const Token> tokens, const StopToken& stop,
                   const EvaluateOptions& options);
  /// Starts `call`, which must stay where it is until it is settled. A stop is not an error: the
  /// call is then settled as stopped, and those behind it with it.
  Result<void> submit(CallImpl& call, std::span<const Token> tokens, const StopToken& stop,
                      const EvaluateOptions& options);
  /// Starts `calls[i]` in the session `runs[i]`, in common runs. On an error nothing is in flight.
  static Result<void> submit_together(std::span<RunImpl* const> runs,
                                      std::span<const SessionCall> calls);
  /// Waits for a call and the calls before it, commits them or rolls them back, and says what came
  /// of it.
  const Outcome& settle(CallImpl& call) noexcept;
  Outcome score(std::span<const Token> tokens, std::span<float> log_probabilities,
                const StopToken& stop);
  Outcome generate(const GenerateOptions& options, const TextFunction& on_text,
                   const StopToken& stop);
  Result<std::unique_ptr<SessionImpl>> fork();
  Result<void> truncate(std::uint32_t count);
  Outcome remove(std::uint32_t begin, std::uint32_t end, bool close_gap, const StopToken& stop);
  Result<void> save(const std::string& path, const StopToken& stop, std::string_view note = {});
  static Result<std::unique_ptr<SessionImpl>> restore(std::shared_ptr<const ModelImpl> model,
                                                      const std::string& path,
                                                      std::uint32_t context, const StopToken& stop,
                                                      std::string* note = nullptr);
  /// The same for the bytes of the file at `path`.
  static Result<std::unique_ptr<SessionImpl>> restore(std::shared_ptr<const ModelImpl> model,
                                                      std::span<const std::byte> bytes,
                                                      const std::string& path,
                                                      std::uint32_t context, const StopToken& stop,
                                                      std::string* note = nullptr);

 private:
  SessionImpl(std::shared_ptr<const ModelImpl> model, const SessionOptions& options,
              std::uint32_t context);

  Result<void> check_tokens(std::span<const Token> tokens) const;
  friend class TogetherSubmission;
  Result<void> lay_out(CallImpl& call, std::span<const Token> tokens, const StopToken& stop,
                       const EvaluateOptions& options);
  void take_back(CallImpl& call) noexcept;
  Token token_at(const CallImpl& call, std::uint32_t cell) const noexcept {
    return cell < call.append_at ? history_[cell] : call.appended[cell - call.append_at];
  }
  KvSequence sequence(std::uint32_t begin, std::uint32_t end) noexcept;
  void begin_call(CallImpl& call, const StopToken& stop);
  bool end_shared(const StopToken& stop = {}) noexcept;
  Result<void> start(CallImpl& call, const StopToken& stop);
  Result<void> start_chunk(CallImpl& call, std::uint32_t begin, std::uint32_t end,
                           const StopToken& stop);
  void settle_one(CallImpl& call) noexcept;
  void commit(CallImpl& call, std::uint32_t computed) noexcept;
  void recycle(CallImpl& call) noexcept;
  void settle_all() noexcept;
  std::uint32_t reuse_prefix(const CallImpl& call, const StopToken& stop) noexcept;
  std::uint32_t first_seen(std::uint32_t cell) const noexcept {
    return positions_.first_seen(cell, options_.window);
  }
  Outcome cut_out(std::uint32_t begin, std::uint32_t end, bool close_gap, const StopToken& stop);
  Outcome shift(const ContextShift& options, const StopToken& stop);
  std::unique_ptr<Chunk> take_chunk();
  std::unique_ptr<std::vector<float>> take_logits();
  Outcome score_slices(std::span<const Token> tokens, std::span<const float> before,
                       std::span<float> log_probabilities, const StopToken& stop);
  class TokenStep;
  Outcome decode(float* candidates, const StopToken& stop);
  Outcome answer(const GenerateOptions& options, const TextFunction& on_text, const StopToken& stop,
                 std::uint32_t& tokens);

  std::shared_ptr<const ModelImpl> model_;
  SessionOptions options_;
  std::uint32_t context_;

  // Committed state.
  std::vector<Token> history_;
  std::uint32_t computed_ = 0;  ///< cells
  Positions positions_;
  std::unique_ptr<std::vector<float>> logits_;
  RandomState random_;
  TextStream text_;

  PageTable pages_;
  Sampler sampler_;
  CallImpl decode_call_;
  std::vector<CallImpl*> pending_;  ///< in the order of submission
  /// Runs that go on for others after this session's part in them was stopped: its pages are not to
  /// be touched by the host, nor given up.
  std::vector<std::shared_ptr<SharedRun>> left_;
  bool broken_ = false;  ///< a pending call did not succeed: those behind it do not either
  std::vector<std::unique_ptr<Chunk>> spare_chunks_;
  std::vector<std::unique_ptr<std::vector<float>>> spare_logits_;
  std::size_t chunks_made_ = 0;
  std::size_t logits_made_ = 0;
};

}  // namespace tacet::detail
