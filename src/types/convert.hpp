#pragma once

#include <cstdint>
#include <span>

#include "types/dtype_id.hpp"

namespace tacet {

/// IEEE half to float, exact.
float f16_to_f32(std::uint16_t half) noexcept;
/// Float to IEEE half, round to nearest even; overflow gives infinity, NaN stays NaN.
std::uint16_t f32_to_f16(float value) noexcept;
/// bfloat16 to float, exact.
float bf16_to_f32(std::uint16_t value) noexcept;
/// Float to bfloat16, round to nearest even; NaN stays NaN (quiet).
std::uint16_t f32_to_bf16(float value) noexcept;

/// Reads `out.size()` elements of `type` (a multiple of its block size) from `data`, which need not
/// be aligned.
void dequantize(DType type, const void* data, std::span<float> out) noexcept;
/// Writes `in` as `type` (a multiple of its block size) to `data`, which need not be aligned. Q8_0
/// as ggml's reference: scale max|x| / 127, values rounded to nearest, halves away from zero.
void quantize(DType type, std::span<const float> in, void* data) noexcept;

}  // namespace tacet
