#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <thread>

#include "base/stop_state.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;
using namespace std::chrono_literals;

Snapshot after(const ModelPointer& model, std::span<const Token> prompt, const StopToken& stop = {},
               const SessionOptions& options = {}) {
  auto session = new_session(model, options);
  EXPECT_TRUE(session->evaluate(prompt, stop, {}).done());
  EXPECT_TRUE(session->generate({.max_tokens = 10}, {}, stop).done());
  return Snapshot(*session);
}

TEST(Session, BitsDoNotDependOnThreadsOrTokens) {
  const auto expected = [&](unsigned threads, const StopToken& stop) {
    const ModelPointer model = tiny_model("tiny-chat-f16.gguf", threads);
    return after(model, long_prompt(100), stop);
  };
  const Snapshot one = expected(1, {});
  StopSource source;
  EXPECT_TRUE(expected(2, {}) == one);
  EXPECT_TRUE(expected(3, source.token()) == one);
  EXPECT_TRUE(expected(4, StopToken::after(1h)) == one);
}

TEST(Session, AByteOrADeadlineStopsARunInItsMiddle) {
  // One thread, which never waits for another.
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), 1);
  const auto prompt = long_prompt(detail::chunk_rows);  // one run
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  ASSERT_TRUE(new_session(model, {.context = detail::chunk_rows})->evaluate(prompt, {}, {}).done());
  const auto whole = Clock::now() - begin;
  // A stop may come before the first step of a run, or after its last: these come at all tenths.
  const auto stopped_in_run = [&](const auto& token_after, const auto& ask) {
    for (int attempt = 0; attempt < 90; ++attempt) {
      const auto delay = whole * (attempt % 9 + 1) / 10;
      auto session = new_session(model, {.context = detail::chunk_rows});
      detail::CallImpl call;
      EXPECT_TRUE(session->submit(call, prompt, token_after(delay), {}));
      ask(delay);
      const Outcome outcome = session->settle(call);
      if (!outcome.stopped()) continue;
      EXPECT_LT(outcome.steps_done, outcome.steps);
      if (outcome.steps_done != 0) return outcome.reason;
    }
    return StopReason::none;
  };
  unsigned char byte = 0;
  const auto clear = [&](auto) {
    byte = 0;
    return StopToken::byte(&byte);
  };
  const auto set = [&](auto delay) {
    std::this_thread::sleep_for(delay);
    __atomic_store_n(&byte, 1, __ATOMIC_RELAXED);
  };
  EXPECT_EQ(stopped_in_run(clear, set), StopReason::requested);
  EXPECT_EQ(stopped_in_run([](auto delay) { return StopToken::after(delay); }, [](auto) {}),
            StopReason::deadline);
}

TEST(Session, APromptInPiecesGivesTheBitsOfTheWhole) {
  for (const char* file : {"tiny-chat-f16.gguf", "tiny-chat-Q8_0.gguf"}) {
    const ModelPointer model = tiny_model(file);
    const auto prompt = long_prompt(150);
    auto whole = new_session(model);
    ASSERT_TRUE(whole->evaluate(prompt, {}, {}).done());
    auto pieces = new_session(model);
    for (std::size_t at = 0, n = 1; at < prompt.size(); at += n, n = n * 2 + 1) {
      n = std::min(n, prompt.size() - at);
      ASSERT_TRUE(pieces->evaluate(std::span(prompt).subspan(at, n), {}, {}).done());
    }
    EXPECT_TRUE(Snapshot(*whole) == Snapshot(*pieces)) << file;
  }
}

TEST(Session, QueuedCallsCommitInOrder) {
  const ModelPointer model = tiny_model();
  const auto prompt = long_prompt(90);
  auto expected = new_session(model);
  ASSERT_TRUE(expected->evaluate(prompt, {}, {}).done());

  auto session = new_session(model);
  detail::CallImpl a;
  detail::CallImpl b;
  ASSERT_TRUE(session->submit(a, std::span(prompt).first(40), {}, {}));
  ASSERT_TRUE(session->submit(b, std::span(prompt).subspan(40), {}, {}));
  EXPECT_EQ(session->settle(b).tokens, 50U);
  EXPECT_TRUE(a.settled);
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*expected));
}

