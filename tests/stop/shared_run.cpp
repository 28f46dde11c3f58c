// Runs that carry several sessions: a carrier and its riders.

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "stop/fake_tape.hpp"

namespace tacet {
namespace {

using namespace std::chrono_literals;
using test::FakeTape;

struct SharedHandles {
  RunHandle carrier;
  std::vector<RunHandle> riders;  // go first
};

SharedHandles submit(FakeTape& fake, std::span<const RiderRequest> requests) {
  SharedHandles shared;
  std::vector<RunState*> riders(requests.size());
  RunState* carrier = fake.queue().submit_shared(fake.request(), requests, riders).value();
  shared.carrier = RunHandle(fake.queue(), *carrier);
  for (RunState* rider : riders) shared.riders.emplace_back(fake.queue(), *rider);
  return shared;
}

TEST(SharedRun, IsDoneForEverybody) {
  FakeTape fake(5);
  auto shared = submit(fake, std::array<RiderRequest, 3>{});
  for (RunHandle& rider : shared.riders) {
    EXPECT_EQ(rider.wait().status, RunStatus::done);
    EXPECT_EQ(rider.wait().steps_done, 5U);
  }
  EXPECT_EQ(shared.carrier.wait().status, RunStatus::done);
}

TEST(SharedRun, ARiderStopsAtOnceAndTheOthersGoOn) {
  FakeTape fake(5);
  std::array<StopSource, 3> sources;
  fake.device().hold_at(3);
  auto shared =
      submit(fake, std::array<RiderRequest, 3>{
                       {{sources[0].token()}, {sources[1].token()}, {sources[2].token()}}});
  fake.device().wait_until_held();
  sources[1].request_stop(StopReason::deadline);
  EXPECT_TRUE(shared.riders[1].finished()) << "though the device is still at it";
  EXPECT_EQ(shared.riders[1].wait().status, RunStatus::stopped);
  EXPECT_EQ(shared.riders[1].wait().reason, StopReason::deadline);
  EXPECT_FALSE(shared.riders[0].finished());
  // Its place in memory may serve another run meanwhile.
  shared.riders[1].reset();
  RunHandle next = fake.submit();
  fake.device().hold_at(FakeDevice::never);
  fake.device().let_go();
  EXPECT_EQ(shared.riders[0].wait().status, RunStatus::done);
  EXPECT_EQ(shared.riders[2].wait().status, RunStatus::done);
  EXPECT_EQ(shared.carrier.wait().status, RunStatus::done);
  EXPECT_EQ(next.wait().status, RunStatus::done);
}

TEST(SharedRun, StopsWithTheLastOfItsRiders) {
  FakeTape fake(5);
  std::array<StopSource, 2> sources;
  fake.device().hold_at(3);
  auto shared =
      submit(fake, std::array<RiderRequest, 2>{{{sources[0].token()}, {sources[1].token()}}});
  fake.device().wait_until_held();
  sources[0].request_stop();
  EXPECT_FALSE(shared.carrier.finished());
  sources[1].request_stop(StopReason::shutdown);
  EXPECT_EQ(shared.riders[1].wait().status, RunStatus::stopped);
  EXPECT_EQ(shared.riders[1].wait().reason, StopReason::shutdown);
  EXPECT_EQ(shared.riders[1].wait().steps_done, 3U);
  EXPECT_EQ(shared.carrier.wait().status, RunStatus::stopped);
  EXPECT_EQ(fake.device().steps_executed(), 3U);
  fake.device().hold_at(FakeDevice::never);
  EXPECT_EQ(fake.submit().wait().status, RunStatus::done) << "the next run is not touched";
}

TEST(SharedRun, OneTokenStopsAllOfIt) {
  FakeTape fake(5);
  StopSource source;
  fake.device().hold_at(2);
  const RiderRequest request{source.token()};
  auto first = submit(fake, std::array<RiderRequest, 3>{request, request, request});
  auto second = submit(fake, std::array<RiderRequest, 3>{request, request, request});
  fake.device().wait_until_held();
  source.request_stop();
  for (auto* shared : {&first, &second}) {
    for (RunHandle& rider : shared->riders) EXPECT_EQ(rider.wait().status, RunStatus::stopped);
    EXPECT_EQ(shared->carrier.wait().status, RunStatus::stopped);
  }
}

TEST(SharedRun, ARiderThatIsStoppedBeforeIsNotAboard) {
  FakeTape fake(5);
  StopSource stopped, running;
  stopped.request_stop();
  auto shared = submit(fake, std::array<RiderRequest, 2>{{{stopped.token()}, {running.token()}}});
  EXPECT_TRUE(shared.riders[0].finished());
  EXPECT_EQ(shared.riders[0].wait().status, RunStatus::stopped);
  EXPECT_EQ(shared.riders[1].wait().status, RunStatus::done);

  auto none = submit(fake, std::array<RiderRequest, 2>{{{stopped.token()}, {stopped.token()}}});
  EXPECT_EQ(none.riders[0].wait().status, RunStatus::stopped);
  EXPECT_EQ(none.carrier.wait().status, RunStatus::stopped);
  EXPECT_EQ(fake.device().steps_executed(), 5U);
}

TEST(SharedRun, AChainGoesThroughRiders) {
  FakeTape fake(3);
  fake.device().hold_at(1);
  StopSource source;
  const int a = 0, b = 0;
  auto first = submit(fake, std::array<RiderRequest, 2>{{{source.token(), &a}, {{}, &b}}});
  fake.device().wait_until_held();
  auto second = submit(fake, std::array<RiderRequest, 2>{{{{}, &b}, {{}, &a}}});
  auto only = submit(fake, std::array<RiderRequest, 1>{{{{}, &a}}});
  RunHandle alone = fake.submit({}, &a);
  fake.device().hold_at(FakeDevice::never);
  source.request_stop();
  EXPECT_EQ(first.riders[0].wait().reason, StopReason::requested);
  EXPECT_EQ(second.riders[1].wait().reason, StopReason::parent);
  EXPECT_EQ(only.riders[0].wait().reason, StopReason::parent);
  EXPECT_EQ(only.carrier.wait().status, RunStatus::stopped) << "nobody is left in it";
  EXPECT_EQ(alone.wait().reason, StopReason::parent);
  fake.device().let_go();
  EXPECT_EQ(first.riders[1].wait().status, RunStatus::done);
  EXPECT_EQ(second.riders[0].wait().status, RunStatus::done);
  EXPECT_EQ(fake.device().steps_executed(), 6U);
}

TEST(SharedRun, AFailureIsEverybodys) {
  FakeTape fake(5);
  fake.device().fail_at(2);
  auto shared = submit(fake, std::array<RiderRequest, 2>{});
  for (RunHandle& rider : shared.riders) {
    EXPECT_EQ(rider.wait().status, RunStatus::failed);
    EXPECT_FALSE(rider.take_error().value().message().empty());
  }
  EXPECT_EQ(shared.carrier.wait().status, RunStatus::failed);
}

TEST(SharedRun, TheRelayAndCallbacksStopARider) {
  FakeTape fake(5);
  fake.device().hold_at(2);
  std::atomic<unsigned char> byte = 0;
  std::atomic<bool> call = false;
  auto shared = submit(fake, std::array<RiderRequest, 3>{
                                 {{StopToken::byte(reinterpret_cast<const unsigned char*>(&byte))},
                                  {StopToken::callback([&] { return call.load(); })},
                                  {}}});
  fake.device().wait_until_held();
  EXPECT_FALSE(shared.riders[0].finished());
  byte = 1;
  EXPECT_EQ(shared.riders[0].wait().status, RunStatus::stopped);
  call = true;
  EXPECT_EQ(shared.riders[1].wait().status, RunStatus::stopped);
  EXPECT_FALSE(shared.carrier.finished());
  fake.device().let_go();
  EXPECT_EQ(shared.riders[2].wait().status, RunStatus::done);
}

TEST(SharedRun, ADeviceWithoutABoundRefusesItsTokens) {
  FakeTape fake(3, {.stop_bound = 0ns});
  StopSource source;
  std::vector<RunState*> riders(2);
  const std::array<RiderRequest, 2> requests{{{}, {source.token()}}};
  const auto refused = fake.queue().submit_shared(fake.request(), requests, riders);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

TEST(SharedRun, StopsFromManyThreadsLoseNothing) {
  FakeTape fake(6);
  constexpr int rounds = 200;
  std::atomic<int> done = 0, stopped = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        std::array<StopSource, 4> sources;
        std::array<RiderRequest, 4> requests;
        for (std::size_t r = 0; r < 4; ++r) requests[r] = {sources[r].token(), &requests[r]};
        auto first = submit(fake, requests);
        auto second = submit(fake, requests);
        std::thread asker([&] {
          for (std::size_t r = 0; r < 3 + static_cast<std::size_t>(i % 2); ++r)
            sources[r].request_stop();
        });
        for (auto* shared : {&first, &second})
          for (RunHandle& rider : shared->riders) {
            const RunStatus status = rider.wait().status;
            (status == RunStatus::done ? done : stopped) += 1;
            EXPECT_NE(status, RunStatus::failed);
          }
        if (i % 2 == 0) {
          EXPECT_EQ(first.riders[3].wait().status, RunStatus::done);
          EXPECT_EQ(second.riders[3].wait().status, RunStatus::done);
        }
        asker.join();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done + stopped, 3 * rounds * 8);
  EXPECT_GT(stopped, 0);
}

}  // namespace
}  // namespace tacet
