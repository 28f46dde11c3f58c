#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "stop/fake_tape.hpp"

namespace tacet {
namespace {

using namespace std::chrono_literals;
using test::FakeTape;

TEST(RunQueue, ARunIsDoneByItself) {
  FakeTape fake(5);
  RunHandle run = fake.submit();
  while (!run.finished()) std::this_thread::yield();  // nobody waits for it
  EXPECT_EQ(run.wait().status, RunStatus::done);
  EXPECT_EQ(run.wait().steps_done, 5U);
  EXPECT_NE(fake.output[0], 0);
}

TEST(RunQueue, AStoppedTokenBeginsNoWork) {
  FakeTape fake(5);
  StopSource source;
  source.request_stop(StopReason::shutdown);
  RunHandle run = fake.submit(source.token());
  EXPECT_TRUE(run.finished());
  EXPECT_EQ(run.wait().status, RunStatus::stopped);
  EXPECT_EQ(run.wait().reason, StopReason::shutdown);
  EXPECT_EQ(fake.device().steps_executed(), 0U);
  EXPECT_EQ(fake.output[0], 0);
}

TEST(RunQueue, AStopInMidWorkSaysHowFarTheRunGot) {
  FakeTape fake(5);
  StopSource source;
  fake.device().hold_at(3);
  RunHandle run = fake.submit(source.token());
  fake.device().wait_until_held();
  source.request_stop();
  const RunResult& result = run.wait();
  EXPECT_EQ(result.status, RunStatus::stopped);
  EXPECT_EQ(result.reason, StopReason::requested);
  EXPECT_EQ(result.steps_done, 3U);
  EXPECT_EQ(result.steps, 5U);
  EXPECT_GE(result.idle_at, result.requested_at);
}

TEST(RunQueue, AStopAfterTheEndChangesNothing) {
  FakeTape fake(3);
  StopSource source;
  RunHandle run = fake.submit(source.token());
  EXPECT_EQ(run.wait().status, RunStatus::done);
  source.request_stop();
  EXPECT_EQ(run.wait().status, RunStatus::done);
  EXPECT_EQ(fake.submit().wait().status, RunStatus::done) << "the next run is not touched";
}

TEST(RunQueue, AStopThatComesTooLateLeavesTheRunDone) {
  FakeTape fake(3);
  StopSource source;
  fake.device().complete_late(true);
  RunHandle run = fake.submit(source.token());
  fake.device().wait_until_held();
  source.request_stop();
  EXPECT_FALSE(run.finished());
  fake.device().let_go();
  EXPECT_EQ(run.wait().status, RunStatus::done);
  fake.device().complete_late(false);
  EXPECT_EQ(fake.submit().wait().status, RunStatus::done);
}

TEST(RunQueue, ADeviceWithoutABoundRefusesATokenAndNamesItself) {
  FakeTape fake(3, {.name = "boundless", .stop_bound = 0ns});
  StopSource source;
  const auto run = fake.queue().submit(fake.request(source.token()));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), Code::unsupported);
  EXPECT_EQ(run.error().message().substr(0, 9), "boundless");
  EXPECT_EQ(fake.submit().wait().status, RunStatus::done);
}

TEST(RunQueue, AQueuedRunStopsWithoutWaitingForTheOneThatRuns) {
  FakeTape fake(3);
  fake.device().hold_at(1);
  RunHandle first = fake.submit();
  fake.device().wait_until_held();
  StopSource source;
  RunHandle second = fake.submit(source.token());
  source.request_stop();
  EXPECT_TRUE(second.finished());
  EXPECT_EQ(second.wait().status, RunStatus::stopped);
  EXPECT_EQ(second.wait().steps_done, 0U);
  EXPECT_FALSE(first.finished());
  fake.device().let_go();
  EXPECT_EQ(first.wait().status, RunStatus::done);
  EXPECT_EQ(fake.device().steps_executed(), 3U);
}

TEST(RunQueue, RunsBehindAStoppedOneOfTheirChainStopWithIt) {
  FakeTape fake(3);
  fake.device().hold_at(1);
  StopSource source;
  int a = 0;
  int b = 0;
  RunHandle first = fake.submit(source.token(), &a);
  fake.device().wait_until_held();
  RunHandle follower = fake.submit({}, &a);
  RunHandle other = fake.submit({}, &b);
  RunHandle last = fake.submit({}, &a);
  fake.device().hold_at(FakeDevice::never);
  source.request_stop();
  EXPECT_EQ(first.wait().reason, StopReason::requested);
  EXPECT_EQ(follower.wait().status, RunStatus::stopped);
  EXPECT_EQ(follower.wait().reason, StopReason::parent);
  EXPECT_EQ(last.wait().reason, StopReason::parent);
  EXPECT_EQ(other.wait().status, RunStatus::done) << "other sessions' runs go on";
}

TEST(RunQueue, RunsAheadOfAStoppedOneOfTheirChainGoOn) {
  FakeTape fake(3);
  fake.device().hold_at(1);
  int chain = 0;
  StopSource source;
  RunHandle busy = fake.submit();
  fake.device().wait_until_held();
  RunHandle first = fake.submit({}, &chain);
  RunHandle second = fake.submit(source.token(), &chain);
  RunHandle third = fake.submit({}, &chain);
  source.request_stop();
  EXPECT_EQ(second.wait().status, RunStatus::stopped);
  EXPECT_EQ(third.wait().reason, StopReason::parent);
  EXPECT_FALSE(first.finished());
  fake.device().hold_at(FakeDevice::never);
  fake.device().let_go();
  EXPECT_EQ(first.wait().status, RunStatus::done);
}