TEST(Session, CallsBehindAStoppedOneStopWithIt) {
  const FakeModel fake;
  auto session = new_session(fake.model);
  const std::vector<Token> tokens = {1, 2};
  fake.device->hold_at(2);
  StopSource source;
  detail::CallImpl a;
  detail::CallImpl b;
  ASSERT_TRUE(session->submit(a, tokens, source.token(), {}));
  fake.device->wait_until_held();
  ASSERT_TRUE(session->submit(b, tokens, {}, {}));
  source.request_stop();
  EXPECT_EQ(session->settle(b).reason, StopReason::parent);
  EXPECT_EQ(session->settle(a).reason, StopReason::requested);
  EXPECT_TRUE(session->tokens().empty());
  fake.device->hold_at(FakeDevice::never);
  EXPECT_TRUE(session->evaluate(tokens, {}, {}).done()) << "the session goes on";
}

TEST(Session, ACallBehindOneThatDidNotBeginDoesNotCommit) {
  const FakeModel fake;
  auto session = new_session(fake.model);
  const std::vector<Token> tokens = {1, 2};
  StopSource source;
  source.request_stop();
  detail::CallImpl a;
  detail::CallImpl b;
  ASSERT_TRUE(session->submit(a, tokens, source.token(), {}));
  ASSERT_TRUE(session->submit(b, tokens, {}, {}));
  EXPECT_EQ(session->settle(b).reason, StopReason::parent);
  EXPECT_EQ(session->settle(a).reason, StopReason::requested);
  EXPECT_TRUE(session->tokens().empty());
  EXPECT_EQ(fake.device->steps_executed(), 0U);
  EXPECT_TRUE(session->evaluate(tokens, {}, {}).done()) << "the session goes on";
}

TEST(Session, ACallBehindOneThatFailedUnseenDoesNotCommit) {
  const FakeModel fake;
  auto session = new_session(fake.model);
  const std::vector<Token> tokens = {1, 2};
  fake.device->fail_at(3);
  detail::CallImpl a;
  detail::CallImpl b;
  ASSERT_TRUE(session->submit(a, tokens, {}, {}));
  while (!a.chunks[0]->run.finished()) std::this_thread::yield();
  ASSERT_TRUE(session->submit(b, tokens, {}, {}));  // on top of cells that will not be there
  EXPECT_EQ(session->settle(a).status, Status::failed);
  EXPECT_EQ(session->settle(b).reason, StopReason::parent);
  EXPECT_TRUE(session->tokens().empty());
  EXPECT_TRUE(session->evaluate(tokens, {}, {}).done());
}

TEST(Session, DestroyingASessionStopsWhatIsInFlight) {
  const FakeModel fake;
  detail::CallImpl call;
  fake.device->hold_at(2);
  {
    auto session = new_session(fake.model);
    const std::vector<Token> tokens = {1, 2};
    ASSERT_TRUE(session->submit(call, tokens, {}, {}));
    fake.device->wait_until_held();
  }
  EXPECT_TRUE(call.outcome.stopped());
}

TEST(Session, AStoppedTokenBeginsNothing) {
  const FakeModel fake;
  auto session = new_session(fake.model);
  StopSource source;
  source.request_stop(StopReason::shutdown);
  const std::vector<Token> tokens = {1, 2};
  const Outcome outcome = session->evaluate(tokens, source.token(), {});
  EXPECT_TRUE(outcome.stopped());
  EXPECT_EQ(outcome.reason, StopReason::shutdown);
  EXPECT_EQ(fake.device->steps_executed(), 0U);
  EXPECT_EQ(session->pages().pool()->used(), 0U);
}

TEST(Session, AnAllocationLooksAtTheStop) {
  const auto device = std::move(make_cpu_device({.threads = 1}).value());
  StopSource source;
  EXPECT_TRUE(device->allocate(1 << 20, "a test", source.token()));
  source.request_stop();
  const auto stopped = device->allocate(1 << 20, "a test", source.token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::stopped);
}

TEST(Session, OtherSessionsGoOn) {
  const ModelPointer model = tiny_model();
  const auto prompt = long_prompt(400);
  auto a = new_session(model);
  auto b = new_session(model);
  StopSource source;
  detail::CallImpl call_a;
  detail::CallImpl call_b;
  ASSERT_TRUE(a->submit(call_a, prompt, source.token(), {}));
  ASSERT_TRUE(b->submit(call_b, prompt, {}, {}));
  source.request_stop();
  EXPECT_TRUE(b->settle(call_b).done());
  EXPECT_TRUE(a->settle(call_a).stopped());
  auto alone = new_session(model);
  ASSERT_TRUE(alone->evaluate(prompt, {}, {}).done());
  EXPECT_TRUE(Snapshot(*b) == Snapshot(*alone));
}

