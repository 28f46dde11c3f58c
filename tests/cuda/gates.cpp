#include <array>
#include <functional>

#include "backends/cuda/open_device.hpp"
#include "cuda/fake_driver.hpp"
#include "runtime/support.hpp"

// Stops at every gate, on a GPU where there is one, and on a driver that computes nothing.
namespace tacet {
namespace {

using namespace test;

class Gates : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const cuda::Driver* driver = &fake_.driver();
    if (GetParam()) {
      driver = cuda::driver();
      int count = 0;
      if (driver == nullptr || driver->device_get_count(&count) != CUDA_SUCCESS || count == 0)
        GTEST_SKIP() << "there is no GPU";
    }
    auto device = cuda::open_device(*driver, 0, [this](std::size_t) { at_gate(); });
    ASSERT_TRUE(device) << device.error().message();
    auto model = try_load(std::move(*device), model_path("tiny-chat-Q8_0.gguf"));
    ASSERT_TRUE(model) << model.error().message();
    model_ = *model;
  }

  /// Stops `call` at each of its gates in turn: the session is what it was, and the call again
  /// gives the bits of an undisturbed one.
  void stop_at_every_gate(const std::function<std::unique_ptr<SessionImpl>()>& make,
                          const std::function<Outcome(SessionImpl&, const StopToken&)>& call) {
    auto undisturbed = make();
    passed_ = 0;
    ASSERT_TRUE(call(*undisturbed, {}).done());
    const int gates = passed_;
    ASSERT_GT(gates, 3);
    const Snapshot expected(*undisturbed);

    auto session = make();
    const Snapshot before(*session);
    for (int gate = 1; gate <= gates; ++gate) {
      StopSource source;
      source_ = &source;
      stop_at_ = gate;
      passed_ = 0;
      const Outcome outcome = call(*session, source.token());
      stop_at_ = 0;
      ASSERT_EQ(outcome.status, Status::stopped) << "gate " << gate << " of " << gates;
      ASSERT_EQ(outcome.reason, StopReason::requested);
      ASSERT_TRUE(Snapshot(*session) == before) << "gate " << gate << " of " << gates;
      auto again = session->fork().value();
      ASSERT_TRUE(call(*again, {}).done());
      ASSERT_TRUE(Snapshot(*again) == expected) << "gate " << gate << " of " << gates;
    }
    std::printf("%d gates\n", gates);
  }

  ModelPointer model_;

 private:
  void at_gate() {
    if (++passed_ == stop_at_) source_->request_stop();
  }

  FakeDriver fake_;
  StopSource* source_ = nullptr;
  int passed_ = 0;
  int stop_at_ = 0;
};

TEST_P(Gates, OfAPrompt) {
  const auto prompt = question(model_);
  stop_at_every_gate([&] { return new_session(model_); },
                     [&](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(prompt, stop, {});
                     });
}

TEST_P(Gates, OfADecodeStep) {
  const auto prompt = question(model_);
  stop_at_every_gate(
      [&] {
        auto session = new_session(model_);
        EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
        return session;
      },
      [](SessionImpl& session, const StopToken& stop) {
        return session.evaluate(std::array<Token, 1>{100}, stop, {});
      });
}

TEST_P(Gates, OfALongPrompt) {
  const auto prompt = long_prompt(detail::chunk_rows + 100);
  stop_at_every_gate([&] { return new_session(model_, {.context = 1024}); },
                     [&](SessionImpl& session, const StopToken& stop) {
                       return session.evaluate(prompt, stop, {});
                     });
}

INSTANTIATE_TEST_SUITE_P(Drivers, Gates, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Gpu" : "Fake"; });

}  // namespace
}  // namespace tacet
