#include "tacet/stop_trials.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <semaphore>
#include <thread>

#include "base/result.hpp"
#include "tacet/host_gaps.hpp"

namespace tacet::cli {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kRepeatEvery = 10;
constexpr std::size_t kGapsAtOnce = 20;
constexpr nanoseconds kGapWindow = std::chrono::milliseconds(5);
constexpr nanoseconds kPairsTime = std::chrono::seconds(12);
constexpr std::size_t kFewestPairs = 40;
constexpr std::size_t kMostPairs = 400;

/// All that a call leaves behind that can be read.
struct State {
  std::vector<Token> tokens;
  std::vector<float> logits;

  explicit State(const Session& session)
      : tokens(session.tokens().begin(), session.tokens().end()),
        logits(session.logits().begin(), session.logits().end()) {}
  /// Bit for bit.
  bool operator==(const State& other) const {
    if (tokens != other.tokens || logits.size() != other.logits.size()) return false;
    return logits.empty() ||
           std::memcmp(logits.data(), other.logits.data(), logits.size() * sizeof(float)) == 0;
  }
};

tl::unexpected<Error> unexpected_end(const Outcome& outcome) {
  if (outcome.error) return tl::unexpected(*outcome.error);
  return fail(Code::internal, "A call that nobody stopped ended as '{}'; please report this.",
              name(outcome.status));
}

/// Measures one kind of call.
class Trials {
 public:
  Trials(StopTask& task, const StopTrialOptions& options) noexcept
      : task_(task), options_(options), random_(options.seed) {}

  Result<StopReport> measure(const std::function<void(std::uint64_t, std::uint64_t)>& progress);

 private:
  Result<void> learn_undisturbed();
  Result<void> stop_once();
  Result<bool> repeat_is_equal(Session& session, const Outcome& stopped);
  Result<nanoseconds> timed(const StopToken& token);
  Result<void> pair();
  std::size_t pair_count() const;

  StopTask& task_;
  const StopTrialOptions& options_;
  std::mt19937_64 random_;
  nanoseconds undisturbed_{};
  std::optional<State> before_;
  std::optional<State> after_;
  std::vector<double> return_us_;
  std::vector<double> idle_us_;
  std::vector<double> gaps_us_;
  std::vector<double> slowdown_percent_;
  StopReport report_;
};

Result<nanoseconds> Trials::timed(const StopToken& token) {
  Result<Session> session = task_.start.fork();
  if (!session) return fail(std::move(session));
  const Clock::time_point begin = Clock::now();
  const Outcome outcome = task_.call(*session, token);
  const nanoseconds time = Clock::now() - begin;
  if (!outcome.done()) return unexpected_end(outcome);
  return time;
}

Result<void> Trials::learn_undisturbed() {
  before_.emplace(task_.start);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    Result<nanoseconds> time = timed({});
    if (!time) return fail(std::move(time));
    times.push_back(static_cast<double>(time->count()));
  }
  undisturbed_ = nanoseconds(static_cast<nanoseconds::rep>(summarize(times).median));
  Result<Session> session = task_.start.fork();
  if (!session) return fail(std::move(session));
  const Outcome outcome = task_.call(*session, {});
  if (!outcome.done()) return unexpected_end(outcome);
  after_.emplace(*session);
  return {};
}

Result<bool> Trials::repeat_is_equal(Session& session, const Outcome& stopped) {
  ++report_.repeats;
  const Outcome outcome = task_.again(session, stopped);
  if (!outcome.done()) return unexpected_end(outcome);
  return State(session) == *after_;
}

