#include "backends/cuda/device_code.cuh"
#include "backends/cuda/ops/top_k.hpp"

namespace tacet::cuda {

namespace {

/// An element and its place: ordered as the elements are, of equal ones the first is the largest.
/// No two elements share one, and 0 belongs to none.
using Key = unsigned long long;

__device__ Key key_of(float x, std::uint32_t index) {
  x = isnan(x) ? -INFINITY : x + 0.0f;  // one zero
  const std::uint32_t bits = __float_as_uint(x);
  const std::uint32_t ordered = (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
  return Key{ordered} << 32 | ~index;
}
__device__ float value_of(Key key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  return __uint_as_float((ordered & 0x80000000) != 0 ? ordered & 0x7fffffff : ~ordered);
}
__device__ float place_of(Key key) {
  return static_cast<float>(~static_cast<std::uint32_t>(key));
}

/// A digit of a key.
struct Digit {
  std::uint32_t shift, mask;
};
constexpr int digit_count = 6;
__device__ Digit digit(int i) {
  constexpr std::uint32_t shifts[digit_count] = {53, 42, 32, 21, 10, 0};
  return {shifts[i], i % 3 == 2 ? 0x3ffu : 0x7ffu};
}

/// What the threads of a block share while they select.
struct Selection {
  std::uint32_t bins[2048];
  std::uint32_t warp_sums[32];
  std::uint32_t bin;     ///< that holds the key that is looked for
  std::uint32_t above;   ///< keys in the bins above it
  std::uint32_t within;  ///< keys in it
  std::uint32_t found;   ///< keys that were taken
};

/// Finds the bin in which the `wanted`-th largest key is. All threads call it; they are in step
/// behind it.
__device__ void find_bin(Selection& s, std::uint32_t wanted) {
  const std::uint32_t each = 2048 / blockDim.x, first = 2047 - threadIdx.x * each;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint32_t mine = 0;
  for (std::uint32_t i = 0; i < each; ++i) mine += s.bins[first - i];
  std::uint32_t sum = mine;
  for (int distance = 1; distance < 32; distance *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) s.warp_sums[warp] = sum;
  __syncthreads();
  for (std::uint32_t w = 0; w < warp; ++w) sum += s.warp_sums[w];
  std::uint32_t above = sum - mine;
  if (above < wanted && wanted <= sum)
    for (std::uint32_t i = 0; i < each; ++i) {
      const std::uint32_t within = s.bins[first - i];
      if (above + within >= wanted) {
        s.bin = first - i;
        s.above = above;
        s.within = within;
        break;
      }
      above += within;
    }
  __syncthreads();
}

/// A radix selection: the least of the `k` largest of `count` keys, or a number between it and the
/// next smaller one. At least k of them are not 0.
template <typename KeyAt>
__device__ Key kth_largest(const KeyAt& key_at, std::uint32_t count, std::uint32_t k,
                           Selection& s) {
  Key prefix = 0, known = 0;
  for (int i = 0; i < digit_count; ++i) {
    const auto [shift, mask] = digit(i);
    for (std::uint32_t bin = threadIdx.x; bin < 2048; bin += blockDim.x) s.bins[bin] = 0;
    __syncthreads();
    for (std::uint32_t j = threadIdx.x; j < count; j += blockDim.x) {
      const Key key = key_at(j);
      if ((key & known) == prefix)
        atomicAdd(&s.bins[static_cast<std::uint32_t>(key >> shift) & mask], 1);
    }
    __syncthreads();
    find_bin(s, k);
    prefix |= Key{s.bin} << shift;
    known |= Key{mask} << shift;
    k -= s.above;
    if (s.within == k) break;
  }
  return prefix;
}

/// Hands the `k` largest of `count` keys to `take(i, key)`, i from 0 on, in no order.
template <typename KeyAt, typename Take>
__device__ void select(const KeyAt& key_at, std::uint32_t count, std::uint32_t k, Selection& s,
                       const Take& take) {
  if (threadIdx.x == 0) s.found = 0;
  const Key least = kth_largest(key_at, count, k, s);
  for (std::uint32_t j = threadIdx.x; j < count; j += blockDim.x) {
    const Key key = key_at(j);
    if (key >= least) take(atomicAdd(&s.found, 1), key);
  }
}

}  // namespace

/// The best of each part, as keys; zeros if it has fewer.
extern "C" __global__ void __launch_bounds__(top_k_part_threads)
    top_k_of_parts(const TopKArguments a, const RunContext run) {
  __shared__ Selection selection;
  const std::uint32_t row = blockIdx.y, first = blockIdx.x * top_k_part;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const float* x = a.x + std::size_t{row} * a.width + first;
  const std::uint32_t count = min(top_k_part, a.width - first), k = min(a.k, count);
  std::uint64_t* best = a.parts + (std::size_t{row} * a.part_count + blockIdx.x) * a.k;
  select([&](std::uint32_t i) { return key_of(x[i], first + i); }, count, k, selection,
         [&](std::uint32_t i, Key key) { best[i] = key; });
  for (std::uint32_t i = k + threadIdx.x; i < a.k; i += blockDim.x) best[i] = 0;
}

/// The best of each row from those of its parts, in order.
extern "C" __global__ void __launch_bounds__(top_k_row_threads)
    top_k_of_rows(const TopKArguments a, const RunContext run) {
  __shared__ Selection selection;
  __shared__ Key best[most_top_k];
  const std::uint32_t row = blockIdx.x, count = a.part_count * a.k;
  if (stopped(run) || row >= live_rows(run, a.selected)) return;
  const std::uint64_t* keys = a.parts + std::size_t{row} * count;
  select([&](std::uint32_t i) { return Key{keys[i]}; }, count, a.k, selection,
         [&](std::uint32_t i, Key key) { best[i] = key; });
  __syncthreads();
  if (threadIdx.x >= a.k) return;
  const Key mine = best[threadIdx.x];
  std::uint32_t larger = 0;
  for (std::uint32_t i = 0; i < a.k; ++i) larger += best[i] > mine ? 1 : 0;
  float* out = a.out + std::size_t{row} * 2 * a.k;
  out[larger] = value_of(mine);
  out[a.k + larger] = place_of(mine);
}

}  // namespace tacet::cuda
