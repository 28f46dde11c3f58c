#include <array>
#include <functional>
#include <thread>

#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/open_device.hpp"
#include "cuda/fake_driver.hpp"
#include "runtime/support.hpp"

// Stops at the gates between what is submitted, on a GPU where there is one, and on a driver that
// computes nothing.
namespace tacet {
namespace {

using namespace test;
using namespace std::chrono_literals;

class Gates : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const cuda::Driver* driver = &fake_.driver();
    if (GetParam()) {
      if (cuda_device_count() == 0) GTEST_SKIP() << "there is no GPU, or no kernels for it";
      driver = cuda::driver();
    }
    driver_ = driver;
    ASSERT_NO_FATAL_FAILURE(load(GpuLayers::all()));
  }

  void load(GpuLayers layers) {
    auto device = cuda::open_device(*driver_, 0, [this](std::size_t) {
      ++passed_;
      if (at_gate_) at_gate_(passed_);
    });
    ASSERT_TRUE(device) << device.error().message();
    auto model = try_load(std::move(*device), model_path("tiny-chat-Q8_0.gguf"), {}, layers);
    ASSERT_TRUE(model) << model.error().message();
    model_ = *model;
  }

  /// A session that has computed a question.
  std::unique_ptr<SessionImpl> asked() {
    auto session = new_session(model_);
    EXPECT_TRUE(session->evaluate(question(model_), {}, {}).done());
    return session;
  }
  /// The gates of `call` when nobody stops it.
  template <typename Call>
  int count_gates(const Call& call) {
    passed_ = 0;
    EXPECT_TRUE(call().done());
    EXPECT_GT(passed_, 3);
    return passed_;
  }
  /// What becomes of `call` if `look` sees how many of its gates were passed, at each of them.
  template <typename Call>
  Outcome with_gates(const std::function<void(int passed)>& look, const Call& call) {
    passed_ = 0;
    at_gate_ = look;
    const Outcome outcome = call();
    at_gate_ = {};
    return outcome;
  }
  /// The same if a stop is asked for at one of them. None behind it is passed.
  template <typename Call>
  Outcome stopped_at(int gate, const Call& call) {
    StopSource source;
    const Outcome outcome = with_gates(
        [&](int passed) {
          if (passed == gate) source.request_stop();
        },
        [&] { return call(source.token()); });
    EXPECT_EQ(outcome.status, Status::stopped) << "gate " << gate;
    EXPECT_EQ(outcome.reason, StopReason::requested);
    EXPECT_EQ(passed_, gate) << "the run went on";
    return outcome;
  }

  /// Stops `call` at each of its gates in turn: the session is what it was, and the call again
  /// gives the bits of an undisturbed one.
  void stop_at_every_gate(const std::function<std::unique_ptr<SessionImpl>()>& make,
                          const std::function<Outcome(SessionImpl&, const StopToken&)>& call) {
    auto undisturbed = make();
    const int gates = count_gates([&] { return call(*undisturbed, {}); });
    const Snapshot expected(*undisturbed);

    auto session = make();
    const Snapshot before(*session);
    for (int gate = 1; gate <= gates; ++gate) {
      stopped_at(gate, [&](const StopToken& stop) { return call(*session, stop); });
      ASSERT_TRUE(Snapshot(*session) == before) << "gate " << gate << " of " << gates;
      auto again = session->fork().value();
      ASSERT_TRUE(call(*again, {}).done());
      ASSERT_TRUE(Snapshot(*again) == expected) << "gate " << gate << " of " << gates;
      ASSERT_FALSE(HasFailure());
    }
    std::printf("%d gates\n", gates);
  }

  void stop_by_relay(const std::function<void()>& fire, const StopToken& stop, StopReason reason);

  FakeDriver fake_;
  ModelPointer model_;
  int passed_ = 0;

 private:
  const cuda::Driver* driver_ = nullptr;
  std::function<void(int)> at_gate_;
};

TEST_P(Gates, OfAPrompt) {
  const auto prompt = question(model_);
  stop_at_every_gate([&] { return new_session(model_); },
                     [&](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(prompt, stop, {});
                     });
}

TEST_P(Gates, OfADecodeStep) {
  stop_at_every_gate([&] { return asked(); },
                     [](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(std::array<Token, 1>{100}, stop, {});
                     });
}

TEST_P(Gates, OfAnAnswerWhoseTokensAreChosenOnTheDevice) {
  stop_at_every_gate(
      [&] {
        auto session = asked();
        EXPECT_EQ(session->generate({.max_tokens = 1}, {}, {}).tokens, 1U);
        return session;
      },
      [](SessionImpl& session, const StopToken& stop) {
        const SamplerOptions sampler{.temperature = 0.7F, .top_k = 40, .repeat_penalty = 1.1F};
        return session.generate({.max_tokens = 1, .sampler = sampler}, {}, stop);
      });
}

TEST_P(Gates, OfALongPrompt) {
  const auto prompt = long_prompt(detail::chunk_rows + 100);
  stop_at_every_gate([&] { return new_session(model_, {.context = 1024}); },
                     [&](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(prompt, stop, {});
                     });
}

