// Runs of models whose lower layers are on one device and whose upper layers are on another.

#include <thread>

#include "runtime/split_model.hpp"

namespace tacet {
namespace {

using namespace test;
using namespace std::chrono_literals;

/// What comes of a call that was asked to stop, while `device` holds its run; lets the device go if
/// the stop does not reach it.
Outcome settle_stopped(SessionImpl& session, detail::CallImpl& call, FakeDevice& device) {
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  const auto& run = call.chunks.back()->run;
  while (!run.finished() && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(20us);
  EXPECT_TRUE(run.finished()) << "the stop did not reach " << device.info().name;
  device.hold_at(FakeDevice::never);
  device.let_go();
  return session.settle(call);
}

/// Calls `interfere(device, step)` for each step of each part of a run.
template <typename Interfere>
void at_every_step(const SplitModel& split, const Interfere& interfere) {
  std::vector<std::uint32_t> steps;
  for (FakeDevice* device : split.devices()) {
    const std::uint64_t before = device->steps_executed();
    EXPECT_TRUE(new_session(split.model)->evaluate(prompt, {}, {}).done());
    steps.push_back(static_cast<std::uint32_t>(device->steps_executed() - before));
  }
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::uint32_t step = 0; step < steps[i]; ++step)
      ASSERT_NO_FATAL_FAILURE(interfere(*split.devices()[i], step, before + step));
    before += steps[i];
  }
}

TEST(Split, AStopAtEachStepOfEitherPartLeavesTheSessionAsItWas) {
  const SplitModel split;
  auto done = new_session(split.model);
  ASSERT_TRUE(done->evaluate(long_prompt(40), {}, {}).done());
  auto session = done->fork().value();
  const Snapshot before(*session);
  ASSERT_TRUE(done->evaluate(prompt, {}, {}).done());
  const Snapshot expected(*done);
  at_every_step(split, [&](FakeDevice& device, std::uint32_t step, std::uint32_t of_run) {
    device.hold_at(step);
    const std::uint64_t above = split.upper->steps_executed();
    StopSource source;
    detail::CallImpl call;
    ASSERT_TRUE(session->submit(call, prompt, source.token(), {}));
    device.wait_until_held();
    source.request_stop();
    const Outcome outcome = settle_stopped(*session, call, device);
    ASSERT_EQ(outcome.status, Status::stopped) << of_run;
    ASSERT_EQ(outcome.reason, StopReason::requested);
    ASSERT_EQ(outcome.steps_done, of_run);
    ASSERT_GT(outcome.steps, of_run);
    if (&device == split.lower) {
      ASSERT_EQ(split.upper->steps_executed(), above) << "the upper part began";
    }
    ASSERT_TRUE(Snapshot(*session) == before) << of_run;
    if (of_run % 8 != 0) return;
    auto again = session->fork().value();
    ASSERT_TRUE(again->evaluate(prompt, {}, {}).done());
    ASSERT_TRUE(Snapshot(*again) == expected) << of_run;
  });
}

TEST(Split, AStopAtAnyMomentOnProcessorsLeavesTheSessionAsItWas) {
  const ModelPointer split = try_split(cpu_device(1), cpu_device(2), GpuLayers::count(2)).value();
  const auto tokens = long_prompt(120);
  auto done = new_session(split);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(done->evaluate(tokens, {}, {}).done());
  const auto whole = std::chrono::steady_clock::now() - begin;
  const Snapshot expected(*done);
  auto session = new_session(split);
  const Snapshot before(*session);
  int stopped = 0;
  for (int i = 1; i <= 60; ++i) {
    StopSource source;
    detail::CallImpl call;
    ASSERT_TRUE(session->submit(call, tokens, source.token(), {}));
    std::this_thread::sleep_for(whole * i / 60);
    source.request_stop();
    if (session->settle(call).stopped()) {
      ++stopped;
      ASSERT_TRUE(Snapshot(*session) == before) << i;
    } else {
      ASSERT_TRUE(Snapshot(*session) == expected) << i;
      ASSERT_TRUE(session->truncate(0));
    }
  }
  EXPECT_GT(stopped, 5);
  ASSERT_TRUE(session->evaluate(tokens, {}, {}).done());
  EXPECT_TRUE(Snapshot(*session) == expected);
}

TEST(Split, AStopAtTheCrossingBeginsNoUpperPart) {
  const SplitModel split;
  auto session = new_session(split.model);
  const Snapshot before(*session);
  split.lower->complete_late(true);
  StopSource source;
  detail::CallImpl call;
  ASSERT_TRUE(session->submit(call, prompt, source.token(), {}));
  split.lower->wait_until_held();
  source.request_stop();  // too late for the lower part
  split.lower->let_go();
  const Outcome& outcome = session->settle(call);
  ASSERT_TRUE(outcome.stopped());
  EXPECT_EQ(outcome.steps_done, split.lower->steps_executed());
  EXPECT_EQ(split.upper->steps_executed(), 0U);
  EXPECT_TRUE(Snapshot(*session) == before);
}

TEST(Split, AStopBehindTheLastStepComesTooLate) {
  const SplitModel split;
  auto session = new_session(split.model);
  split.upper->complete_late(true);
  StopSource source;
  detail::CallImpl call;
  ASSERT_TRUE(session->submit(call, prompt, source.token(), {}));
  split.upper->wait_until_held();
  source.request_stop();
  split.upper->let_go();
  EXPECT_TRUE(session->settle(call).done());
}

TEST(Split, EachKindOfTokenStopsEitherPart) {
  const SplitModel split;
  for (FakeDevice* device : split.devices()) {
    device->hold_at(3);
    unsigned char byte = 0;
    const auto stopped_by = [&](const StopToken& token, const auto& ask) {
      auto session = new_session(split.model);
      detail::CallImpl call;
      EXPECT_TRUE(session->submit(call, prompt, token, {}));
      ask();
      return session->settle(call).reason;
    };
    const auto set = [&] {
      device->wait_until_held();
      __atomic_store_n(&byte, 1, __ATOMIC_RELAXED);
    };
    EXPECT_EQ(stopped_by(StopToken::byte(&byte), set), StopReason::requested);
    EXPECT_EQ(stopped_by(StopToken::after(20ms), [] {}), StopReason::deadline);
    const auto held = device->steps_executed() + 3;
    const auto fires = [&, caller = std::this_thread::get_id()] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return device->steps_executed() == held;
    };
    EXPECT_EQ(stopped_by(StopToken::callback(fires), [] {}), StopReason::requested);
    device->hold_at(FakeDevice::never);
  }
}