TEST(Session, KeepProgressKeepsWholeChunks) {
  const ModelPointer model = cpu_model();
  auto session = new_session(model, {.context = 1024});
  const auto tokens = long_prompt(detail::chunk_rows + 40);
  const auto rest = std::span(tokens).subspan(detail::chunk_rows - 1);  // one row, a cut, 40 rows
  ASSERT_TRUE(session->evaluate(std::span(tokens).first(detail::chunk_rows - 1), {}, {}).done());
  const Snapshot before(*session);
  const auto stop_in_second_chunk = [&](bool keep) {
    auto polls = std::make_shared<detail::PollCountdown>(600);
    return session->evaluate(rest, detail::countdown_token(polls), {.keep_progress = keep});
  };
  const Outcome dropped = stop_in_second_chunk(false);
  ASSERT_TRUE(dropped.stopped());
  EXPECT_EQ(dropped.tokens, 0U);
  EXPECT_TRUE(Snapshot(*session) == before);
  const Outcome kept = stop_in_second_chunk(true);
  ASSERT_TRUE(kept.stopped());
  EXPECT_EQ(kept.tokens, 1U);
  EXPECT_EQ(session->tokens().size(), detail::chunk_rows);
  EXPECT_TRUE(session->logits().empty()) << "no logits belong to the last token yet";
  ASSERT_TRUE(session->evaluate(rest.subspan(kept.tokens), {}, {}).done());
  auto whole = new_session(model, {.context = 1024});
  ASSERT_TRUE(whole->evaluate(tokens, {}, {}).done());
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*whole));
}

TEST(Session, KeepProgressOfNoTokenChangesNothing) {
  const ModelPointer model = cpu_model();
  auto session = new_session(model, {.context = 1024});
  const auto tokens = long_prompt(detail::chunk_rows - 1);
  ASSERT_TRUE(session->evaluate(tokens, {}, {}).done());
  ASSERT_TRUE(session->generate({.max_tokens = 1}, {}, {}).done());
  const Snapshot before(*session);  // the last token of the first chunk is not computed yet
  auto polls = std::make_shared<detail::PollCountdown>(600);
  const Outcome outcome =
      session->evaluate(long_prompt(40), detail::countdown_token(polls), {.keep_progress = true});
  ASSERT_TRUE(outcome.stopped());
  EXPECT_EQ(outcome.tokens, 0U);
  EXPECT_FALSE(session->logits().empty());
  EXPECT_TRUE(Snapshot(*session) == before);
}

/// Rounds towards zero and, where that is known, flushes subnormal numbers to zero, while it lives.
class OddFloatMode {
 public:
  OddFloatMode() {
    EXPECT_EQ(std::fegetenv(&before_), 0);
    EXPECT_EQ(std::fesetround(FE_TOWARDZERO), 0);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | flushing);
#endif
  }
  ~OddFloatMode() {
    std::fesetenv(&before_);
  }
  static bool is_set() {
#if defined(__x86_64__)
    if ((__builtin_ia32_stmxcsr() & flushing) != flushing) return false;
#endif
    return std::fegetround() == FE_TOWARDZERO;
  }

 private:
  static constexpr unsigned flushing = 0x8040;
  std::fenv_t before_{};
};

TEST(Session, TheCallersFloatModeChangesNothing) {
  const ModelPointer model = cpu_model("tiny-chat-f16.gguf", cpu::Isa::portable, 1);
  const auto prompt = long_prompt(4);
  auto expected = new_session(model);
  ASSERT_TRUE(expected->evaluate(prompt, {}, {}).done());
  auto session = new_session(model);
  bool done = false;
  bool kept = false;
  {
    const OddFloatMode odd;
    done = session->evaluate(prompt, {}, {}).done();
    kept = OddFloatMode::is_set();
  }
  ASSERT_TRUE(done);
  EXPECT_TRUE(kept) << "the mode is the caller's again";
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*expected));
}

