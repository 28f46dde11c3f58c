// Packed matrices hold the numbers that rows hold.

#include "backends/cpu/gemm/packed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(EveryType, Packed, testing::ValuesIn(weight_types),
                         [](const auto& instance) { return std::string(name(instance.param)); });

}  // namespace
}  // namespace tacet::op_tests
