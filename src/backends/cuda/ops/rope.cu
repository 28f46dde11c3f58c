#include "backends/cuda/ops/kv_write.cuh"
#include "backends/cuda/ops/rope.hpp"

namespace tacet::cuda {

namespace {

/// In double precision, since positions are large and an angle's error is a fraction of it.
__device__ void make_table(const RopeTableArguments& a, const RunContext& run) {
  const std::uint32_t pair = blockIdx.x * threads_of_rope + threadIdx.x, row = blockIdx.y;
  const std::uint32_t pairs = a.size / 2;
  if (stopped(run) || row >= run.block->rows || pair >= pairs) return;
  const double i = pair;
  double scaled = 1;  // the share of YaRN's interpolation
  if (i < a.high) scaled = i <= a.low ? 0 : (i - a.low) / (double{a.high} - a.low);
  const double position = run.block->positions[row];
  const double angle = position * (scaled * a.scale + (1 - scaled)) *
                       pow(double{a.base}, -2.0 * i / a.size) /
                       (a.factors != nullptr ? a.factors[pair] : 1.0F);
  double sine = 0, cosine = 0;
  sincos(angle, &sine, &cosine);
  float* out = a.out + std::size_t{row} * a.size;
  out[pair] = static_cast<float>(a.magnitude * cosine);
  out[pairs + pair] = static_cast<float>(a.magnitude * sine);
}

/// A block norms and rotates a head of a row.
__device__ void rotate(const RopeArguments& a, std::uint32_t row, std::uint32_t head) {
  __shared__ float shared[threads_of_rope / 32];
  const std::size_t at = (std::size_t{row} * a.heads + head) * a.head_size;
  const float* x = a.x + at;
  const float* table = a.table + std::size_t{row} * a.table_size;
  float* out = a.out + at;
  float factor = 1;
  if (a.weight != nullptr) {
    float squares = 0;
    for (std::uint32_t i = threadIdx.x; i < a.head_size; i += threads_of_rope)
      squares = fmaf(x[i], x[i], squares);
    const float mean = block_sum(squares, shared) / static_cast<float>(a.head_size);
    factor = 1 / sqrtf(mean + a.epsilon);
  }
  const auto element = [&](std::uint32_t i) {
    return a.weight != nullptr ? x[i] * factor * a.weight[i] : x[i];
  };
  const std::uint32_t pairs = a.table_size / 2;
  for (std::uint32_t i = threadIdx.x; i < pairs; i += threads_of_rope) {
    const std::uint32_t first = a.interleaved ? 2 * i : i;
    const std::uint32_t second = a.interleaved ? 2 * i + 1 : i + pairs;
    const float u = element(first), v = element(second);
    const float cosine = table[i], sine = table[pairs + i];
    out[first] = u * cosine - v * sine;
    out[second] = u * sine + v * cosine;
  }
  for (std::uint32_t i = a.table_size + threadIdx.x; i < a.head_size; i += threads_of_rope)
    out[i] = element(i);
}

/// A block takes a head of a row: rotates it, keeps it, or both.
__device__ void rotate_and_keep(const RopesArguments& a, const RunContext& run) {
  const std::uint32_t row = blockIdx.y, warp = threadIdx.x / 32, warps = threads_of_rope / 32;
  if (stopped(run) || row >= run.block->rows) return;
  std::uint32_t head = blockIdx.x;
#pragma unroll
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (i >= a.count) break;
    if (head >= a.of[i].heads) {
      head -= a.of[i].heads;
      continue;
    }
    rotate(a.of[i], row, head);
    if (i + 1 != a.count || a.kept.heads == 0) return;
    __syncthreads();
    return write_head(a.kept, false, *run.block, row, head, warp, warps);
  }
  write_head(a.kept, true, *run.block, row, head, warp, warps);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads_of_rope)
    rope_table(const RopeTableArguments a, const RunContext run) {
  make_table(a, run);
}

extern "C" __global__ void __launch_bounds__(threads_of_rope)
    rope(const RopesArguments a, const RunContext run) {
  rotate_and_keep(a, run);
}

}  // namespace tacet::cuda
