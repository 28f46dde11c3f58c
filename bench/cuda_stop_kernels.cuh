#pragma once

#include "backends/cuda/device_code.cuh"

/// The kernels that cuda_stop runs. They look at the stop as the backend's do; without `Polls` not
/// at all.
namespace tacet::bench {

using cuda::RunContext;

inline constexpr unsigned threads = 256;

/// Numbers between -0.5 and 0.5.
__global__ void fill(float* values, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < count;
       i += gridDim.x * std::size_t{threads}) {
    auto bits = static_cast<std::uint32_t>(i) * 2654435761U;
    bits = (bits ^ bits >> 15) * 2246822519U;
    values[i] = static_cast<float>(bits >> 8) / (1 << 24) - 0.5F;
  }
}

struct ReadArguments {
  const float4* weights;
  const float* in;
  float* out;
  std::uint32_t count;  ///< of weights
};

/// A link of a chain like a decode's: reads its weights, most of them before it waits for the
/// kernel before it, and adds them to what that left.
template <bool Polls>
__global__ void __launch_bounds__(threads, 8)
    read_weights(const ReadArguments a, const RunContext run) {
  constexpr std::uint32_t ahead = 4;
  __shared__ float sums[threads / 32];
  cuda::let_next_begin();
  const std::uint32_t stride = gridDim.x * threads;
  std::uint32_t at = blockIdx.x * threads + threadIdx.x;
  float4 first[ahead];
#pragma unroll
  for (std::uint32_t i = 0; i < ahead; ++i, at += stride)
    first[i] = at < a.count ? __ldcs(a.weights + at) : float4{};
  int stop = 0;
  if (Polls && threadIdx.x == 0) stop = cuda::asked_to_stop(run) ? 1 : 0;
  cuda::wait_for_previous();
  if constexpr (Polls)
    if (__syncthreads_or(stop) != 0) return;
  const float before = __ldcg(a.in + (blockIdx.x + 1) % gridDim.x);
  float sum = 0;
#pragma unroll
  for (const float4& w : first) sum += w.x + w.y + w.z + w.w;
  for (; at < a.count; at += stride) {
    const float4 w = __ldcs(a.weights + at);
    sum += w.x + w.y + w.z + w.w;
  }
  sum = cuda::block_sum(sum, sums);
  if (threadIdx.x == 0) a.out[blockIdx.x] = before / 2 + sum;
}

struct ProductArguments {
  const float4* left;  ///< [depth][side], as is `right`
  const float4* right;
  float* out;           ///< [side][side]
  std::uint32_t side;   ///< a multiple of 64
  std::uint32_t depth;  ///< a multiple of 16
  std::uint32_t tiles;  ///< of 16 of the depth, which comes again and again
};

/// A product that takes as long as `tiles` says; a block computes 64 x 64 sums. One thread looks at
/// the stop in every tile, and what it saw is used in the next one.
template <bool Polls>
__global__ void __launch_bounds__(threads, 5)
    long_product(const ProductArguments a, const RunContext run) {
  constexpr std::uint32_t depth = 16;
  __shared__ float4 left[2][depth][16], right[2][depth][16];
  const std::uint32_t row = threadIdx.x / 16, column = threadIdx.x % 16;
  const std::uint32_t blocks = a.side / 64, width = a.side / 4;
  const float4* from_left = a.left + row * width + blockIdx.x / blocks * 16 + column;
  const float4* from_right = a.right + row * width + blockIdx.x % blocks * 16 + column;
  float4 next_left = *from_left, next_right = *from_right;
  std::uint32_t seen = 0;
  const std::uint32_t epoch = run.block->epoch;
  if (Polls && threadIdx.x == 0) seen = cuda::load_relaxed(run.stop);
  float sums[4][4] = {};
  std::uint32_t k = 0;
  for (std::uint32_t tile = 0; tile < a.tiles; ++tile) {
    const std::uint32_t stage = tile % 2;
    left[stage][row][column] = next_left;
    right[stage][row][column] = next_right;
    if constexpr (Polls) {
      if (__syncthreads_or(threadIdx.x == 0 && seen == epoch ? 1 : 0) != 0) return;
      if (threadIdx.x == 0) seen = cuda::load_relaxed(run.stop);
    } else {
      __syncthreads();
    }
    k = k + depth < a.depth ? k + depth : 0;
    next_left = from_left[k * width];
    next_right = from_right[k * width];
#pragma unroll
    for (std::uint32_t i = 0; i < depth; ++i) {
      const float4 l = left[stage][i][row], r = right[stage][i][column];
      const float ls[] = {l.x, l.y, l.z, l.w}, rs[] = {r.x, r.y, r.z, r.w};
#pragma unroll
      for (int y = 0; y < 4; ++y)
#pragma unroll
        for (int x = 0; x < 4; ++x) sums[y][x] += ls[y] * rs[x];
    }
  }
  float* out = a.out + std::size_t{blockIdx.x / blocks * 64 + row * 4} * a.side +
               blockIdx.x % blocks * 64 + column * 4;
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) out[y * a.side + x] = sums[y][x];
}

/// Sets the condition of an IF node: its kernels work unless the run is to stop.
__global__ void gate(cudaGraphConditionalHandle condition, const RunContext run) {
  cudaGraphSetConditional(condition, cuda::asked_to_stop(run) ? 0 : 1);
}

/// Tells the host that the run was not cut short, as the backend's end_of_run does.
__global__ void end_of_run(std::uint32_t* ended, const RunContext run) {
  if (!cuda::asked_to_stop(run))
    *reinterpret_cast<volatile std::uint32_t*>(ended) = run.block->epoch;
}

}  // namespace tacet::bench
