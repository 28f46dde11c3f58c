#include <algorithm>
#include <array>

#include "backends/cuda/open_device.hpp"
#include "cuda/fake_driver.hpp"
#include "runtime/support.hpp"
#include "support/sanitizers.hpp"

// A driver whose calls fail.
namespace tacet {
namespace {

using namespace test;

struct Fault {
  const char* name;
  CUresult status;
  bool for_good;
};

class Faults : public testing::TestWithParam<Fault> {};

/// What an application does, from opening a device to the end of its program. Says whether all went
/// well; what goes wrong says so and changes nothing.
bool use(FakeDriver& fake, bool again_works, GpuLayers layers) {
  auto device = cuda::open_device(fake.driver(), 0);
  if (!device) {
    EXPECT_FALSE(device.error().message().empty());
    return false;
  }
  const auto model = try_load(std::move(*device), model_path("tiny-chat-Q8_0.gguf"), {}, layers);
  if (!model) {
    EXPECT_FALSE(model.error().message().empty());
    return false;
  }
  auto created = SessionImpl::create(*model, {});
  if (!created) {
    EXPECT_FALSE(created.error().message().empty());
    return false;
  }
  auto session = std::move(*created);
  bool all_well = true;
  const auto call = [&](const auto& ask) {
    const std::vector<Token> before(session->tokens().begin(), session->tokens().end());
    const Outcome outcome = ask();
    if (outcome.done()) return;
    all_well = false;
    EXPECT_EQ(outcome.status, Status::failed);
    EXPECT_TRUE(outcome.error && !outcome.error->message().empty());
    EXPECT_TRUE(std::ranges::equal(session->tokens(), before));
    if (again_works) {
      EXPECT_TRUE(ask().done());
    }
  };
  const auto prompt = question(*model);
  call([&] { return session->evaluate(prompt, {}, {}); });
  call([&] { return session->evaluate(std::array<Token, 1>{100}, {}, {}); });
  call([&] { return session->evaluate(std::array<Token, 2>{101, 102}, {}, {}); });
  return all_well;
}

void fail_each_call(const Fault& fault, GpuLayers layers) {
  const auto& [name, status, for_good] = fault;
  long calls = 0;
  {
    FakeDriver fake;
    ASSERT_TRUE(use(fake, true, layers));
    calls = fake.calls();
    EXPECT_EQ(fake.held(), 0);
  }
  constexpr long apart = sanitizer_slowdown == 1 ? 1 : 3;  // of the calls that are tried
  long seen = 0;
  for (long n = 1; n <= calls; n += (n < 60 ? 1 : 13) * apart) {
    FakeDriver fake;
    fake.fail(n, status, for_good);
    seen += use(fake, !for_good, layers) ? 0 : 1;
    ASSERT_EQ(fake.held(), 0) << "call " << n << " of " << calls;
  }
  // Some calls may fail and nobody minds: how much memory is free is asked for messages alone.
  EXPECT_GT(seen, calls / (26 * apart));
  std::printf("%ld calls, %ld of which were seen\n", calls, seen);
}

TEST_P(Faults, AreErrorsAndLoseNothing) {
  fail_each_call(GetParam(), GpuLayers::all());
}

TEST_P(Faults, OfAGpuWithHalfOfAModelAreErrorsToo) {
  fail_each_call(GetParam(), GpuLayers::count(2));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Faults,
                         testing::Values(Fault{"NoMemory", CUDA_ERROR_OUT_OF_MEMORY, false},
                                         Fault{"MemoryIsGone", CUDA_ERROR_OUT_OF_MEMORY, true},
                                         Fault{"Refused", CUDA_ERROR_NOT_SUPPORTED, false},
                                         Fault{"Lost", CUDA_ERROR_LAUNCH_FAILED, true}),
                         [](const auto& tested) { return tested.param.name; });

TEST(LostDevice, IsSaidAndNeverUsedAgain) {
  FakeDriver fake;
  const auto model =
      try_load(cuda::open_device(fake.driver(), 0).value(), model_path("tiny-chat-Q8_0.gguf"))
          .value();
  auto session = new_session(model);
  const auto prompt = question(model);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  const Snapshot before(*session);
  const auto ask = [&] { return session->evaluate(std::array<Token, 1>{100}, {}, {}); };
  ASSERT_TRUE(ask().done());
  ASSERT_TRUE(session->truncate(static_cast<std::uint32_t>(prompt.size())));
  fake.fail(3, CUDA_ERROR_ILLEGAL_ADDRESS);
  const Outcome lost = ask();
  ASSERT_EQ(lost.status, Status::failed);
  EXPECT_EQ(lost.error->code(), Code::device_lost);
  EXPECT_EQ(session->tokens().size(), prompt.size());
  const long calls = fake.calls();
  const Outcome again = ask();
  ASSERT_EQ(again.status, Status::failed);
  EXPECT_EQ(again.error->code(), Code::device_lost);
  EXPECT_LE(fake.calls(), calls + 1) << "a lost device was asked to compute";
}

}  // namespace
}  // namespace tacet
