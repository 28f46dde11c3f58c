#pragma once

#include "backends/cuda/gemm/kinds.cuh"

/// What one output of a product is made of, and in which order it is added, depends on the matrix
/// alone, not on how many rows there are or which kernel computes it:
///
/// The columns are cut in slices (activations.hpp). In each, the chunks of 64 columns are added one
/// after the other, and then the slices are. With few rows each warp of a block takes a slice
/// (few.cuh); with many a warp takes one after the other (many.cuh).
namespace tacet::cuda {

/// A matrix of a launch and a group of its rows.
struct Group {
  std::uint32_t matrix;
  std::uint32_t number;
};
__device__ inline Group group_of(const ProductArguments& a, std::uint32_t block) {
  std::uint32_t matrix = 0;
  while (matrix + 1 < a.matrices && block >= a.matrix[matrix].groups)
    block -= a.matrix[matrix++].groups;
  return {matrix, block};
}

__device__ inline void store(const ProductArguments& a, std::uint32_t matrix, std::uint32_t output,
                             std::uint32_t row, float sum) {
  const ProductMatrix& m = a.matrix[matrix];
  if (m.bias != nullptr) sum += m.bias[output];
  m.out[std::size_t{row} * m.outputs + output] = sum;
}
__device__ inline float gated(float gate, float up) {
  return gate / (1 + expf(-gate)) * up;
}

/// The weights of a group of 16 outputs of one matrix.
template <typename Kind>
struct GroupTiles {
  const std::byte* tiles;

  __device__ typename Kind::Raw load(std::uint32_t chunk, std::uint32_t lane) const {
    return Kind::load(tiles + std::size_t{chunk / Kind::chunks_of_tile} * Kind::tile_bytes,
                      chunk % Kind::chunks_of_tile, lane);
  }
};

/// What a warp adds up of a slice: `add(chunk, weights, m)` is called for each chunk and matrix, in
/// order, with weights that were asked for some chunks before.
template <typename Kind, int Matrices>
struct SliceLoop {
  static constexpr int ahead = sizeof(typename Kind::Raw) > sizeof(RawChunk) || Matrices > 1 ? 2
                                                                                             : 4;
  GroupTiles<Kind> tiles[Matrices];
  std::uint32_t begin, end;
  typename Kind::Raw raw[ahead][Matrices];

  __device__ void start(std::uint32_t lane) {
#pragma unroll
    for (int i = 0; i < ahead; ++i)
#pragma unroll
      for (int m = 0; m < Matrices; ++m)
        if (begin + i < end) raw[i][m] = tiles[m].load(begin + i, lane);
  }
  template <typename Prepare, typename Add>
  __device__ void run(std::uint32_t lane, const Prepare& prepare, const Add& add) {
    for (std::uint32_t chunk = begin; chunk < end; chunk += ahead) {
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        if (chunk + i >= end) break;
        const auto x = prepare(chunk + i);
#pragma unroll
        for (int m = 0; m < Matrices; ++m) {
          const WeightSteps w = Kind::unpack(raw[i][m]);
          if (chunk + i + ahead < end) raw[i][m] = tiles[m].load(chunk + i + ahead, lane);
          add(w, x, m);
        }
      }
    }
  }
};

}  // namespace tacet::cuda
