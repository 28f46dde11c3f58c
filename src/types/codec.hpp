#pragma once

#include <cstddef>
#include <span>

#include "types/blocks.hpp"

namespace tacet::codec {

// How one block of each quantized type is read and written; a type's two functions are in a file of
// its own. `decode` writes, and `encode` reads, Block::size floats. Any bytes may be decoded and
// any floats encoded: one that is not a number makes the block's scale, and so what is read, not a
// number.

void decode(const BlockQ8_0& block, float* out) noexcept;
void decode(const BlockQ4_0& block, float* out) noexcept;
void decode(const BlockQ4_1& block, float* out) noexcept;
void decode(const BlockQ5_0& block, float* out) noexcept;
void decode(const BlockQ5_1& block, float* out) noexcept;
void decode(const BlockQ2_K& block, float* out) noexcept;
void decode(const BlockQ3_K& block, float* out) noexcept;
void decode(const BlockQ4_K& block, float* out) noexcept;
void decode(const BlockQ5_K& block, float* out) noexcept;
void decode(const BlockQ6_K& block, float* out) noexcept;
void decode(const BlockIQ4_NL& block, float* out) noexcept;
void decode(const BlockIQ4_XS& block, float* out) noexcept;
void decode(const BlockMXFP4& block, float* out) noexcept;

// The forms that other programs write too, value for value: the scale from the largest magnitude or
// from the range, the values rounded to the nearest.
void encode(const float* in, BlockQ8_0& block) noexcept;
void encode(const float* in, BlockQ4_0& block) noexcept;
void encode(const float* in, BlockQ4_1& block) noexcept;
void encode(const float* in, BlockQ5_0& block) noexcept;
void encode(const float* in, BlockQ5_1& block) noexcept;

// Searches for the scales that make the weighted squared error small.
void encode(const float* in, BlockQ2_K& block) noexcept;
void encode(const float* in, BlockQ3_K& block) noexcept;
void encode(const float* in, BlockQ4_K& block) noexcept;
void encode(const float* in, BlockQ5_K& block) noexcept;
void encode(const float* in, BlockQ6_K& block) noexcept;
void encode(const float* in, BlockIQ4_NL& block) noexcept;
void encode(const float* in, BlockIQ4_XS& block) noexcept;
void encode(const float* in, BlockMXFP4& block) noexcept;

// Element types, any number of elements.
void read_f32(const std::byte* from, std::span<float> out) noexcept;
void read_f16(const std::byte* from, std::span<float> out) noexcept;
void read_bf16(const std::byte* from, std::span<float> out) noexcept;
void read_i32(const std::byte* from, std::span<float> out) noexcept;
void write_f32(std::span<const float> in, std::byte* to) noexcept;
void write_f16(std::span<const float> in, std::byte* to) noexcept;
void write_bf16(std::span<const float> in, std::byte* to) noexcept;
void write_i32(std::span<const float> in, std::byte* to) noexcept;

}  // namespace tacet::codec