TEST(RunQueue, WhatIsSubmittedAfterTheEndIsANewBeginning) {
  FakeTape fake(3);
  int chain = 0;
  StopSource source;
  source.request_stop();
  EXPECT_EQ(fake.submit(source.token(), &chain).wait().status, RunStatus::stopped);
  EXPECT_EQ(fake.submit({}, &chain).wait().status, RunStatus::done);
}

TEST(RunQueue, AFailureNamesItselfAndStopsItsChain) {
  FakeTape fake(4);
  int chain = 0;
  fake.device().hold_at(1);
  fake.device().fail_at(2);
  RunHandle run = fake.submit({}, &chain);
  fake.device().wait_until_held();
  RunHandle follower = fake.submit({}, &chain);
  fake.device().hold_at(FakeDevice::never);
  fake.device().let_go();
  EXPECT_EQ(run.wait().status, RunStatus::failed);
  ASSERT_TRUE(run.wait().error);
  EXPECT_EQ(run.wait().error->message(), "fake failed at step 2.");
  EXPECT_EQ(follower.wait().reason, StopReason::parent);
  EXPECT_EQ(fake.submit({}, &chain).wait().status, RunStatus::done);
}

TEST(RunQueue, ALostDeviceFailsAllThatFollows) {
  FakeTape fake(4);
  fake.device().lose_at(2);
  RunHandle run = fake.submit();
  EXPECT_EQ(run.wait().status, RunStatus::failed);
  EXPECT_EQ(run.wait().error->code(), Code::device_lost);
  EXPECT_EQ(fake.submit().wait().error->code(), Code::device_lost);
}

TEST(RunQueue, DestroyingAHandleStopsTheRunAndWaits) {
  FakeTape fake(4);
  fake.device().hold_at(2);
  {
    RunHandle run = fake.submit();
    fake.device().wait_until_held();
  }
  EXPECT_EQ(fake.device().steps_executed(), 2U);
  fake.device().hold_at(FakeDevice::never);
  EXPECT_EQ(fake.submit().wait().status, RunStatus::done);
}

TEST(RunQueue, TheRelayCarriesABytesAndADeadline) {
  FakeTape fake(4);
  fake.device().hold_at(2);
  volatile unsigned char byte = 0;
  RunHandle run = fake.submit(StopToken::byte(&byte));
  fake.device().wait_until_held();
  __atomic_store_n(&byte, 1, __ATOMIC_RELAXED);
  while (!run.finished()) std::this_thread::yield();  // without a waiter
  EXPECT_EQ(run.wait().reason, StopReason::requested);
  const auto deadline = Clock::now() + 5ms;
  RunHandle late = fake.submit(StopToken::at(deadline));
  EXPECT_EQ(late.wait().reason, StopReason::deadline);
  EXPECT_GE(Clock::now(), deadline);
}

TEST(RunQueue, TheRelayStopsAQueuedRunAndGoesOn) {
  FakeTape fake(4);
  fake.device().hold_at(2);
  volatile unsigned char byte = 0;
  volatile unsigned char other = 0;
  RunHandle first = fake.submit();
  fake.device().wait_until_held();
  RunHandle queued = fake.submit(StopToken::byte(&byte));
  RunHandle behind = fake.submit(StopToken::byte(&other));
  __atomic_store_n(&byte, 1, __ATOMIC_RELAXED);
  EXPECT_EQ(queued.wait().status, RunStatus::stopped);
  __atomic_store_n(&other, 1, __ATOMIC_RELAXED);
  EXPECT_EQ(behind.wait().status, RunStatus::stopped);
  EXPECT_FALSE(first.finished());
}

TEST(RunQueue, ACallbackRunsOnlyOnTheThreadThatWaits) {
  FakeTape fake(4);
  fake.device().hold_at(2);
  std::atomic<int> calls = 0;
  std::thread::id caller;
  const auto token = StopToken::callback([&] {
    caller = std::this_thread::get_id();
    return ++calls > 3;
  });
  RunHandle run = fake.submit(token);
  fake.device().wait_until_held();
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls, 0) << "nobody waits yet";
  EXPECT_EQ(run.wait().status, RunStatus::stopped);
  EXPECT_GT(calls, 3);
  EXPECT_EQ(caller, std::this_thread::get_id());
}

TEST(RunQueue, ACallbackIsCalledForAQueuedRunToo) {
  FakeTape fake(4);
  fake.device().hold_at(2);
  RunHandle first = fake.submit();
  fake.device().wait_until_held();
  RunHandle second = fake.submit(StopToken::callback([] { return true; }));
  EXPECT_EQ(second.wait().status, RunStatus::stopped);
  EXPECT_FALSE(first.finished());
}

TEST(RunQueue, OneRequestStopsManyRuns) {
  FakeTape fake(3);
  fake.device().hold_at(1);
  StopSource source;
  std::vector<RunHandle> runs;
  for (int i = 0; i < 40; ++i) runs.push_back(fake.submit(source.token()));
  source.request_stop();
  for (RunHandle& run : runs) EXPECT_EQ(run.wait().status, RunStatus::stopped);
}

TEST(RunQueue, StopsFromManyThreadsLoseNothing) {
  FakeTape fake(6);
  constexpr int rounds = 300;
  std::atomic<int> done = 0;
  std::atomic<int> stopped = 0;
  const std::array<int, 4> chains{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        StopSource source;
        RunHandle run = fake.submit(source.token(), &chains[static_cast<std::size_t>(t)]);
        std::thread asker([&] { source.request_stop(); });
        const RunStatus status = run.wait().status;
        (status == RunStatus::done ? done : stopped) += 1;
        EXPECT_NE(status, RunStatus::failed);
        asker.join();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done + stopped, 4 * rounds);
}

}  // namespace
}  // namespace tacet
