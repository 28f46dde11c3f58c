#pragma once

#include "backends/cuda/gemm/tiles.hpp"
#include "types/dtype.hpp"

namespace tacet::op_tests {

/// A code as a lane of a warp finds it in a tile.
struct TiledCode {
  std::uint32_t row;     ///< of the group
  std::uint32_t column;  ///< of the matrix
  int code;              ///< less the type's zero
  int p;                 ///< which of the lane's two rows
  int set;               ///< of the scales of its chunk
};

/// Calls `visit(raw, code)` for each code of a group of rows in tiles, as the lanes of a warp read
/// them.
template <DType Type, typename Visit>
void visit_tiles(const std::byte* group, std::uint32_t columns, const Visit& visit) {
  using namespace cuda;
  using F = TileFormat<Type>;
  for (std::uint32_t chunk = 0; chunk * chunk_columns < columns; ++chunk)
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const RawChunk raw =
          load_chunk<F>(group + chunk / F::chunks * F::tile_bytes, chunk % F::chunks, lane);
      std::uint32_t words[8];
      unpack_codes<Type>(raw, words);
      for (std::uint32_t i = 0; i < 32; ++i) {
        const std::uint32_t word = i / 4, b = word / 4, h = word / 2 % 2, p = word % 2;
        const std::uint32_t column = 64 * chunk + 32 * b + 16 * h + 4 * (lane % 4) + i % 4;
        if (column >= columns) continue;
        const auto code = static_cast<std::int8_t>(words[word] >> (8 * (i % 4)));
        visit(raw, TiledCode{.row = lane / 4 + 8 * p,
                             .column = column,
                             .code = code - F::zero,
                             .p = static_cast<int>(p),
                             .set = static_cast<int>((2 * b + h) * F::groups / 4)});
      }
    }
}

/// Calls `call.template operator()<type>()` for a quantized type that has tiles.
template <typename Call>
void with_tiled_type(DType type, const Call& call) {
  const auto try_all = [&]<DType... Types>() {
    ((Types == type ? call.template operator()<Types>() : void()), ...);
  };
  try_all.template operator()<DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                              DType::q2_K, DType::q3_K, DType::q4_K, DType::q5_K, DType::q6_K,
                              DType::iq4_nl, DType::iq4_xs, DType::mxfp4>();
}

}  // namespace tacet::op_tests
