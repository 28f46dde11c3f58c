#pragma once

#include "backends/cuda/gemm/product.cuh"

namespace tacet::cuda {

/// The chunks that a warp computes: those of its slice, of one group of outputs after the other.
/// They are copied to a ring in shared memory some chunks before they are computed, so that copies
/// go on while groups end.
template <typename Kind, int Matrices>
class ChunkRing {
 public:
  static constexpr std::uint32_t depth = ring_depth(Kind::stage_bytes * Matrices);
  static constexpr std::uint32_t slot_bytes = Kind::stage_bytes * Matrices;

  __device__ ChunkRing(const ProductArguments& a, std::byte* memory, std::uint32_t lane)
      : a_(a), memory_(memory), lane_(lane), number_(blockIdx.x) {
    const std::uint32_t slice = threadIdx.x / 32;
    begin_ = slice_begin(a.chunks, slice);
    end_ = slice_begin(a.chunks, slice + 1);
    chunk_ = begin_;
    if (begin_ < end_) enter_group();
    for (std::uint32_t i = 0; i + 1 < depth; ++i) ask();
  }
  __device__ std::uint32_t begin() const { return begin_; }
  __device__ std::uint32_t end() const { return end_; }

  /// The next chunk, for all lanes; what it returned before is gone.
  __device__ const std::byte* next() {
    __syncwarp();
    ask();
    wait_for_copies<depth - 1>();
    __syncwarp();
    const std::byte* slot = memory_ + taken_ * slot_bytes;
    if (++taken_ == depth) taken_ = 0;
    return slot;
  }

 private:
  __device__ void enter_group() {
    if (number_ >= a_.groups) return;
    const Group group = Matrices == 2 ? Group{0, number_} : group_of(a_, number_);
#pragma unroll
    for (int m = 0; m < Matrices; ++m)
      tiles_[m] = a_.matrix[group.matrix + m].tiles + group.number * a_.group_bytes;
  }
  /// Starts the copy of the chunk behind the newest one.
  __device__ void ask() {
    if (number_ < a_.groups && begin_ < end_) {
      std::byte* slot = memory_ + asked_ * slot_bytes;
#pragma unroll
      for (int m = 0; m < Matrices; ++m)
        Kind::copy(slot + m * Kind::stage_bytes,
                   tiles_[m] + std::size_t{chunk_ / Kind::chunks_of_tile} * Kind::tile_bytes,
                   chunk_ % Kind::chunks_of_tile, lane_);
      if (++asked_ == depth) asked_ = 0;
      if (++chunk_ == end_) {
        chunk_ = begin_;
        number_ += gridDim.x;
        enter_group();
      }
    }
    end_group_of_copies();
  }

  const ProductArguments& a_;
  std::byte* memory_;
  std::uint32_t lane_, begin_, end_;
  std::uint32_t number_, chunk_;  ///< that is asked for next
  std::uint32_t asked_ = 0, taken_ = 0;
  const std::byte* tiles_[Matrices] = {};
};

/// One row. Blocks go from one group of outputs to the next; each warp takes a slice of the
/// columns, which lies in shared memory. Where the row comes as floats it brings it into the form
/// of activations itself, while its first weights are on their way.
template <typename Kind, bool Pair>
__device__ void product_of_one(const ProductArguments& a, const RunContext& run) {
  constexpr int matrices = Pair ? 2 : 1;
  using Chunk = HalfChunk<Kind::parts>;
  using Ring = ChunkRing<Kind, matrices>;
  extern __shared__ uint4 memory[];
  auto* row = reinterpret_cast<Chunk*>(memory);
  const std::uint32_t lane = threadIdx.x % 32, slice = threadIdx.x / 32;
  let_next_begin();
  Ring ring(a,
            reinterpret_cast<std::byte*>(row + a.chunks) + slice * (Ring::depth * Ring::slot_bytes),
            lane);
  int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
  wait_for_previous();
  float scale;
  if (a.row != nullptr) {
    scale = halve_slice<Kind::is_bf16>(RowColumns{a.row, a.columns}, ring.begin(), ring.end(), row);
  } else {
    constexpr std::uint32_t pieces = sizeof(Chunk) / 16;
    const auto* from = static_cast<const uint4*>(a.activations);
    for (std::uint32_t i = ring.begin() * pieces + lane; i < ring.end() * pieces; i += 32)
      memory[i] = from[i];
    scale = a.scales[slice];
  }
  if (__syncthreads_or(stop) != 0 || live_rows(run, a.selected) == 0) {
    wait_for_copies<0>();
    return;
  }

  __shared__ float parts[2][slices][matrices][tile_rows];
  std::uint32_t half = 0;  // of parts: a block's threads are never more than one group apart
  for (std::uint32_t number = blockIdx.x; number < a.groups; number += gridDim.x) {
    if (threadIdx.x == 0) stop = asked_to_stop(run) ? 1 : 0;
    const Group group = Pair ? Group{0, number} : group_of(a, number);
    float factors[matrices];
#pragma unroll
    for (int m = 0; m < matrices; ++m)
      factors[m] =
          threadIdx.x < tile_rows
              ? Kind::factor(a, a.matrix[group.matrix + m].tiles + group.number * a.group_bytes,
                             threadIdx.x)
              : 1;
    Sums sums[matrices];
    for (std::uint32_t chunk = ring.begin(); chunk < ring.end(); ++chunk) {
      const std::byte* slot = ring.next();
      // Lanes 0 to 3 hold the first column of mma's right operand; the other columns are zeros.
      const auto x = Activations<Kind::parts>::load(lane < 4 ? row + chunk : nullptr, lane);
#pragma unroll
      for (int m = 0; m < matrices; ++m) {
        const WeightSteps w = Kind::unpack(Kind::load_copied(slot + m * Kind::stage_bytes, lane));
        add_products<Kind::is_bf16>(w, x, sums[m]);
      }
    }
    if (lane % 4 == 0)
#pragma unroll
      for (int m = 0; m < matrices; ++m)
#pragma unroll
        for (int p = 0; p < 2; ++p)
          parts[half][slice][m][lane / 4 + 8 * p] = sums[m].of[2 * p] * scale;
    if (__syncthreads_or(stop) != 0) break;
    const std::uint32_t output = group.number * tile_rows + threadIdx.x;
    if (threadIdx.x < tile_rows && output < a.matrix[group.matrix].outputs) {
      float total[matrices];
#pragma unroll
      for (int m = 0; m < matrices; ++m) {
        total[m] = 0;
#pragma unroll
        for (std::uint32_t s = 0; s < slices; ++s) total[m] += parts[half][s][m][threadIdx.x];
        total[m] *= factors[m];
      }
      store(a, group.matrix, output, 0, Pair ? gated(total[0], total[matrices - 1]) : total[0]);
    }
    half ^= 1;
  }
  wait_for_copies<0>();
}

}  // namespace tacet::cuda
