#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/error.hpp"
#include "tacet/stop.hpp"

namespace tacet {

using Token = std::int32_t;

namespace detail {
class ModelImpl;
class SessionImpl;
class RunImpl;
}  // namespace detail

/// How a call ended.
enum class Status { done, stopped, failed };
std::string_view name(Status status) noexcept;

/// Why `generate` was done.
enum class Finish {
  none,         ///< it was not done, or the call was not a `generate`
  end_token,    ///< the model ended its answer
  stop_string,  ///< one of the stop strings came up
  token_limit,  ///< max_tokens were delivered
};
std::string_view name(Finish finish) noexcept;

/// What came of a call. `stopped` is not an error: the session is what it was before the call
/// (before the token in flight, for `generate`), bit for bit, and the same call again gives what it
/// would have given. To go on with an answer, `generate` again without a seed, for as many tokens
/// as are left.
struct Outcome {
  Status status = Status::done;
  StopReason reason = StopReason::none;  ///< of a stopped call
  std::optional<Error> error = {};       ///< of a failed call
  Finish finish = Finish::none;
  std::uint32_t tokens = 0;      ///< committed by the call: evaluated, or delivered by `generate`
  std::uint32_t reused = 0;      ///< of them, taken over from other sessions
  std::uint32_t steps_done = 0;  ///< how far the stopped run got
  std::uint32_t steps = 0;       ///< of how many
  /// From the request to the device being idle (for one of several sessions in a run: to its end
  /// for this one), and to this call's return. For a byte or a callback from the moment that the
  /// run saw it.
  std::chrono::nanoseconds to_idle{};
  std::chrono::nanoseconds to_return{};

  bool done() const noexcept { return status == Status::done; }
  bool stopped() const noexcept { return status == Status::stopped; }
};

/// In what the keys and values of a session are kept. The q types have blocks of 32: the size of a
/// head must be a multiple of it.
enum class KvType { f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 };

struct SessionOptions {
  std::uint32_t context =
      0;  ///< tokens it can hold; 0: what the model was trained for, at most 4096
  KvType k_type = KvType::f16;
  KvType v_type = KvType::f16;
  /// A token sees only so many tokens up to itself, and keys and values that none can see any more
  /// are given up, so that memory does not grow with the conversation; 0: it sees all.
  std::uint32_t window = 0;
  /// A prompt takes over what sessions of the same model have computed for the same first tokens,
  /// if it is still there, in pieces of 32 tokens: the bits are the same, only sooner. How long a
  /// prompt takes can tell whether another session had it before; false: neither take nor give.
  bool share_prefix = true;
};

struct SamplerOptions {
  float temperature = 0;    ///< 0: the most likely token; else logits are divided by it
  std::uint32_t top_k = 0;  ///< keep the k most likely; 0: all
  float top_p = 1;          ///< keep the smallest set whose probability reaches p; 1: all
  float min_p = 0;          ///< keep what is at least this part of the best probability; 0: all
  float repeat_penalty =
      1;  ///< divides (multiplies, if negative) logits of recent tokens; 1: none (arXiv:1909.05858)
  std::uint32_t repeat_last = 64;  ///< how many tokens are recent
  std::optional<std::uint64_t> seed =
      {};  ///< restarts the session's random generator; empty: it goes on, after a stop too
};

struct EvaluateOptions {
  /// On a stop, keep the whole chunks of the prompt that finished; Outcome::tokens says how many
  /// tokens.
  bool keep_progress = false;
};

/// What makes room in a context that is full: see Session::remove.
struct ContextShift {
  std::uint32_t keep = 0;  ///< tokens at the start that are never forgotten
};

struct GenerateOptions {
  /// 0: until the model ends. A context that fills up first is an error (context_full) after all
  /// that fits was delivered.
  std::uint32_t max_tokens = 0;
  /// Instead of that error, forget the older half of the tokens behind those that are kept, and
  /// close the gap, as often as needed.
  std::optional<ContextShift> shift = {};
  SamplerOptions sampler = {};
  std::vector<std::string> stop = {};  ///< strings that end the answer; they are not delivered
  bool special = false;                ///< deliver control tokens as text too
};

/// Receives text as it is generated: whole UTF-8 characters, in order; valid during the call. Must
/// not throw.
using TextFunction = std::function<void(std::string_view text)>;

struct SessionCall;

/// A submission in flight: makes progress by itself. Destroying it stops it and waits. Its session
/// must outlive it, and is not to be used meanwhile except to submit more.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Whether it has ended; never blocks.
  bool finished() const noexcept;
  /// Waits for the end; callbacks of the token run here. Says the same each time.
  const Outcome& wait() noexcept;
  /// Asks this run to stop. Any thread.
  void stop() noexcept;