TEST(Session, ACopyOfASharedPageLooksAtTheStop) {
  const ModelPointer model = tiny_model();
  auto session = new_session(model);
  ASSERT_TRUE(session->evaluate(long_prompt(5), {}, {}).done());
  auto fork = std::move(session->fork().value());
  KvPool& pool = *model->kv_pool(DType::f16, DType::f16);
  std::byte* page = fork->pages().sequence(5, 0).pages[0];
  ASSERT_TRUE(pool.shared(page));
  pool.release(pool.allocate().value());  // one is free: only the copy is left to do
  StopSource source;
  source.request_stop();
  const auto copy = pool.own(page, source.token());
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code(), Code::stopped);
  EXPECT_TRUE(pool.shared(page)) << "nothing was given up";
  EXPECT_EQ(pool.used(), 1U);
}

TEST(Session, SessionsOnManyThreadsShareADevice) {
  const ModelPointer model = tiny_model();
  const auto prompt = long_prompt(5);
  const Snapshot expected = after(model, prompt);
  std::vector<std::thread> threads;
  std::array<int, 3> right{};
  for (int& count : right)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) count += after(model, prompt) == expected ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, (std::array<int, 3>{10, 10, 10}));
}

TEST(Session, AFullContextIsAnErrorThatLosesNothing) {
  const ModelPointer model = tiny_model();
  auto session = new_session(model, {.context = 40});
  ASSERT_TRUE(session->evaluate(long_prompt(30), {}, {}).done());
  const Snapshot before(*session);
  const Outcome outcome = session->evaluate(long_prompt(11), {}, {});
  EXPECT_EQ(outcome.status, Status::failed);
  EXPECT_EQ(outcome.error->code(), Code::context_full);
  EXPECT_TRUE(Snapshot(*session) == before);
  Outcome generated = session->generate({.max_tokens = 20}, {}, {});
  if (generated.finish != Finish::end_token) {
    EXPECT_EQ(generated.error->code(), Code::context_full);
    EXPECT_EQ(session->tokens().size(), 40U);
  }
}

TEST(Session, BadTokensAreRefused) {
  const ModelPointer model = tiny_model();
  auto session = new_session(model);
  EXPECT_EQ(session->evaluate({}, {}, {}).error->code(), Code::invalid_argument);
  const std::vector<Token> bad = {5, -1};
  EXPECT_EQ(session->evaluate(bad, {}, {}).error->code(), Code::invalid_argument);
  const std::vector<Token> beyond = {1024};
  EXPECT_EQ(session->evaluate(beyond, {}, {}).error->code(), Code::invalid_argument);
  EXPECT_EQ(session->generate({}, {}, {}).error->code(), Code::invalid_argument);
  ASSERT_TRUE(session->evaluate(long_prompt(3), {}, {}).done());
  EXPECT_EQ(session->generate({.stop = {"\xff"}}, {}, {}).error->code(), Code::invalid_argument);
  EXPECT_EQ(session->generate({.sampler = {.temperature = -1}}, {}, {}).error->code(),
            Code::invalid_argument);
}

TEST(Session, ALostDeviceIsSaidAndTheTokensSurvive) {
  const FakeModel fake;
  auto session = new_session(fake.model);
  const std::vector<Token> tokens = {1, 2, 3};
  ASSERT_TRUE(session->evaluate(tokens, {}, {}).done());
  fake.device->lose_at(4);
  const Outcome outcome = session->generate({}, {}, {});
  EXPECT_EQ(outcome.status, Status::failed);
  EXPECT_EQ(outcome.error->code(), Code::device_lost);
  EXPECT_GE(session->tokens().size(), tokens.size());
  EXPECT_EQ(session->evaluate(tokens, {}, {}).error->code(), Code::device_lost);
}

TEST(Session, DeviceMemoryThatEndsIsAnErrorThatSaysSo) {
  const FakeOptions plenty;
  const std::uint64_t weights = plenty.memory - FakeModel(plenty).device->memory_free();
  const FakeModel fake({.memory = weights + 3 * 70000});
  auto session = new_session(fake.model);
  const Outcome outcome = session->evaluate(long_prompt(200), {}, {});
  ASSERT_EQ(outcome.status, Status::failed);
  EXPECT_EQ(outcome.error->code(), Code::out_of_memory);
  EXPECT_NE(outcome.error->message().find("a page of the KV cache"), std::string_view::npos);
  EXPECT_TRUE(session->tokens().empty());
  EXPECT_EQ(session->pages().pool()->used(), 0U) << "other sessions can have them";
  EXPECT_TRUE(session->evaluate(long_prompt(2), {}, {}).done()) << "what fits still works";
}

