// Matrices in CUDA's tiles hold the numbers that rows hold, as a warp reads them.

#include "backends/cuda/gemm/tiles.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/cases.hpp"
#include "types/convert.hpp"

namespace tacet::op_tests {
namespace {

using namespace cuda;

/// What the lanes of a warp read of a group of rows, {16, columns}.
template <DType Type>
std::vector<float> read_group(const std::byte* group, std::uint32_t columns) {
  using F = TileFormat<Type>;
  const std::byte* factors = group + tiled_bytes(Type, tile_rows, columns) - factor_bytes;
  std::vector<float> values(std::size_t{tile_rows} * columns, -1);
  for (std::uint32_t chunk = 0; chunk * chunk_columns < columns; ++chunk)
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const RawChunk raw =
          load_chunk<F>(group + chunk / F::chunks * F::tile_bytes, chunk % F::chunks, lane);
      std::uint32_t words[8];
      ChunkScales<F::groups> scales;
      unpack_codes<Type>(raw, words);
      unpack_scales<Type>(
          raw,
          {load_as<float>(factors + lane / 4 * 4), load_as<float>(factors + (lane / 4 + 8) * 4)},
          scales);
      for (std::uint32_t i = 0; i < 32; ++i) {
        const std::uint32_t word = i / 4, b = word / 4, h = word / 2 % 2, p = word % 2;
        const std::uint32_t column = 64 * chunk + 32 * b + 16 * h + 4 * (lane % 4) + i % 4;
        if (column >= columns) continue;
        const auto code = static_cast<std::int8_t>(words[word] >> (8 * (i % 4)));
        const std::uint32_t set = (2 * b + h) * F::groups / 4;
        const float value = scales.scale[p][set] * static_cast<float>(code - F::zero);
        values[std::size_t{lane / 4 + 8 * p} * columns + column] =
            F::has_min ? value + scales.min[p][set] : value;
      }
    }
  return values;
}

std::vector<float> read_group(DType type, const std::byte* group, std::uint32_t columns) {
  switch (type) {
    case DType::q8_0:
      return read_group<DType::q8_0>(group, columns);
    case DType::q4_0:
      return read_group<DType::q4_0>(group, columns);
    case DType::q4_1:
      return read_group<DType::q4_1>(group, columns);
    case DType::q5_0:
      return read_group<DType::q5_0>(group, columns);
    case DType::q5_1:
      return read_group<DType::q5_1>(group, columns);
    case DType::q2_K:
      return read_group<DType::q2_K>(group, columns);
    case DType::q3_K:
      return read_group<DType::q3_K>(group, columns);
    case DType::q4_K:
      return read_group<DType::q4_K>(group, columns);
    case DType::q5_K:
      return read_group<DType::q5_K>(group, columns);
    case DType::q6_K:
      return read_group<DType::q6_K>(group, columns);
    case DType::iq4_nl:
      return read_group<DType::iq4_nl>(group, columns);
    case DType::iq4_xs:
      return read_group<DType::iq4_xs>(group, columns);
    default:
      return read_group<DType::mxfp4>(group, columns);
  }
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
