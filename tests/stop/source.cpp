#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/stop_slot.hpp"
#include "base/stop_state.hpp"
#include "tacet/stop.hpp"

namespace tacet {
namespace {

using namespace std::chrono_literals;

TEST(StopToken, NeverFiresByDefault) {
  const StopToken token;
  EXPECT_FALSE(token.possible());
  EXPECT_FALSE(token.stop_requested());
  EXPECT_EQ(token.reason(), StopReason::none);
}

TEST(StopSource, OnlyTheFirstRequestCounts) {
  StopSource source;
  const StopToken token = source.token();
  EXPECT_TRUE(token.possible());
  EXPECT_FALSE(token.stop_requested());
  EXPECT_TRUE(source.request_stop(StopReason::shutdown));
  EXPECT_FALSE(source.request_stop());
  EXPECT_EQ(token.reason(), StopReason::shutdown);
}

TEST(StopSource, FollowsItsParentWithTheReasonParent) {
  StopSource parent;
  StopSource child(parent.token());
  StopSource grandchild(child.token());
  parent.request_stop();
  EXPECT_EQ(child.token().reason(), StopReason::parent);
  EXPECT_EQ(grandchild.token().reason(), StopReason::parent);
}

TEST(StopSource, DoesNotStopItsParent) {
  StopSource parent;
  StopSource child(parent.token());
  child.request_stop();
  EXPECT_EQ(child.token().reason(), StopReason::requested);
  EXPECT_FALSE(parent.token().stop_requested());
}

TEST(StopSource, OfAStoppedParentIsStopped) {
  StopSource parent;
  parent.request_stop();
  EXPECT_EQ(StopSource(parent.token()).token().reason(), StopReason::parent);
}

TEST(StopToken, DeadlineFiresInTime) {
  const StopToken past = StopToken::at(Clock::now() - 1ms);
  EXPECT_EQ(past.reason(), StopReason::deadline);
  const StopToken future = StopToken::after(20ms);
  EXPECT_FALSE(future.stop_requested());
  std::this_thread::sleep_for(25ms);
  EXPECT_EQ(future.reason(), StopReason::deadline);
}

TEST(StopToken, DeadlineBeyondTheClockNeverFires) {
  EXPECT_FALSE(StopToken::after(std::chrono::nanoseconds::max()).stop_requested());
}

TEST(StopToken, ByteIsReadEachTime) {
  volatile unsigned char byte = 0;
  const StopToken token = StopToken::byte(&byte);
  EXPECT_FALSE(token.stop_requested());
  byte = 1;
  EXPECT_EQ(token.reason(), StopReason::requested);
  byte = 0;
  EXPECT_FALSE(token.stop_requested());
  EXPECT_FALSE(StopToken::byte(nullptr).possible());
}

TEST(StopToken, FollowsAStandardToken) {
  std::stop_source standard;
  const StopToken token = StopToken::from(standard.get_token());
  EXPECT_FALSE(token.stop_requested());
  standard.request_stop();
  EXPECT_EQ(token.reason(), StopReason::requested);
  EXPECT_EQ(StopToken::from(standard.get_token()).reason(), StopReason::requested);
  EXPECT_FALSE(StopToken::from(std::stop_token()).possible());
}

TEST(StopToken, CallbackIsNeverCalledByLooking) {
  int calls = 0;
  const StopToken token = StopToken::callback([&] { return ++calls > 0; });
  EXPECT_TRUE(token.possible());
  EXPECT_FALSE(token.stop_requested());
  EXPECT_EQ(calls, 0);
}

TEST(StopToken, AnyTakesTheReasonOfTheFirst) {
  StopSource a;
  StopSource b;
  const std::array tokens{a.token(), StopToken(), b.token(), StopToken::after(1h)};
  const StopToken any = StopToken::any(tokens);
  EXPECT_FALSE(any.stop_requested());
  b.request_stop(StopReason::shutdown);
  a.request_stop();
  EXPECT_EQ(any.reason(), StopReason::shutdown);
  EXPECT_FALSE(StopToken::any({}).possible());
}

TEST(StopToken, AnySeesHostSignalsOfItsParts) {
  volatile unsigned char byte = 0;
  StopSource child(StopToken::byte(&byte));
  const std::array tokens{StopToken::after(1h), child.token()};
  const StopToken any = StopToken::any(tokens);
  byte = 1;
  EXPECT_EQ(any.reason(), StopReason::parent);
}

TEST(StopToken, CollectsHostSignalsWithTheirReasons) {
  volatile unsigned char byte = 0;
  const auto soon = Clock::now() + 1h;
  StopSource child(StopToken::at(soon));
  const std::array tokens{StopToken::at(soon + 1h), child.token(), StopToken::byte(&byte),
                          StopToken::callback([] { return true; })};
  detail::HostSignals signals;
  StopToken::any(tokens).state()->collect(signals);
  EXPECT_TRUE(signals.watched());
  EXPECT_EQ(signals.deadline, soon);
  EXPECT_EQ(signals.deadline_reason, StopReason::parent);
  ASSERT_EQ(signals.bytes.size(), 1U);
  EXPECT_EQ(signals.check(), StopReason::none);
  byte = 7;
  EXPECT_EQ(signals.check(), StopReason::requested);
  EXPECT_EQ(signals.call(), StopReason::requested);
}

TEST(StopCallback, RunsOnTheThreadThatAsks) {
  StopSource source;
  std::thread::id ran_on;
  StopReason reason = StopReason::none;
  const StopCallback callback(source.token(), [&](StopReason r) {
    ran_on = std::this_thread::get_id();
    reason = r;
  });
  std::thread asker([&] { source.request_stop(StopReason::shutdown); });
  const auto id = asker.get_id();
  asker.join();
  EXPECT_EQ(ran_on, id);
  EXPECT_EQ(reason, StopReason::shutdown);
}

TEST(StopCallback, RunsAtOnceIfStopped) {
  StopSource source;
  source.request_stop();
  int calls = 0;
  const StopCallback callback(source.token(), [&](StopReason) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(StopCallback, CallsComeInTheOrderOfTheRegistrations) {
  StopSource source;
  std::vector<int> order;
  const StopCallback a(source.token(), [&](StopReason) { order.push_back(1); });
  auto gone =
      std::make_unique<StopCallback>(source.token(), [&](StopReason) { order.push_back(9); });
  const StopCallback b(source.token(), [&](StopReason) { order.push_back(2); });
  const StopCallback empty(source.token(), {});
  gone.reset();
  const StopCallback c(source.token(), [&](StopReason) { order.push_back(3); });
  source.request_stop();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(StopCallback, IsNotCalledOnceRemoved) {
  StopSource source;
  int calls = 0;
  {
    const StopCallback callback(source.token(), [&](StopReason) { ++calls; });
  }
  source.request_stop();
  EXPECT_EQ(calls, 0);
}

TEST(StopCallback, RemovalWaitsForACallThatRuns) {
  StopSource source;
  std::atomic<bool> running = false;
  std::atomic<bool> finished = false;
  auto callback = std::make_unique<StopCallback>(source.token(), [&](StopReason) {
    running = true;
    std::this_thread::sleep_for(30ms);
    finished = true;
  });
  std::thread asker([&] { source.request_stop(); });
  while (!running) std::this_thread::yield();
  callback.reset();
  EXPECT_TRUE(finished);
  asker.join();
}

TEST(StopCallback, MayRemoveItself) {
  StopSource source;
  std::unique_ptr<StopCallback> callback;
  int after = 0;
  callback = std::make_unique<StopCallback>(source.token(), [&](StopReason) { callback.reset(); });
  const StopCallback other(source.token(), [&](StopReason) { ++after; });
  source.request_stop();
  EXPECT_EQ(callback, nullptr);
  EXPECT_EQ(after, 1);
}

TEST(StopCallback, MayDropTheSourceThatFires) {
  auto parent = std::make_unique<StopSource>();
  auto child = std::make_unique<StopSource>(parent->token());
  std::unique_ptr<StopCallback> callback;
  callback = std::make_unique<StopCallback>(child->token(), [&](StopReason) {
    child.reset();
    callback.reset();
  });
  parent->request_stop();
  EXPECT_EQ(child, nullptr);
}

TEST(StopCallback, RegistrationRacesWithTheRequest) {
  // Whichever comes first, the callback runs exactly once if it is there when the request returns.
  for (int round = 0; round < 500; ++round) {
    StopSource source;
    std::atomic<int> calls = 0;
    std::atomic<int> ready = 0;
    std::thread asker([&] {
      ++ready;
      while (ready < 2) {
      }
      source.request_stop();
    });
    ++ready;
    while (ready < 2) {
    }
    std::vector<std::unique_ptr<StopCallback>> callbacks;
    for (int i = 0; i < 3; ++i)
      callbacks.push_back(
          std::make_unique<StopCallback>(source.token(), [&](StopReason) { ++calls; }));
    callbacks[1].reset();
    const int after_removal = calls;
    asker.join();
    EXPECT_GE(calls, 2);
    EXPECT_LE(calls, 3);
    EXPECT_LE(calls - after_removal, 2);
  }
}

TEST(StopSlot, AWordIsSetOnceAndOnlyInItsEpoch) {
  StopSlot slot;
  const auto first = slot.begin();
  EXPECT_EQ(slot.word(), 0U);
  EXPECT_TRUE(slot.raise(first, StopReason::deadline, Clock::now()));
  EXPECT_FALSE(slot.raise(first, StopReason::requested, Clock::now()));
  EXPECT_EQ(slot.reason(), StopReason::deadline);
  slot.end();
  const auto second = slot.begin();
  EXPECT_EQ(slot.word(), 0U) << "the word is clear before the slot is used again";
  EXPECT_FALSE(slot.raise(first, StopReason::requested, Clock::now()))
      << "a late request of another epoch";
  EXPECT_EQ(slot.word(), 0U);
  EXPECT_TRUE(slot.raise(second, StopReason::requested, Clock::now()));
}

TEST(StopSlot, NothingIsStoredAfterTheEnd) {
  StopSlot slot;
  const auto epoch = slot.begin();
  slot.end();
  EXPECT_FALSE(slot.raise(epoch, StopReason::requested, Clock::now()));
  EXPECT_EQ(slot.word(), 0U);
}

TEST(StopSlot, LateRequestsNeverReachTheNextRun) {
  StopSlot slot;
  std::atomic<std::uint64_t> current = slot.begin();
  std::atomic<bool> quit = false;
  std::thread raiser([&] {
    while (!quit) slot.raise(current - 1, StopReason::requested, Clock::now());
  });
  for (int i = 0; i < 20000; ++i) {
    EXPECT_EQ(slot.word(), 0U);
    slot.end();
    current = slot.begin();
  }
  quit = true;
  raiser.join();
}

TEST(Countdown, FiresAtTheNthLook) {
  auto polls = std::make_shared<detail::PollCountdown>(4);
  const StopToken token = detail::countdown_token(polls);
  detail::HostSignals signals;
  token.state()->collect(signals);
  EXPECT_EQ(signals.check(), StopReason::none);
  EXPECT_FALSE(token.stop_requested());
  EXPECT_EQ(signals.check(), StopReason::none);
  EXPECT_EQ(signals.check(), StopReason::requested);
  EXPECT_TRUE(token.stop_requested()) << "and stays so";
}

}  // namespace
}  // namespace tacet