TEST(Session, NoBlockSpansTwoHeads) {
  ModelConfig config;
  config.k_head_size = 64;
  config.v_head_size = 80;
  EXPECT_TRUE(detail::check_kv_types(config, DType::q4_0, DType::bf16));
  const auto refused = detail::check_kv_types(config, DType::q4_0, DType::q5_1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_EQ(refused.error().message(),
            "Values can not be kept in q5_1, which has blocks of 32, since the heads of this model "
            "have 80 elements; use f16 or bf16.");
  config.k_head_size = 40;
  EXPECT_NE(detail::check_kv_types(config, DType::q8_0, DType::f16).error().message().find("Keys"),
            std::string_view::npos);
}

TEST(Session, KvTypesAgree) {
  const ModelPointer model = tiny_model("tiny-chat-f16.gguf");
  const auto prompt = question(model);
  const auto logits = [&](KvType k, KvType v) {
    auto session = new_session(model, {.k_type = k, .v_type = v});
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    return std::vector<float>(session->logits().begin(), session->logits().end());
  };
  const auto exact = logits(KvType::f32, KvType::f32);
  // Each bit less doubles the steps of a block.
  const std::pair<KvType, float> types[] = {
      {KvType::f32, 0.0F},  {KvType::f16, 0.01F}, {KvType::bf16, 0.03F}, {KvType::q8_0, 0.1F},
      {KvType::q5_1, 0.6F}, {KvType::q5_0, 0.6F}, {KvType::q4_1, 0.9F},  {KvType::q4_0, 0.9F}};
  for (const auto& [k, k_error] : types)
    for (const auto& [v, v_error] : types) {
      const auto values = logits(k, v);
      double worst = 0;
      for (std::size_t i = 0; i < exact.size(); ++i)
        worst = std::max(worst, std::abs(double{values[i]} - exact[i]));
      EXPECT_LE(worst, k_error + v_error);
      EXPECT_EQ(std::ranges::max_element(values) - values.begin(),
                std::ranges::max_element(exact) - exact.begin());
    }
}

TEST(Session, RandomStopsFromAnotherThreadLoseNothing) {
  const ModelPointer model = tiny_model();
  const auto prompt = long_prompt(60);
  std::unique_ptr<SessionImpl> expected_session;
  double longest_delay = 1;
  for (int i = 0; i < 8; ++i) {
    expected_session = new_session(model);
    const auto begin = Clock::now();
    ASSERT_TRUE(expected_session->evaluate(prompt, {}, {}).done());
    longest_delay =
        std::min(longest_delay, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  ASSERT_TRUE(expected_session->generate({.max_tokens = 8}, {}, {}).done());
  const Snapshot expected(*expected_session);
  RandomState random{7, 0};
  int stops = 0;
  // On a busy machine few stops come in time.
  for (int round = 0; round < 200 || (stops <= 20 && round < 5000); ++round) {
    auto session = new_session(model);
    const auto with_stop = [&](const auto& call) {
      StopSource source;
      const std::chrono::duration<double> delay(random.next() * longest_delay);
      std::atomic<bool> there = false, go = false;
      std::thread asker([&] {
        there = true;
        while (!go) std::this_thread::yield();
        const auto until = Clock::now() + delay;
        while (Clock::now() < until) std::this_thread::yield();
        source.request_stop();
      });
      while (!there) std::this_thread::yield();
      go = true;
      const Outcome outcome = call(source.token());
      asker.join();
      stops += outcome.stopped();
      return outcome.done();
    };
    if (!with_stop([&](const StopToken& stop) { return session->evaluate(prompt, stop, {}); })) {
      EXPECT_TRUE(session->tokens().empty());
      ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
    }
    std::uint32_t left = 8;
    with_stop([&](const StopToken& stop) {
      const Outcome outcome = session->generate({.max_tokens = left}, {}, stop);
      left -= outcome.tokens;
      return outcome;
    });
    if (left > 0) {
      ASSERT_TRUE(session->generate({.max_tokens = left}, {}, {}).done());
    }
    ASSERT_TRUE(Snapshot(*session) == expected) << round;
  }
  EXPECT_GT(stops, 20);
}

}  // namespace
}  // namespace tacet
