#pragma once

#include "backends/cuda/device_code.cuh"
#include "types/blocks.hpp"
#include "types/dtype_id.hpp"

/// How keys and values are read and written, in the types that they may be kept in.
namespace tacet::cuda {

__device__ inline std::size_t kept_row_bytes(DType type, std::uint32_t size) {
  switch (type) {
    case DType::f32:
      return std::size_t{size} * 4;
    case DType::q8_0:
      return size / 32 * sizeof(BlockQ8_0);
    case DType::q4_0:
      return size / 32 * sizeof(BlockQ4_0);
    case DType::q4_1:
      return size / 32 * sizeof(BlockQ4_1);
    case DType::q5_0:
      return size / 32 * sizeof(BlockQ5_0);
    case DType::q5_1:
      return size / 32 * sizeof(BlockQ5_1);
    default:
      return std::size_t{size} * 2;
  }
}

/// The pages of a sequence.
struct Pages {
  std::byte* const* data;
  std::uint32_t count;
  std::uint32_t tokens;   ///< of a page
  std::uint32_t inverse;  ///< RunBlock::page_inverse

  __device__ Pages(const RunBlock& block, const SequenceArgs& sequence)
      : data(block.pages + sequence.first_page),
        count(sequence.page_count),
        tokens(block.page_tokens),
        inverse(block.page_inverse) {}

  /// That of a cell, which is its `in_page`-th; null if there is none.
  __device__ std::byte* of(std::uint32_t cell, std::uint32_t& in_page) const {
    // A quotient that is right or one too small.
    std::uint32_t page = __umulhi(cell, inverse);
    in_page = cell - page * tokens;
    if (in_page >= tokens) {
      ++page;
      in_page -= tokens;
    }
    return page < count ? data[page] : nullptr;
  }
};

/// What is the row of a head in the page of a cell; null if the page is.
__device__ inline std::byte* kept_row(const RunBlock& block, const SequenceArgs& sequence,
                                      std::uint64_t offset, std::size_t row_bytes,
                                      std::uint32_t head, std::uint32_t cell) {
  const Pages pages{block, sequence};
  std::uint32_t in_page = 0;
  std::byte* data = pages.of(cell, in_page);
  if (data == nullptr) return nullptr;
  return data + offset + (std::size_t{head} * pages.tokens + in_page) * row_bytes;
}

__device__ inline float half_at(const std::uint16_t& bits) {
  return __half2float(__ushort_as_half(bits));
}

/// Element `lane` of a block of 32.
__device__ inline float kept_element(DType type, const std::byte* block, std::uint32_t lane) {
  const auto nibble = [lane](const std::uint8_t* values) {
    return lane < 16 ? values[lane] & 15 : values[lane - 16] >> 4;
  };
  const auto fifth = [lane](const std::uint8_t* high) {
    return (high[lane / 8] >> (lane % 8) & 1) << 4;
  };
  switch (type) {
    case DType::q8_0: {
      const auto& b = *reinterpret_cast<const BlockQ8_0*>(block);
      return half_at(b.scale) * static_cast<float>(b.values[lane]);
    }
    case DType::q4_0: {
      const auto& b = *reinterpret_cast<const BlockQ4_0*>(block);
      return half_at(b.scale) * static_cast<float>(nibble(b.values) - 8);
    }
    case DType::q4_1: {
      const auto& b = *reinterpret_cast<const BlockQ4_1*>(block);
      return half_at(b.scale) * static_cast<float>(nibble(b.values)) + half_at(b.min);
    }
    case DType::q5_0: {
      const auto& b = *reinterpret_cast<const BlockQ5_0*>(block);
      return half_at(b.scale) * static_cast<float>((nibble(b.values) | fifth(b.high)) - 16);
    }
    default: {
      const auto& b = *reinterpret_cast<const BlockQ5_1*>(block);
      return half_at(b.scale) * static_cast<float>(nibble(b.values) | fifth(b.high)) +
             half_at(b.min);
    }
  }
}

/// A warp reads a row of `size` elements as floats.
__device__ inline void read_kept(DType type, const std::byte* row, std::uint32_t size, float* out,
                                 std::uint32_t lane) {
  if (type == DType::f32) {
    const auto* from = reinterpret_cast<const float*>(row);
    for (std::uint32_t i = lane; i < size; i += 32) out[i] = from[i];
    return;
  }
  if (type == DType::f16 || type == DType::bf16) {
    const bool is_half = type == DType::f16;
    const auto convert = [is_half](std::uint32_t bits) {
      const auto low = static_cast<std::uint16_t>(bits);
      return is_half ? half_at(low) : bf16_to_float(low);
    };
    if (size % 8 == 0) {
      const auto* from = reinterpret_cast<const uint4*>(row);
      for (std::uint32_t i = lane; i < size / 8; i += 32) {
        const uint4 eight = from[i];
        const std::uint32_t words[4] = {eight.x, eight.y, eight.z, eight.w};
        float4 values[2];
        values[0] = {convert(words[0]), convert(words[0] >> 16), convert(words[1]),
                     convert(words[1] >> 16)};
        values[1] = {convert(words[2]), convert(words[2] >> 16), convert(words[3]),
                     convert(words[3] >> 16)};
        reinterpret_cast<float4*>(out)[2 * i] = values[0];
        reinterpret_cast<float4*>(out)[2 * i + 1] = values[1];
      }
      return;
    }
    const auto* from = reinterpret_cast<const std::uint16_t*>(row);
    for (std::uint32_t i = lane; i < size; i += 32) out[i] = convert(from[i]);
    return;
  }
  const std::size_t bytes = kept_row_bytes(type, 32);
  for (std::uint32_t i = 0; i < size / 32; ++i)
    out[32 * i + lane] = kept_element(type, row + i * bytes, lane);
}

}  // namespace tacet::cuda