TEST(Split, AFailureOfEitherPartNamesItselfAndChangesNothing) {
  const SplitModel split;
  auto session = new_session(split.model);
  const Snapshot before(*session);
  at_every_step(split, [&](FakeDevice& device, std::uint32_t step, std::uint32_t) {
    device.fail_at(step);
    const Outcome outcome = session->evaluate(prompt, {}, {});
    ASSERT_EQ(outcome.status, Status::failed);
    ASSERT_EQ(outcome.error->message(),
              fmt::format("{} failed at step {}.", device.info().name, step));
    ASSERT_TRUE(Snapshot(*session) == before);
  });
  EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
}

TEST(Split, ADeviceThatIsLostFailsAllThatFollows) {
  for (const bool is_upper : {false, true}) {
    const SplitModel split;
    FakeDevice& device = is_upper ? *split.upper : *split.lower;
    auto session = new_session(split.model);
    ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
    device.lose_at(4);
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome = session->evaluate(prompt, {}, {});
      ASSERT_EQ(outcome.status, Status::failed);
      EXPECT_EQ(outcome.error->code(), Code::device_lost);
    }
    EXPECT_EQ(session->tokens().size(), prompt.size());
  }
}

TEST(Split, QueuedCallsOfAChainStopTogetherAndOthersGoOn) {
  const SplitModel split;
  auto session = new_session(split.model);
  auto other = new_session(split.model);
  split.upper->hold_at(2);
  StopSource source;
  detail::CallImpl a, b, c;
  ASSERT_TRUE(session->submit(a, prompt, source.token(), {}));
  split.upper->wait_until_held();
  ASSERT_TRUE(session->submit(b, prompt, {}, {}));
  ASSERT_TRUE(other->submit(c, prompt, {}, {}));
  split.upper->hold_at(FakeDevice::never);
  source.request_stop();
  EXPECT_EQ(session->settle(b).reason, StopReason::parent);
  EXPECT_EQ(a.outcome.reason, StopReason::requested);
  EXPECT_TRUE(other->settle(c).done());
  EXPECT_TRUE(session->tokens().empty());
}

