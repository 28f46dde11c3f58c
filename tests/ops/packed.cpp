// Packed matrices hold the numbers that rows hold, whoever packs them.

#include "backends/cpu/gemm/packed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cpu/cpu_device.hpp"
#include "base/stop_state.hpp"
#include "ops/cases.hpp"
#include "types/convert.hpp"

namespace tacet::op_tests {
namespace {

class Packed : public testing::TestWithParam<DType> {};

std::vector<std::byte> pack(const Input& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.type.shape.rows());
  const std::size_t groups = (rows + cpu::group_rows - 1) / cpu::group_rows;
  // Bytes that are not written would be seen.
  std::vector<std::byte> packed(cpu::packed_bytes(matrix.type), std::byte{0x5a});
  for (std::size_t group = 0; group < groups; ++group)
    cpu::pack_group(matrix.type, matrix.bytes.data(), group,
                    packed.data() + group * (packed.size() / groups));
  return packed;
}

TEST_P(Packed, RowsComeBack) {
  Random random(fmt::format("packed {}", name(GetParam())));
  const std::int64_t width = width_for(GetParam(), 160);
  for (const std::int64_t rows : {1, 16, 37}) {
    const Input matrix = op_tests::matrix(random, GetParam(), rows, width);
    const auto packed = pack(matrix);
    std::vector<float> all(static_cast<std::size_t>(rows * width)), row(all.size());
    dequantize(GetParam(), matrix.bytes.data(), all);
    const auto n = static_cast<std::size_t>(width);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      cpu::unpack_row(matrix.type, packed.data(), r, 0, n, row.data() + r * n);
    EXPECT_EQ(row, all) << rows << " rows";
  }
}

TEST_P(Packed, PartsOfRowsComeBack) {
  Random random(fmt::format("parts {}", name(GetParam())));
  const auto block = info(GetParam()).block_size;
  const Input matrix =
      op_tests::matrix(random, GetParam(), 5, static_cast<std::int64_t>(4 * block));
  const auto packed = pack(matrix);
  std::vector<float> row(4 * block), part(2 * block);
  cpu::unpack_row(matrix.type, packed.data(), 3, 0, 4 * block, row.data());
  cpu::unpack_row(matrix.type, packed.data(), 3, block, 3 * block, part.data());
  EXPECT_TRUE(
      std::equal(part.begin(), part.end(), row.begin() + static_cast<std::ptrdiff_t>(block)));
}

TEST_P(Packed, RowsOfZerosFillTheLastGroup) {
  Random random("filled");
  const std::int64_t width = width_for(GetParam(), 32);
  const Input matrix = op_tests::matrix(random, GetParam(), 3, width);
  const auto packed = pack(matrix);
  std::vector<float> row(static_cast<std::size_t>(width), 1);
  const ValueType whole{GetParam(), {16, width}};
  cpu::unpack_row(whole, packed.data(), 15, 0, row.size(), row.data());
  EXPECT_EQ(row, std::vector<float>(row.size()));
}

TEST_P(Packed, ThreadsPackTheSame) {
  Random random(fmt::format("threads {}", name(GetParam())));
  // Several parts of a row, and more groups than a run packs.
  const Input matrix = op_tests::matrix(random, GetParam(), 2501, width_for(GetParam(), 3601));
  const auto packed = pack(matrix);
  for (const unsigned threads : {1U, 3U}) {
    const auto device = make_cpu_device({.threads = threads}).value();
    const auto buffer = device->arrange(matrix.type, matrix.bytes.data(), Layout::groups).value();
    ASSERT_EQ(buffer->size(), packed.size());
    EXPECT_TRUE(std::equal(packed.begin(), packed.end(), buffer->data())) << threads;
  }
}

TEST(Packing, StopsAtEveryPoll) {
  Random random("stops");
  const Input matrix = op_tests::matrix(random, DType::q8_0, 821, 3616);
  const auto device = make_cpu_device({.threads = 2}).value();
  const auto arrange = [&](std::int64_t polls) {
    auto count = std::make_shared<detail::PollCountdown>(polls);
    const auto buffer = device->arrange(matrix.type, matrix.bytes.data(), Layout::groups,
                                        detail::countdown_token(count));
    EXPECT_EQ(buffer.has_value(), polls > 1000) << polls;
    if (!buffer) {
      EXPECT_EQ(buffer.error().code(), Code::stopped);
    }
    return polls - count->load();
  };
  const std::int64_t polls = arrange(1'000'000);
  ASSERT_GT(polls, 100);
  ASSERT_LT(polls, 1000);
  for (std::int64_t n = 1; n < polls; n += 7) arrange(n);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Packed, testing::ValuesIn(weight_types),
                         [](const auto& instance) { return std::string(name(instance.param)); });

}  // namespace
}  // namespace tacet::op_tests
