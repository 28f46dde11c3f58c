// Matrices in CUDA's tiles hold the numbers that rows hold, as a warp reads them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/as_halves.hpp"
#include "ops/cases.hpp"
#include "ops/tile_reader.hpp"
#include "types/convert.hpp"

namespace tacet::op_tests {
namespace {

using namespace cuda;

/// What the lanes of a warp read of a group of rows, {16, columns}.
std::vector<float> read_group(DType type, const std::byte* group, std::uint32_t columns) {
  std::vector<float> values(std::size_t{tile_rows} * columns, -1);
  const std::byte* factors = group + tiled_bytes(type, tile_rows, columns) - factor_bytes;
  with_tiled_type(type, [&]<DType Type>() {
    using F = TileFormat<Type>;
    visit_tiles<Type>(group, columns, [&](const RawChunk& raw, const TiledCode& at) {
      const float factor = load_as<float>(factors + std::size_t{at.row} * 4);
      ChunkScales<F::groups> scales;
      unpack_scales<Type>(raw, {factor, factor}, scales);
      const float value = scales.scale[at.p][at.set] * static_cast<float>(at.code);
      values[std::size_t{at.row} * columns + at.column] =
          F::has_min ? value + scales.min[at.p][at.set] : value;
    });
  });
  return values;
}

class Tiles : public testing::TestWithParam<DType> {};

TEST_P(Tiles, RowsComeBack) {
  Random random(fmt::format("tiles {}", name(GetParam())));
  // The last chunk is half full where blocks allow it, the last group nearly empty.
  const auto columns = static_cast<std::uint32_t>(width_for(GetParam(), 160));
  constexpr std::uint32_t rows = 37;
  const Input matrix = op_tests::matrix(random, GetParam(), rows, columns);
  std::vector<float> all(std::size_t{rows} * columns);
  dequantize(GetParam(), matrix.bytes.data(), all);
  all.resize(std::size_t{48} * columns);  // rows that there are not count as zeros
  const std::size_t group_bytes = tiled_bytes(GetParam(), tile_rows, columns);
  ASSERT_EQ(tiled_bytes(GetParam(), rows, columns), 3 * group_bytes);
  for (std::size_t group = 0; group < 3; ++group) {
    // Bytes that are not written would be seen.
    std::vector<std::byte> tiles(group_bytes, std::byte{0x5a});
    tile_group(GetParam(), matrix.bytes.data(), rows, columns, group, tiles.data());
    const auto values = read_group(GetParam(), tiles.data(), columns);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(group * tile_rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], first[static_cast<std::ptrdiff_t>(i)])
          << "group " << group << ", row " << i / columns << ", column " << i % columns;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Tiles,
                         testing::Values(DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0,
                                         DType::q5_1, DType::q2_K, DType::q3_K, DType::q4_K,
                                         DType::q5_K, DType::q6_K, DType::iq4_nl, DType::iq4_xs,
                                         DType::mxfp4),
                         [](const auto& tested) { return std::string(name(tested.param)); });

/// What tolerances rest on.
TEST_P(Tiles, HalvesAreNearWhatTheyStandFor) {
  Random random(fmt::format("halves {}", name(GetParam())));
  const auto columns = static_cast<std::uint32_t>(width_for(GetParam(), 160));
  const Input matrix = op_tests::matrix(random, GetParam(), 21, columns);
  std::vector<float> exact(std::size_t{21} * columns);
  dequantize(GetParam(), matrix.bytes.data(), exact);
  const std::vector<float> halves = weights_as_halves(matrix);
  double error = 0, whole = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(halves[i] - exact[i], 2);
    whole += std::pow(exact[i], 2);
  }
  EXPECT_LT(std::sqrt(error / whole), 1e-3);
  // Powers of two times small numbers are halves.
  EXPECT_EQ(error == 0, GetParam() == DType::mxfp4);
}

TEST(TilesOfHalves, RowsComeBack) {
  constexpr std::uint32_t rows = 21, columns = 70;
  Random random("tiles of halves");
  const Input matrix = op_tests::matrix(random, DType::f16, rows, columns);
  const std::size_t group_bytes = tiled_bytes(DType::f16, tile_rows, columns);
  for (std::uint32_t group = 0; group < 2; ++group) {
    std::vector<std::byte> tiles(group_bytes, std::byte{0x5a});
    tile_group(DType::f16, matrix.bytes.data(), rows, columns, group, tiles.data());
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      for (std::uint32_t half = 0; half < 64; ++half) {
        // Four steps of 16 columns for a chunk, four words of two halves for a step.
        const std::uint32_t step = half / 8, word = half / 2 % 4, h = word / 2, p = word % 2;
        const std::uint32_t row = tile_rows * group + lane / 4 + 8 * p;
        const std::uint32_t column = 16 * step + 4 * (lane % 4) + h + 2 * (half % 2);
        std::uint16_t expected = 0, found = 0;
        if (row < rows && column < columns)
          std::memcpy(&expected, matrix.bytes.data() + 2 * (row * columns + column), 2);
        std::memcpy(&found, tiles.data() + (step * 32 + lane) * 16 + half % 8 * 2, 2);
        ASSERT_EQ(found, expected) << "row " << row << ", column " << column;
      }
  }
}

}  // namespace
}  // namespace tacet::op_tests