Result<void> Trials::stop_once() {
  Result<Session> session = task_.start.fork();
  if (!session) return fail(std::move(session));

  StopSource source;
  volatile unsigned char byte = 0;
  const bool by_byte = options_.via == StopVia::byte;
  const StopToken token = by_byte ? StopToken::byte(&byte) : source.token();
  std::uniform_int_distribution<nanoseconds::rep> within(0, undisturbed_.count());
  const nanoseconds delay(within(random_));

  Clock::time_point stored;
  // Time for the requester to go to sleep before the call begins.
  const Clock::time_point begin = Clock::now() + std::chrono::microseconds(300);
  // The requester stays until the call has returned, as an application's would: the end of a thread
  // takes a core for tens of microseconds, and with it a thread that computes.
  std::binary_semaphore returned_to_caller(0);
  std::thread requester([&] {
    std::this_thread::sleep_until(begin + delay);
    stored = Clock::now();
    if (by_byte) {
      byte = 1;
    } else {
      source.request_stop();
    }
    returned_to_caller.acquire();
  });
  std::this_thread::sleep_until(begin);
  const Outcome outcome = task_.call(*session, token);
  const Clock::time_point returned = Clock::now();
  returned_to_caller.release();
  requester.join();

  if (outcome.done()) {
    ++report_.missed;
    return {};
  }
  if (!outcome.stopped()) return unexpected_end(outcome);
  return_us_.push_back(microseconds(returned - stored));
  // The outcome counts both from the same moment, so their difference holds for any other.
  idle_us_.push_back(microseconds(returned - stored - (outcome.to_return - outcome.to_idle)));

  if (session->tokens().size() != before_->tokens.size() + outcome.tokens)
    report_.bits_equal = false;
  if (outcome.tokens == 0 && !(State(*session) == *before_)) report_.bits_equal = false;
  if ((return_us_.size() - 1) % kRepeatEvery != 0) return {};
  Result<bool> equal = repeat_is_equal(*session, outcome);
  if (!equal) return fail(std::move(equal));
  report_.bits_equal = report_.bits_equal && *equal;
  return {};
}

std::size_t Trials::pair_count() const {
  if (options_.pairs != 0) return options_.pairs;
  const auto fit = static_cast<std::size_t>(kPairsTime / (4 * undisturbed_ + nanoseconds(1)));
  return std::clamp(fit, kFewestPairs, kMostPairs);
}

/// The same work twice with and twice without a token that never fires, the one kind around the
/// other, so that neither a slow drift of the machine nor the place in the order counts.
Result<void> Trials::pair() {
  const StopSource silent;
  std::array<double, 2> times{};
  const std::size_t outer = slowdown_percent_.size() % 2;
  for (const std::size_t with_token : {outer, 1 - outer, 1 - outer, outer}) {
    Result<nanoseconds> time = timed(with_token == 1 ? silent.token() : StopToken());
    if (!time) return fail(std::move(time));
    times[with_token] += static_cast<double>(time->count());
  }
  slowdown_percent_.push_back((times[1] / times[0] - 1) * 100);
  return {};
}

Result<StopReport> Trials::measure(
    const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  Result<void> learned = learn_undisturbed();
  if (!learned) return fail(std::move(learned));
  const std::size_t pairs = pair_count();
  const std::size_t total = options_.stops + pairs;
  const std::size_t most_missed = 20 * options_.stops + 100;

  while (return_us_.size() < options_.stops) {
    if (gaps_us_.size() <= return_us_.size()) {
      const std::size_t count = std::min(kGapsAtOnce, options_.stops - gaps_us_.size());
      const std::vector<double> gaps = host_gaps(options_.threads, count, kGapWindow, random_);
      gaps_us_.insert(gaps_us_.end(), gaps.begin(), gaps.end());
    }
    Result<void> stopped = stop_once();
    if (!stopped) return fail(std::move(stopped));
    if (report_.missed > most_missed)
      return fail(Code::internal, "The {} ends before any stop reaches it; use a larger model.",
                  task_.name);
    progress(return_us_.size(), total);
  }
  while (slowdown_percent_.size() < pairs) {
    Result<void> timed_pair = pair();
    if (!timed_pair) return fail(std::move(timed_pair));
    progress(options_.stops + slowdown_percent_.size(), total);
  }

  report_.stops = return_us_.size();
  report_.return_us = summarize(return_us_);
  report_.idle_us = summarize(idle_us_);
  report_.host_gap_p99_us = summarize(gaps_us_).p99;
  report_.slowdown_percent = median_interval(slowdown_percent_);
  report_.pairs = pairs;
  report_.undisturbed_us = microseconds(undisturbed_);
  report_.tokens = task_.tokens;
  return report_;
}

}  // namespace

Result<StopReport> measure_stops(
    StopTask& task, const StopTrialOptions& options,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  return Trials(task, options).measure(progress);
}

}  // namespace tacet::cli