 private:
  friend class Session;
  friend Result<std::vector<Run>> submit_together(std::span<const SessionCall> calls);
  explicit Run(std::unique_ptr<detail::RunImpl> impl) noexcept;
  std::unique_ptr<detail::RunImpl> impl_;
};

class Session;

/// One of the calls of `submit_together`.
struct SessionCall {
  Session* session;
  std::span<const Token> tokens;
  StopToken stop = {};
  EvaluateOptions options = {};
};

/// Submits what Session::submit would, for several sessions of one model in common runs, which read
/// the weights once for all of them: a Run for each call. Each commits or not on its own, with the
/// bits that it would have alone. One that is stopped ends at once and leaves the others alone; the
/// device goes on for these, and what needs the session's memory (fork, save, destruction) waits
/// for it. Errors, where nothing is submitted: those of Session::submit; invalid_argument for a
/// session that is named twice, and for sessions that differ in model, types of keys or values, or
/// window. Used by the thread that uses the sessions.
Result<std::vector<Run>> submit_together(std::span<const SessionCall> calls);

/// One conversation: the tokens so far, their keys and values, the random generator. Used by one
/// thread at a time; a stop may come from any. Destroying it stops what is in flight and waits.
/// Movable.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  std::uint32_t context() const noexcept;
  /// The committed tokens, prompts and answers.
  std::span<const Token> tokens() const noexcept;
  /// Logits after the last evaluated token, one for each token of the vocabulary; valid until the
  /// next call. Empty at first, and after a `generate`, for which only the most likely tokens leave
  /// the device, unless its options may need all: a temperature without top_k (or with more than
  /// 128, less the recent tokens under a penalty), a penalty below 1.
  std::span<const float> logits() const noexcept;

  /// Appends `tokens` and computes them: the prompt. Atomic.
  Outcome evaluate(std::span<const Token> tokens, const StopToken& stop = {},
                   const EvaluateOptions& options = {});
  /// The same without waiting. Several may be queued; those behind a stopped one stop with it
  /// (reason `parent`).
  Result<Run> submit(std::span<const Token> tokens, const StopToken& stop = {},
                     const EvaluateOptions& options = {});
  /// Appends `tokens` as evaluate does, and writes the natural logarithm of each one's probability
  /// given all before it to `log_probabilities`, which has as many elements; the first token of an
  /// empty session has none: NaN. Atomic; a call that is not done leaves `log_probabilities`
  /// undefined.
  Outcome score(std::span<const Token> tokens, std::span<float> log_probabilities,
                const StopToken& stop = {});
  /// Generates an answer token by token. Each delivered token is committed: a stop loses only the
  /// token in flight.
  Outcome generate(const GenerateOptions& options, const TextFunction& on_text,
                   const StopToken& stop = {});

  /// A second session with the same past; whole pages of memory are shared.
  Result<Session> fork();
  /// Forgets the tokens from `begin` to `end`; Outcome::tokens says how many. What comes behind
  /// keeps its keys and values, which were computed with the forgotten tokens in sight, and its
  /// positions: the model sees a gap. With `close_gap` the tokens before `begin` move up to what
  /// comes behind: they are computed again at their new positions, as a prompt of `begin` tokens.
  /// Atomic. Logits are not readable until the next evaluate.
  Outcome remove(std::uint32_t begin, std::uint32_t end, bool close_gap = false,
                 const StopToken& stop = {});
  /// Writes all of the session to a file, whole or not at all: tokens, keys and values, logits,
  /// random generator. Model::restore_session reads it, on any machine with the same model file.
  /// `note` is the program's own and comes back with it. Code::stopped if `stop` fired.
  Result<void> save(const std::string& path, const StopToken& stop = {},
                    std::string_view note = {});
  /// Forgets all but the first `count` tokens. Logits are not readable until the next evaluate. A
  /// `generate` computes the last kept token anew; all of them, if a window had moved past what
  /// they need.
  Result<void> truncate(std::uint32_t count);

 private:
  friend class Model;
  friend Result<std::vector<Run>> submit_together(std::span<const SessionCall> calls);
  explicit Session(std::unique_ptr<detail::SessionImpl> impl) noexcept;
  std::unique_ptr<detail::SessionImpl> impl_;
};

}  // namespace tacet
