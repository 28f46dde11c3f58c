#include "backends/cuda/open_device.hpp"
#include "cuda/fake_driver.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

TEST(Weights, AreBroughtInPiecesThatStop) {
  FakeDriver fake;
  auto device = cuda::open_device(fake.driver(), 0).value();
  const long held = fake.held();
  for (const DType type : {DType::f32, DType::q8_0}) {
    const ValueType matrix{type, Shape{12 << 10, 1 << 10}};
    const std::vector<std::byte> rows((std::size_t{12} << 10) * row_bytes(type, 1 << 10),
                                      std::byte{1});
    int looks = 0;
    for (;; ++looks) {
      auto arranged = device->arrange(matrix, rows.data(), Layout::tiles, after_polls(looks + 1));
      if (arranged) break;
      ASSERT_EQ(arranged.error().code(), Code::stopped);
      ASSERT_EQ(fake.held(), held);
    }
    EXPECT_EQ(fake.held(), held);
    EXPECT_EQ(static_cast<std::size_t>(looks), (rows.size() >> 24) + (rows.size() % (1 << 24) != 0))
        << name(type);
  }
}

}  // namespace
}  // namespace tacet
