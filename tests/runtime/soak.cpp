// Many threads, each with a session of one model, whose calls are stopped at random moments:
// nothing is lost, and what comes of them has the bits of an undisturbed session.
// TACET_SOAK_SECONDS lets it go on for so long, TACET_SOAK_STOPS until there were so many stops.

#include <cstdlib>
#include <thread>

#include "formats/temporary_folder.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

double number(const char* name, double otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::atof(given) : otherwise;
}

/// One thread's part: does the same steps with stops in a session of its own as without in another.
class Worker {
 public:
  Worker(const ModelPointer& model, unsigned seed, const TemporaryFolder& folder)
      : model_(model),
        random_{seed, 0},
        prompt_(long_prompt(40 + seed * 23, static_cast<Token>(seed % 3))),
        path_(folder / std::to_string(seed)) {}

  /// One conversation. Returns false at the first difference.
  bool round(double longest_delay) {
    longest_delay_ = longest_delay;
    const SessionOptions options{.context = 256, .share_prefix = chance(0.7)};
    stopped_ = std::move(SessionImpl::create(model_, options).value());
    calm_ = new_session(model_, options);
    const auto evaluate = [&](std::span<const Token> tokens) {
      return both(
          [&](SessionImpl& s, const StopToken& stop) { return s.evaluate(tokens, stop, {}); });
    };
    if (!evaluate(prompt_) || !answer(12)) return false;
    if (chance(0.3)) {
      const std::uint32_t begin = 5 + static_cast<std::uint32_t>(random_.next() * 20);
      const bool close = chance(0.5);
      if (!both([&](SessionImpl& s, const StopToken& stop) {
            return s.remove(begin, begin + 9, close, stop);
          }))
        return false;
    }
    if (chance(0.3)) {
      auto fork = stopped_->fork().value();
      if (chance(0.5)) stopped_.swap(fork);
      StopSource source;
      source.request_stop();
      fork->evaluate(prompt_, source.token(), {});
    }
    if (chance(0.3) && !stopped_->truncate(30)) return false;
    if (stopped_->tokens().size() == 30 && !calm_->truncate(30)) return false;
    if (chance(0.2) && !save_and_restore()) return false;
    return evaluate(std::span(prompt_).first(20)) && answer(4) &&
           Snapshot(*stopped_) == Snapshot(*calm_);
  }

  int stops() const { return stops_; }

 private:
  bool chance(double p) { return random_.next() < p; }

  /// Repeats `call` with stops until it is done, and does it once without.
  template <typename Call>
  bool both(const Call& call) {
    for (;;) {
      const std::chrono::duration<double> delay(random_.next() * longest_delay_);
      StopSource source;
      const StopToken tokens[] = {
          source.token(),
          StopToken::after(std::chrono::duration_cast<std::chrono::nanoseconds>(delay))};
      const bool by_deadline = chance(0.5);
      std::thread asker([&] {
        if (by_deadline) return;
        const auto until = Clock::now() + delay;
        while (Clock::now() < until) std::this_thread::yield();
        source.request_stop();
      });
      const Outcome outcome = call(*stopped_, tokens[by_deadline ? 1 : 0]);
      asker.join();
      if (outcome.status == Status::failed) return false;
      if (outcome.done()) break;
      ++stops_;
      if (chance(0.2)) {
        if (!call(*stopped_, {}).done()) return false;
        break;
      }
    }
    return call(*calm_, {}).done();
  }

  bool answer(std::uint32_t tokens) {
    const SamplerOptions sampler{.temperature = 1, .top_k = chance(0.5) ? 40U : 0};
    std::uint32_t left = tokens;
    while (left != 0) {
      const auto stop = StopToken::after(std::chrono::nanoseconds(
          static_cast<std::int64_t>(random_.next() * longest_delay_ * 1e9)));
      const Outcome outcome = stopped_->generate({.max_tokens = left, .sampler = sampler}, {},
                                                 chance(0.7) ? stop : StopToken());
      if (outcome.status == Status::failed) return false;
      left -= outcome.tokens;
      if (outcome.done()) break;  // the model may end before
      ++stops_;
    }
    return calm_->generate({.max_tokens = tokens, .sampler = sampler}, {}, {}).done();
  }

  bool save_and_restore() {
    if (!stopped_->save(path_, {})) return false;
    auto restored = SessionImpl::restore(model_, path_, 0, {});
    if (!restored) return false;
    stopped_ = std::move(*restored);
    return true;
  }

  ModelPointer model_;
  RandomState random_;
  std::vector<Token> prompt_;
  std::string path_;
  double longest_delay_ = 0;
  std::unique_ptr<SessionImpl> stopped_, calm_;
  int stops_ = 0;
};

TEST(Soak, RandomStopsFromEightThreadsLoseNothing) {
  const double seconds = number("TACET_SOAK_SECONDS", 0);
  const int wanted = static_cast<int>(number("TACET_SOAK_STOPS", seconds > 0 ? 0 : 200));
  const ModelPointer model = tiny_model();
  const TemporaryFolder folder;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  ASSERT_TRUE(new_session(model)->evaluate(long_prompt(150), {}, {}).done());
  // Eight of them share the device.
  const double longest_delay = 4 * elapsed();
  std::atomic<int> stops = 0, rounds = 0;
  std::atomic<bool> lost = false;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Worker worker(model, t, folder);
      while (!lost && (elapsed() < seconds || stops < wanted)) {
        const int before = worker.stops();
        if (!worker.round(longest_delay)) lost = true;
        stops += worker.stops() - before;
        ++rounds;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(lost);
  EXPECT_EQ(model->kv_pool(DType::f16, DType::f16)->used(), 0U);
  EXPECT_GE(stops, wanted);
  std::printf("%d stops in %d conversations, %.1f s\n", stops.load(), rounds.load(), elapsed());
}

}  // namespace
}  // namespace tacet