TEST_P(Gates, KeepProgressKeepsWholeChunks) {
  const auto tokens = long_prompt(detail::chunk_rows + 40);
  const auto rest = std::span(tokens).subspan(detail::chunk_rows - 1);  // one row, a cut, 40 rows
  auto session = new_session(model_, {.context = 1024});
  ASSERT_TRUE(session->evaluate(std::span(tokens).first(detail::chunk_rows - 1), {}, {}).done());
  auto whole = session->fork().value();
  const int gates = count_gates([&] { return whole->evaluate(rest, {}, {}); });
  const Snapshot before(*session);
  const auto stop_in_second_chunk = [&](bool keep) {
    return stopped_at(gates, [&](const StopToken& stop) {
      return session->evaluate(rest, stop, {.keep_progress = keep});
    });
  };
  EXPECT_EQ(stop_in_second_chunk(false).tokens, 0U);
  EXPECT_TRUE(Snapshot(*session) == before);
  EXPECT_EQ(stop_in_second_chunk(true).tokens, 1U);
  EXPECT_EQ(session->tokens().size(), detail::chunk_rows);
  EXPECT_TRUE(session->logits().empty()) << "no logits belong to the last token yet";
  ASSERT_TRUE(session->evaluate(rest.subspan(1), {}, {}).done());
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*whole));
}

TEST_P(Gates, APrefixOfAStoppedPromptIsNotOffered) {
  const auto prompt = long_prompt(150);
  const int gates = count_gates([&] { return new_session(model_)->evaluate(prompt, {}, {}); });
  auto session = SessionImpl::create(model_, {}).value();
  KvPool& pool = *session->pages().pool();
  const auto first = std::span(prompt).first(KvPool::page_tokens);
  for (int gate = 1; gate <= gates; ++gate) {
    stopped_at(gate, [&](const StopToken& stop) { return session->evaluate(prompt, stop, {}); });
    ASSERT_EQ(pool.find(0, first).data, nullptr) << "gate " << gate << " of " << gates;
  }
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  const KvPool::NamedPage page = pool.find(0, first);
  ASSERT_NE(page.data, nullptr) << "now it is";
  pool.release(page.data);
}

TEST_P(Gates, AStopGivesTakenPagesBack) {
  const auto prompt = long_prompt(150);
  const auto session = [&] { return SessionImpl::create(model_, {}).value(); };
  { ASSERT_TRUE(session()->evaluate(prompt, {}, {}).done()); }
  int gates = 0;
  {
    auto first = session();
    gates = count_gates([&] { return first->evaluate(prompt, {}, {}); });
  }
  auto b = session();
  const Snapshot empty(*b);
  for (int gate = 1; gate <= gates; ++gate) {
    stopped_at(gate, [&](const StopToken& stop) { return b->evaluate(prompt, stop, {}); });
    ASSERT_EQ(b->pages().pool()->used(), 0U) << "gate " << gate << " of " << gates;
    ASSERT_TRUE(Snapshot(*b) == empty) << "gate " << gate << " of " << gates;
  }
  EXPECT_EQ(b->evaluate(prompt, {}, {}).reused, 128U);
}

/// A stop that the relay carries over, made to fire at the first gate, is seen before the last.
void Gates::stop_by_relay(const std::function<void()>& fire, const StopToken& stop,
                          StopReason reason) {
  const auto prompt = question(model_);
  auto session = new_session(model_);
  const Snapshot before(*session);
  const int gates = count_gates([&] { return new_session(model_)->evaluate(prompt, {}, {}); });
  const auto look = [&](int) {
    fire();
    std::this_thread::sleep_for(20ms);  // the relay looks meanwhile
  };
  const Outcome outcome = with_gates(look, [&] { return session->evaluate(prompt, stop, {}); });
  EXPECT_EQ(outcome.status, Status::stopped);
  EXPECT_EQ(outcome.reason, reason);
  EXPECT_GE(passed_, 1);
  EXPECT_LT(passed_, gates);
  EXPECT_TRUE(Snapshot(*session) == before);
}

TEST_P(Gates, AByteIsSeenBetweenThem) {
  unsigned char byte = 0;
  stop_by_relay([&] { __atomic_store_n(&byte, 1, __ATOMIC_RELAXED); }, StopToken::byte(&byte),
                StopReason::requested);
}

TEST_P(Gates, ADeadlineIsSeenBetweenThem) {
  const auto deadline = std::chrono::steady_clock::now() + 300ms;
  stop_by_relay([&] { std::this_thread::sleep_until(deadline); }, StopToken::at(deadline),
                StopReason::deadline);
}

TEST_P(Gates, OfAPromptWhoseFirstLayersAreOnTheCpu) {
  ASSERT_NO_FATAL_FAILURE(load(GpuLayers::count(3)));
  const auto prompt = long_prompt(200);
  stop_at_every_gate([&] { return new_session(model_); },
                     [&](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(prompt, stop, {});
                     });
}

INSTANTIATE_TEST_SUITE_P(Drivers, Gates, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Gpu" : "Fake"; });

TEST(LastGate, AStopThatIsSeenBehindItIsAStop) {
  FakeDriver fake;
  const auto model =
      try_load(cuda::open_device(fake.driver(), 0).value(), model_path("tiny-chat-Q8_0.gguf"))
          .value();
  auto session = new_session(model);
  const auto prompt = question(model);
  const Snapshot before(*session);
  StopSource source;
  // All was submitted; the last kernel has not looked yet.
  fake.before_end([&] { source.request_stop(); });
  const Outcome outcome = session->evaluate(prompt, source.token(), {});
  fake.before_end({});
  EXPECT_EQ(outcome.status, Status::stopped);
  EXPECT_EQ(outcome.reason, StopReason::requested);
  EXPECT_TRUE(Snapshot(*session) == before);
  EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
}

}  // namespace
}  // namespace tacet