TEST(Split, KeepProgressKeepsWholeChunks) {
  const SplitModel split;
  auto session = new_session(split.model, {.context = 600});
  const auto tokens = long_prompt(detail::chunk_rows + 3);
  ASSERT_TRUE(session->evaluate(std::span(tokens).first(detail::chunk_rows - 2), {}, {}).done());
  StopSource source;
  detail::CallImpl call;
  split.lower->hold_at(2);
  ASSERT_TRUE(session->submit(call, std::span(tokens).subspan(detail::chunk_rows - 2),
                              source.token(), {.keep_progress = true}));
  split.lower->wait_until_held();
  split.upper->complete_late(true);  // of the first chunk
  split.lower->hold_at(FakeDevice::never);
  split.lower->let_go();
  split.upper->wait_until_held();
  split.lower->hold_at(1);  // of the second
  split.upper->complete_late(false);
  split.upper->let_go();
  split.lower->wait_until_held();
  source.request_stop();
  const Outcome& outcome = session->settle(call);
  ASSERT_TRUE(outcome.stopped());
  EXPECT_EQ(outcome.tokens, 2U);
  EXPECT_EQ(session->computed(), detail::chunk_rows);
}

TEST(Split, SessionsShareARunAndStopApart) {
  const SplitModel split;
  const auto alone = [&](std::span<const Token> tokens) {
    auto session = new_session(split.model);
    EXPECT_TRUE(session->evaluate(tokens, {}, {}).done());
    return Snapshot(*session);
  };
  const auto first = long_prompt(40, 1), second = long_prompt(9, 2);
  const Snapshot expected_first = alone(first), expected_second = alone(second);
  for (FakeDevice* device : split.devices()) {
    auto a = new_session(split.model), b = new_session(split.model);
    StopSource source;
    detail::RunImpl run_a(*a, {}), run_b(*b, source.token());
    detail::RunImpl* const runs[] = {&run_a, &run_b};
    const SessionCall calls[] = {{nullptr, first, {}, {}}, {nullptr, second, {}, {}}};
    device->hold_at(2);
    ASSERT_TRUE(SessionImpl::submit_together(runs, calls));
    device->wait_until_held();
    source.request_stop();
    EXPECT_TRUE(b->settle(run_b.call).stopped());
    EXPECT_TRUE(b->tokens().empty());
    device->hold_at(FakeDevice::never);
    device->let_go();
    ASSERT_TRUE(a->settle(run_a.call).done());
    EXPECT_TRUE(Snapshot(*a) == expected_first);
    ASSERT_TRUE(b->evaluate(second, {}, {}).done());
    EXPECT_TRUE(Snapshot(*b) == expected_second);
  }
}

TEST(Split, TheLastSessionToLeaveARunStopsEitherPart) {
  const SplitModel split;
  for (FakeDevice* device : split.devices()) {
    auto a = new_session(split.model), b = new_session(split.model);
    StopSource source;
    detail::RunImpl run_a(*a, source.token()), run_b(*b, source.token());
    detail::RunImpl* const runs[] = {&run_a, &run_b};
    const SessionCall calls[] = {{nullptr, prompt, {}, {}}, {nullptr, prompt, {}, {}}};
    device->hold_at(2);
    ASSERT_TRUE(SessionImpl::submit_together(runs, calls));
    device->wait_until_held();
    source.request_stop();
    EXPECT_TRUE(a->settle(run_a.call).stopped());
    EXPECT_TRUE(b->settle(run_b.call).stopped());
    device->hold_at(FakeDevice::never);
  }
}

}  // namespace
}  // namespace tacet
