#include <limits>

#include "base/stop_state.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

constexpr std::int64_t far_away = std::numeric_limits<std::int64_t>::max() / 2;

/// Counts the polls of `call`, then lets each of them fire in a session that `make` makes: the call
/// is stopped, the session is what it was, and the same call again gives the bits of an undisturbed
/// one.
void stop_at_every_poll(const std::function<std::unique_ptr<SessionImpl>()>& make,
                        const std::function<Outcome(SessionImpl&, const StopToken&)>& call) {
  // A waiter may look once more while its run is queued for a moment: what counts is what every run
  // has.
  std::int64_t polls = far_away;
  std::optional<Snapshot> undisturbed;
  for (int i = 0; i < 5; ++i) {
    auto session = make();
    auto count = std::make_shared<detail::PollCountdown>(far_away);
    ASSERT_TRUE(call(*session, detail::countdown_token(count)).done());
    polls = std::min(polls, far_away - count->load());
    undisturbed.emplace(*session);
  }
  const Snapshot& expected = *undisturbed;
  ASSERT_GT(polls, 10);

  auto session = make();
  const Snapshot before(*session);
  for (std::int64_t n = 1; n <= polls; ++n) {
    const Outcome outcome =
        call(*session, detail::countdown_token(std::make_shared<detail::PollCountdown>(n)));
    ASSERT_EQ(outcome.status, Status::stopped) << "poll " << n << " of " << polls;
    ASSERT_EQ(outcome.reason, StopReason::requested);
    ASSERT_TRUE(Snapshot(*session) == before) << "poll " << n << " of " << polls;
    if (n % 16 == 1 || n + 8 > polls) {
      auto again = session->fork().value();
      ASSERT_TRUE(call(*again, {}).done());
      ASSERT_TRUE(Snapshot(*again) == expected) << "poll " << n << " of " << polls;
    }
  }
  ASSERT_TRUE(call(*session, {}).done());
  EXPECT_TRUE(Snapshot(*session) == expected);
  std::printf("%lld polls\n", static_cast<long long>(polls));
}

class EveryPoll : public testing::TestWithParam<unsigned> {};

TEST_P(EveryPoll, OfAPrompt) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  const auto prompt = question(model);
  stop_at_every_poll([&] { return new_session(model); },
                     [&](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(prompt, stop, {});
                     });
}

TEST_P(EveryPoll, OfAPromptBehindAnAnswer) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  const auto prompt = question(model);
  const auto more = question(model, "What is the opposite of hot?");
  stop_at_every_poll(
      [&] {
        auto session = new_session(model);
        EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
        EXPECT_TRUE(
            session->generate({.max_tokens = 5, .sampler = {.temperature = 1}}, {}, {}).done());
        return session;
      },
      [&](SessionImpl& session, const StopToken& stop) {
        return session.evaluate(more, stop, {});
      });
}

TEST_P(EveryPoll, OfAPromptInTwoChunks) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  // Starts 20 cells before a cut.
  std::vector<Token> start(detail::chunk_rows - 20);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<Token>(i * 7 % 900);
  const std::vector<Token> more(40, 320);
  stop_at_every_poll(
      [&] {
        auto session = new_session(model, {.context = 600});
        EXPECT_TRUE(session->evaluate(start, {}, {}).done());
        return session;
      },
      [&](SessionImpl& session, const StopToken& stop) {
        return session.evaluate(more, stop, {});
      });
}

TEST_P(EveryPoll, OfAScoreInTwoSlices) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  // The first slice ends at 128 cells.
  std::vector<Token> start(124);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<Token>(i * 7 % 900);
  const std::vector<Token> more(8, 320);
  stop_at_every_poll(
      [&] {
        auto session = new_session(model);
        EXPECT_TRUE(session->evaluate(start, {}, {}).done());
        return session;
      },
      [&](SessionImpl& session, const StopToken& stop) {
        std::vector<float> scores(more.size());
        return session.score(more, scores, stop);
      });
}

TEST_P(EveryPoll, OfADecode) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  const auto prompt = question(model, "Tell me a story about a fox.");
  // From all logits, and from the most likely tokens.
  for (const std::uint32_t top_k : {0U, 40U})
    stop_at_every_poll(
        [&] {
          auto session = new_session(model);
          EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
          // One token is delivered and waits to be computed.
          EXPECT_TRUE(
              session->generate({.max_tokens = 1, .sampler = {.temperature = 1, .seed = 5}}, {}, {})
                  .done());
          return session;
        },
        [&](SessionImpl& session, const StopToken& stop) {
          return session.generate({.max_tokens = 1, .sampler = {.temperature = 1, .top_k = top_k}},
                                  {}, stop);
        });
}

/// The last token is computed again.
TEST_P(EveryPoll, OfADecodeBehindATruncationAndARemoval) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  for (const bool removed : {false, true})
    stop_at_every_poll(
        [&] {
          auto session = new_session(model);
          EXPECT_TRUE(session->evaluate(long_prompt(64), {}, {}).done());
          EXPECT_TRUE(session->truncate(60));
          if (removed) {
            EXPECT_TRUE(session->remove(5, 9, false, {}).done());
          }
          return session;
        },
        [&](SessionImpl& session, const StopToken& stop) {
          return session.generate({.max_tokens = 1}, {}, stop);
        });
}

TEST_P(EveryPoll, OfARemovalThatClosesTheGap) {
  const ModelPointer model = cpu_model("tiny-chat-Q8_0.gguf", cpu::available().back(), GetParam());
  stop_at_every_poll(
      [&] {
        auto session = new_session(model);
        EXPECT_TRUE(session->evaluate(long_prompt(70), {}, {}).done());
        return session;
      },
      [&](SessionImpl& session, const StopToken& stop) {
        return session.remove(20, 33, true, stop);
      });
}

INSTANTIATE_TEST_SUITE_P(Threads, EveryPoll, testing::Values(1U, 2U, 3U));

TEST(EveryStep, OfAFakeDevice) {
  const FakeModel fake;
  const std::vector<Token> prompt = {1022, 291, 198};
  auto undisturbed = new_session(fake.model);
  ASSERT_TRUE(undisturbed->evaluate(prompt, {}, {}).done());
  const Snapshot expected(*undisturbed);
  const auto steps = static_cast<std::uint32_t>(fake.device->steps_executed());

  auto session = new_session(fake.model);
  const Snapshot before(*session);
  for (std::uint32_t step = 0; step < steps; ++step) {
    fake.device->hold_at(step);
    StopSource source;
    detail::CallImpl call;
    ASSERT_TRUE(session->submit(call, prompt, source.token(), {}));
    fake.device->wait_until_held();
    source.request_stop();
    const Outcome& outcome = session->settle(call);
    ASSERT_EQ(outcome.status, Status::stopped);
    EXPECT_EQ(outcome.steps_done, step);
    ASSERT_TRUE(Snapshot(*session) == before) << "step " << step;
  }
  for (std::uint32_t step = 0; step < steps; step += 5) {
    fake.device->hold_at(FakeDevice::never);
    fake.device->fail_at(step);
    const Outcome outcome = session->evaluate(prompt, {}, {});
    ASSERT_EQ(outcome.status, Status::failed);
    ASSERT_TRUE(Snapshot(*session) == before) << "step " << step;
  }
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  EXPECT_TRUE(Snapshot(*session) == expected);
}

}  // namespace
}  // namespace tacet
