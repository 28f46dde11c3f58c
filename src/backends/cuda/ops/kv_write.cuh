#pragma once

#include <cuda_bf16.h>

#include "backends/cuda/attention/kept.cuh"
#include "backends/cuda/ops/kv_write.hpp"

namespace tacet::cuda {

__device__ inline std::uint8_t whole(float x, int most) {
  if (!(x > 0)) return 0;
  return static_cast<std::uint8_t>(fminf(x, static_cast<float>(most)));
}

__device__ inline void set_half(std::uint16_t& to, float value) {
  to = __half_as_ushort(__float2half_rn(value));
}

/// A warp writes a block of 32, an element a lane, as the encoders of src/types do.
__device__ inline void write_block(DType type, float x, std::byte* to, std::uint32_t lane) {
  float low = x, high = x, peak = fabsf(x);
  std::uint32_t first = lane;
  bool is_number = !isnan(x);
  for (int distance = 16; distance > 0; distance /= 2) {
    low = fminf(low, __shfl_xor_sync(~0u, low, distance));
    high = fmaxf(high, __shfl_xor_sync(~0u, high, distance));
    const float other = __shfl_xor_sync(~0u, peak, distance);
    const std::uint32_t place = __shfl_xor_sync(~0u, first, distance);
    if (other > peak || (other == peak && place < first)) {
      peak = other;
      first = place;
    }
  }
  float signed_peak = __shfl_sync(~0u, x, first);
  if (peak == 0) signed_peak = 0;
  is_number = __all_sync(~0u, is_number);
  if (!is_number) low = high = signed_peak = nanf("");
  const bool has_min = type == DType::q4_1 || type == DType::q5_1;
  const bool has_fifths = type == DType::q5_0 || type == DType::q5_1;
  const int most = has_fifths ? 31 : 15;
  float scale = 0;
  if (type == DType::q8_0)
    scale = fabsf(signed_peak) / 127.0F;
  else if (has_min)
    scale = (high - low) / static_cast<float>(most);
  else
    scale = signed_peak / (has_fifths ? -16.0F : -8.0F);
  const float factor = scale != 0 ? 1 / scale : 0;
  if (type == DType::q8_0) {
    auto& block = *reinterpret_cast<BlockQ8_0*>(to);
    const float rounded = roundf(x * factor);
    block.values[lane] = isnan(rounded)
                             ? std::int8_t{0}
                             : static_cast<std::int8_t>(fminf(fmaxf(rounded, -128.0F), 127.0F));
    if (lane == 0) set_half(block.scale, scale);
    return;
  }
  const std::uint8_t code = has_min ? whole((x - low) * factor + 0.5F, most)
                                    : whole(x * factor + (has_fifths ? 16.5F : 8.5F), most);
  const std::uint32_t other = __shfl_down_sync(~0u, std::uint32_t{code}, 16);
  const std::uint32_t fifths = __ballot_sync(~0u, (code & 16) != 0);
  const auto both = static_cast<std::uint8_t>((code & 15) | (other & 15) << 4);
  const auto store = [&](auto& block) {
    if (lane < 16) block.values[lane] = both;
    if (lane == 0) set_half(block.scale, scale);
    if constexpr (requires { block.min; })
      if (lane == 0) set_half(block.min, low);
    if constexpr (requires { block.high; })
      if (lane < 4) block.high[lane] = static_cast<std::uint8_t>(fifths >> (8 * lane));
  };
  if (type == DType::q4_0) store(*reinterpret_cast<BlockQ4_0*>(to));
  if (type == DType::q4_1) store(*reinterpret_cast<BlockQ4_1*>(to));
  if (type == DType::q5_0) store(*reinterpret_cast<BlockQ5_0*>(to));
  if (type == DType::q5_1) store(*reinterpret_cast<BlockQ5_1*>(to));
}

/// `warps` warps write a head of a row of keys or values.
__device__ inline void write_head(const KvWriteArguments& a, bool of_values, const RunBlock& block,
                                  std::uint32_t row, std::uint32_t head, std::uint32_t warp,
                                  std::uint32_t warps) {
  const std::uint32_t lane = threadIdx.x % 32;
  const SequenceArgs& sequence = sequence_of(block, row);
  const KeptRows& state = of_values ? a.v : a.k;
  const LayerArgs& layer = block.layers[a.layer];
  std::byte* to =
      kept_row(block, sequence, of_values ? layer.v_offset : layer.k_offset,
               kept_row_bytes(state.type, state.size), head, sequence.past + row - sequence.begin);
  if (to == nullptr) return;
  const float* from = state.rows + (std::size_t{row} * a.heads + head) * state.size;
  const std::uint32_t first = 32 * warp + lane, step = 32 * warps;
  if (state.type == DType::f32) {
    for (std::uint32_t i = first; i < state.size; i += step)
      reinterpret_cast<float*>(to)[i] = from[i];
  } else if (state.type == DType::f16) {
    for (std::uint32_t i = first; i < state.size; i += step)
      set_half(reinterpret_cast<std::uint16_t*>(to)[i], from[i]);
  } else if (state.type == DType::bf16) {
    for (std::uint32_t i = first; i < state.size; i += step)
      reinterpret_cast<std::uint16_t*>(to)[i] = __bfloat16_as_ushort(__float2bfloat16_rn(from[i]));
  } else {
    const std::size_t bytes = kept_row_bytes(state.type, 32);
    for (std::uint32_t i = warp; i < state.size / 32; i += warps)
      write_block(state.type, from[32 * i + lane], to + i * bytes, lane);
  }
}

}  // namespace tacet::cuda
