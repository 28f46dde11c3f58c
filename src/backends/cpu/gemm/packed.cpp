#include "backends/cpu/gemm/packed.hpp"

#include <algorithm>
#include <cstring>

#include "types/blocks.hpp"
#include "types/convert.hpp"
#include "types/k_scales.hpp"

namespace tacet::cpu {

namespace {

// clang-format off
constexpr PackedType types[] = {
    {DType::f32,    PackedScales::none,     32,   0, nullptr,        1},
    {DType::f16,    PackedScales::none,     16,   0, nullptr,        1},
    {DType::bf16,   PackedScales::none,     16,   0, nullptr,        1},
    {DType::q8_0,   PackedScales::half,      8, 128, nullptr,       32},
    {DType::q4_0,   PackedScales::half,      4,   8, nullptr,       32},
    {DType::q4_1,   PackedScales::half_min,  4,   0, nullptr,       32},
    {DType::q5_0,   PackedScales::half,      5,  16, nullptr,       32},
    {DType::q5_1,   PackedScales::half_min,  5,   0, nullptr,       32},
    {DType::q2_K,   PackedScales::k_min_16,  2,   0, nullptr,      256},
    {DType::q3_K,   PackedScales::k_16,      3,   4, nullptr,      256},
    {DType::q4_K,   PackedScales::k_min,     4,   0, nullptr,      256},
    {DType::q5_K,   PackedScales::k_min,     5,   0, nullptr,      256},
    {DType::q6_K,   PackedScales::k_16,      6,  32, nullptr,      256},
    {DType::iq4_nl, PackedScales::half,      4,   0, iq4_values,    32},
    {DType::iq4_xs, PackedScales::k_32,      4,   0, iq4_values,   256},
    {DType::mxfp4,  PackedScales::bfloat,    4,   0, mxfp4_values,  32},
};
// clang-format on

// Where the bits of 32 values are: nibbles of four vectors, pairs of two, single bits of one.
// Vector v holds the four bytes of value group v (and v + 4 as high nibbles; in general every
// vectors-th group).

/// The words of 32 values, four each.
using Words = std::uint32_t[8];

template <unsigned Shift, unsigned Bits>
void put_bits(const Words& q, std::byte* to) {
  constexpr unsigned vectors = Bits;  // of 64 bytes; each byte holds 8 / Bits values
  constexpr std::uint32_t mask = ((1U << Bits) - 1) * 0x01010101U;
  for (unsigned v = 0; v < vectors; ++v) {
    std::uint32_t word = 0;
    for (unsigned part = 0; part * Bits < 8; ++part)
      word |= (q[v + part * vectors] >> Shift & mask) << (part * Bits);
    std::memcpy(to + v * vector_bytes, &word, sizeof word);
  }
}

unsigned get_bits(const std::byte* from, unsigned value, unsigned bits) {
  const unsigned group = value / 4;
  const auto byte = std::to_integer<unsigned>(from[group % bits * vector_bytes + value % 4]);
  return byte >> (group / bits * bits) & ((1U << bits) - 1);
}

/// Stores 32 values of a row; `to` is the row's place in the unit.
template <unsigned Bits>
void put_unit(const Words& q, std::byte* to) {
  constexpr unsigned twos = Bits & 4U, ones = twos + (Bits & 2U);
  if constexpr ((Bits & 8U) != 0) put_bits<0, 8>(q, to);
  if constexpr ((Bits & 4U) != 0) put_bits<0, 4>(q, to);
  if constexpr ((Bits & 2U) != 0) put_bits<twos, 2>(q, to + twos * vector_bytes);
  if constexpr ((Bits & 1U) != 0) put_bits<ones, 1>(q, to + ones * vector_bytes);
}

unsigned get_value(const std::byte* from, unsigned value, unsigned bits) {
  unsigned q = 0, shift = 0;
  for (const unsigned plane : {8U, 4U, 2U, 1U}) {
    if ((bits & plane) == 0) continue;
    q |= get_bits(from, value, plane) << shift;
    shift += plane;
    from += plane * vector_bytes;
  }
  return q;
}

void put_half(std::uint16_t half, std::byte* to) {
  std::memcpy(to, &half, sizeof half);
}
float get_half(const std::byte* from) {
  std::uint16_t half;
  std::memcpy(&half, from, sizeof half);
  return f16_to_f32(half);
}

void nibbles(const std::uint8_t* values, std::uint8_t* q) {
  for (unsigned i = 0; i < 16; ++i) {
    q[i] = values[i] & 15U;
    q[i + 16] = values[i] >> 4U;
  }
}
void fifth_bits(const std::uint8_t* high, std::uint8_t* q) {
  for (unsigned i = 0; i < 32; ++i)
    q[i] = static_cast<std::uint8_t>(q[i] | (high[i / 8] >> (i % 8) & 1U) << 4U);
}

// What blocks hold: the 32 values of a unit, and the row's part of the scales, `lane` being the
// row's place in the group.

void values_of(const BlockQ8_0& b, unsigned, std::uint8_t* q) {
  for (unsigned i = 0; i < 32; ++i) q[i] = static_cast<std::uint8_t>(b.values[i] + 128);
}
void values_of(const BlockQ4_0& b, unsigned, std::uint8_t* q) {
  nibbles(b.values, q);
}
void values_of(const BlockQ4_1& b, unsigned, std::uint8_t* q) {
  nibbles(b.values, q);
}
void values_of(const BlockQ5_0& b, unsigned, std::uint8_t* q) {
  nibbles(b.values, q);
  fifth_bits(b.high, q);
}
void values_of(const BlockQ5_1& b, unsigned, std::uint8_t* q) {
  nibbles(b.values, q);
  fifth_bits(b.high, q);
}
void values_of(const BlockIQ4_NL& b, unsigned, std::uint8_t* q) {
  nibbles(b.values, q);
}
void values_of(const BlockMXFP4& b, unsigned, std::uint8_t* q) {
  nibbles(b.values, q);
}
void values_of(const BlockIQ4_XS& b, unsigned unit, std::uint8_t* q) {
  nibbles(b.values + 16 * unit, q);
}
void values_of(const BlockQ2_K& b, unsigned unit, std::uint8_t* q) {
  for (unsigned i = 0; i < 32; ++i) q[i] = b.values[32 * (unit / 4) + i] >> (2 * (unit % 4)) & 3U;
}
void values_of(const BlockQ3_K& b, unsigned unit, std::uint8_t* q) {
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned low = b.values[32 * (unit / 4) + i] >> (2 * (unit % 4)) & 3U;
    q[i] = static_cast<std::uint8_t>(low | (b.high[i] >> unit & 1U) << 2U);
  }
}
void values_of(const BlockQ4_K& b, unsigned unit, std::uint8_t* q) {
  for (unsigned i = 0; i < 32; ++i) q[i] = b.values[32 * (unit / 2) + i] >> (4 * (unit % 2)) & 15U;
}
void values_of(const BlockQ5_K& b, unsigned unit, std::uint8_t* q) {
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned low = b.values[32 * (unit / 2) + i] >> (4 * (unit % 2)) & 15U;
    q[i] = static_cast<std::uint8_t>(low | (b.high[i] >> unit & 1U) << 4U);
  }
}
void values_of(const BlockQ6_K& b, unsigned unit, std::uint8_t* q) {
  const unsigned half = unit / 4, s = unit % 4;
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned low = b.values[64 * half + 32 * (s % 2) + i] >> (4 * (s / 2)) & 15U;
    q[i] = static_cast<std::uint8_t>(low | (b.high[32 * half + i] >> (2 * s) & 3U) << 4U);
  }
}

template <typename Block>
void put_scale(const Block& b, unsigned lane, std::byte* to) {
  put_half(b.scale, to + 2 * lane);
}
template <typename Block>
void put_scale_and_min(const Block& b, unsigned lane, std::byte* to) {
  put_half(b.scale, to + 2 * lane);
  put_half(b.min, to + 32 + 2 * lane);
}

void scales_of(const BlockQ8_0& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
}
void scales_of(const BlockQ4_0& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
}
void scales_of(const BlockQ5_0& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
}
void scales_of(const BlockIQ4_NL& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
}
void scales_of(const BlockQ4_1& b, unsigned lane, std::byte* to) {
  put_scale_and_min(b, lane, to);
}
void scales_of(const BlockQ5_1& b, unsigned lane, std::byte* to) {
  put_scale_and_min(b, lane, to);
}
void scales_of(const BlockMXFP4& b, unsigned lane, std::byte* to) {
  float scale;
  BlockMXFP4 one{b.exponent, {}};
  one.values[0] = 1;  // stands for 1
  float out[32];
  dequantize(DType::mxfp4, &one, out);
  scale = out[0];
  put_half(f32_to_bf16(scale), to + 2 * lane);
}
void scales_of(const BlockQ2_K& b, unsigned lane, std::byte* to) {
  put_scale_and_min(b, lane, to);
  for (unsigned i = 0; i < 16; ++i)
    to[64 + i * group_rows + lane] = static_cast<std::byte>(b.scales[i]);
}
void scales_of(const BlockQ3_K& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned low = b.scales[i % 8] >> (4 * (i / 8)) & 15U;
    const unsigned high = b.scales[8 + i % 4] >> (2 * (i / 4)) & 3U;
    to[32 + i * group_rows + lane] = static_cast<std::byte>((low | high << 4U) - 32U);
  }
}
template <typename Block>
void put_k_scales(const Block& b, unsigned lane, std::byte* to) {
  put_scale_and_min(b, lane, to);
  const codec::KScales k = codec::unpack_k_scales(b.scales);
  for (unsigned unit = 0; unit < 8; ++unit) {
    to[64 + 2 * unit * group_rows + lane] = static_cast<std::byte>(k.scale[unit]);
    to[64 + (2 * unit + 1) * group_rows + lane] = static_cast<std::byte>(k.min[unit]);
  }
}
void scales_of(const BlockQ4_K& b, unsigned lane, std::byte* to) {
  put_k_scales(b, lane, to);
}
void scales_of(const BlockQ5_K& b, unsigned lane, std::byte* to) {
  put_k_scales(b, lane, to);
}
void scales_of(const BlockQ6_K& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
  for (unsigned i = 0; i < 16; ++i)
    to[32 + i * group_rows + lane] = static_cast<std::byte>(b.scales[i]);
}
void scales_of(const BlockIQ4_XS& b, unsigned lane, std::byte* to) {
  put_scale(b, lane, to);
  for (unsigned unit = 0; unit < 8; ++unit) {
    const unsigned low = b.scales_low[unit / 2] >> (4 * (unit % 2)) & 15U;
    const unsigned high = b.scales_high >> (2 * unit) & 3U;
    to[32 + unit * group_rows + lane] = static_cast<std::byte>((low | high << 4U) - 32U);
  }
}

constexpr const PackedType& packed_form(DType type) {
  return *std::ranges::find(types, type, &PackedType::type);
}

/// Some elements of the first `count` rows of a group.
struct PackedPart {
  const std::byte* rows;
  std::size_t row_bytes;
  unsigned count;
  std::size_t k, begin, end;
  std::byte* group;
};

template <typename Block, DType Type>
void pack_blocks(const PackedPart& part) {
  constexpr PackedType type = packed_form(Type);
  constexpr std::size_t units = Block::size / unit_elements;
  for (std::size_t i = part.begin / Block::size; i < part.end / Block::size; ++i)
    for (unsigned lane = 0; lane < part.count; ++lane) {
      Block block;
      std::memcpy(&block, part.rows + lane * part.row_bytes + i * sizeof block, sizeof block);
      scales_of(block, lane, part.group + i * scale_bytes(type.scales));
      std::byte* values = part.group + type.values_at(part.k) + i * units * type.unit_bytes();
      for (unsigned unit = 0; unit < units; ++unit) {
        std::uint8_t q[unit_elements];
        Words words;
        values_of(block, unit, q);
        std::memcpy(words, q, sizeof q);
        put_unit<type.bits>(words, values + unit * type.unit_bytes() + lane * 4);
      }
    }
}

/// Where element `i` of a row without blocks is, in elements.
constexpr std::size_t element_at(std::size_t together, std::size_t i, unsigned lane) {
  return (i / together * group_rows + lane) * together + i % together;
}

template <DType Type>
void pack_elements(const PackedPart& part) {
  constexpr PackedType type = packed_form(Type);
  constexpr std::size_t bytes = type.bits / 8, together = type.together(), word = bytes * together;
  constexpr std::size_t at_once = 32;  // whose vectors stay in the nearest cache
  const std::size_t words = part.end / together;
  for (std::size_t begin = part.begin / together; begin < words; begin += at_once)
    for (unsigned lane = 0; lane < part.count; ++lane) {
      const std::byte* from = part.rows + lane * part.row_bytes;
      std::byte* to = part.group + lane * word;
      const std::size_t end = std::min(begin + at_once, words);
      for (std::size_t i = begin; i < end; ++i)
        std::memcpy(to + i * group_rows * word, from + i * word, word);
    }
  for (std::size_t i = words * together; i < part.end; ++i)
    for (unsigned lane = 0; lane < part.count; ++lane)
      std::memcpy(part.group + element_at(together, i, lane) * bytes,
                  part.rows + lane * part.row_bytes + i * bytes, bytes);
}

void pack(DType type, const PackedPart& part) {
  switch (type) {
    case DType::f32:
      return pack_elements<DType::f32>(part);
    case DType::f16:
      return pack_elements<DType::f16>(part);
    case DType::bf16:
      return pack_elements<DType::bf16>(part);
    case DType::q4_0:
      return pack_blocks<BlockQ4_0, DType::q4_0>(part);
    case DType::q4_1:
      return pack_blocks<BlockQ4_1, DType::q4_1>(part);
    case DType::q5_0:
      return pack_blocks<BlockQ5_0, DType::q5_0>(part);
    case DType::q5_1:
      return pack_blocks<BlockQ5_1, DType::q5_1>(part);
    case DType::q8_0:
      return pack_blocks<BlockQ8_0, DType::q8_0>(part);
    case DType::q2_K:
      return pack_blocks<BlockQ2_K, DType::q2_K>(part);
    case DType::q3_K:
      return pack_blocks<BlockQ3_K, DType::q3_K>(part);
    case DType::q4_K:
      return pack_blocks<BlockQ4_K, DType::q4_K>(part);
    case DType::q5_K:
      return pack_blocks<BlockQ5_K, DType::q5_K>(part);
    case DType::q6_K:
      return pack_blocks<BlockQ6_K, DType::q6_K>(part);
    case DType::iq4_nl:
      return pack_blocks<BlockIQ4_NL, DType::iq4_nl>(part);
    case DType::iq4_xs:
      return pack_blocks<BlockIQ4_XS, DType::iq4_xs>(part);
    case DType::mxfp4:
      return pack_blocks<BlockMXFP4, DType::mxfp4>(part);
    case DType::i32:
      return;
  }
}

/// What 16 elements of a row are multiplied with, and what is added then.
struct Step {
  float scale;
  float offset;
};

Step step_of(const PackedType& type, const std::byte* scales, std::size_t at, unsigned lane) {
  const float scale = get_half(scales + 2 * lane);
  const auto byte = [&](std::size_t begin, std::size_t i) {
    return std::to_integer<std::uint8_t>(scales[begin + i * group_rows + lane]);
  };
  const auto whole = [](std::uint8_t b) { return static_cast<float>(static_cast<std::int8_t>(b)); };
  switch (type.scales) {
    case PackedScales::none:
      break;
    case PackedScales::half:
      return {scale, 0};
    case PackedScales::bfloat: {
      std::uint16_t bits;
      std::memcpy(&bits, scales + 2 * lane, sizeof bits);
      return {bf16_to_f32(bits), 0};
    }
    case PackedScales::half_min:
      return {scale, get_half(scales + 32 + 2 * lane)};
    case PackedScales::k_min: {
      const std::size_t unit = at / unit_elements;
      return {scale * static_cast<float>(byte(64, 2 * unit)),
              -get_half(scales + 32 + 2 * lane) * static_cast<float>(byte(64, 2 * unit + 1))};
    }
    case PackedScales::k_min_16: {
      const std::uint8_t both = byte(64, at / 16);
      return {scale * static_cast<float>(both & 15U),
              -get_half(scales + 32 + 2 * lane) * static_cast<float>(both >> 4U)};
    }
    case PackedScales::k_16:
      return {scale * whole(byte(32, at / 16)), 0};
    case PackedScales::k_32:
      return {scale * whole(byte(32, at / unit_elements)), 0};
  }
  return {1, 0};
}

void unpack_elements(const PackedType& type, const std::byte* group, unsigned lane,
                     std::size_t begin, std::size_t end, float* out) {
  for (std::size_t i = begin; i < end; ++i)
    dequantize(type.type, group + element_at(type.together(), i, lane) * type.bits / 8,
               {out + (i - begin), 1});
}

}  // namespace

const PackedType* packed_type(DType type) noexcept {
  const auto* found = std::ranges::find(types, type, &PackedType::type);
  return found == std::end(types) ? nullptr : found;
}

std::size_t packed_bytes(const ValueType& matrix) noexcept {
  const auto rows = static_cast<std::size_t>(matrix.shape.rows());
  return (rows + group_rows - 1) / group_rows *
         packed_type(matrix.dtype)->group_bytes(static_cast<std::size_t>(matrix.shape.width()));
}

void pack_group(const ValueType& matrix, const std::byte* rows, std::size_t group,
                std::byte* to) noexcept {
  pack_part(matrix, rows, group, 0, static_cast<std::size_t>(matrix.shape.width()), to);
}

void pack_part(const ValueType& matrix, const std::byte* rows, std::size_t group, std::size_t begin,
               std::size_t end, std::byte* to) noexcept {
  const PackedType& type = *packed_type(matrix.dtype);
  const auto k = static_cast<std::size_t>(matrix.shape.width());
  const std::size_t first = group * group_rows, bytes = row_bytes(matrix.dtype, k);
  const auto count = static_cast<unsigned>(
      std::min<std::size_t>(group_rows, static_cast<std::size_t>(matrix.shape.rows()) - first));
  const auto clear = [to](std::size_t from, std::size_t until) {
    std::memset(to + from, 0, until - from);
  };
  // The bytes of rows that there are not, and those between and behind all.
  const std::size_t scales = scale_bytes(type.scales), values = type.values_at(k);
  const std::size_t values_from = values + type.values_bytes(begin);
  const std::size_t values_until = values + type.values_bytes(end);
  if (count < group_rows) {
    clear(begin / type.block * scales, end / type.block * scales);
    clear(values_from, values_until);
  } else if (end % type.together() != 0) {
    clear(values + type.values_bytes(end - 1), values_until);
  }
  if (begin == 0) clear(k / type.block * scales, values);
  if (end == k) clear(values_until, type.group_bytes(k));
  pack(matrix.dtype, {rows + first * bytes, bytes, count, k, begin, end, to});
}

void unpack_row(const ValueType& matrix, const std::byte* packed, std::size_t row,
                std::size_t begin, std::size_t end, float* out) noexcept {
  const PackedType& type = *packed_type(matrix.dtype);
  const auto k = static_cast<std::size_t>(matrix.shape.width());
  const std::byte* group = packed + row / group_rows * type.group_bytes(k);
  const auto lane = static_cast<unsigned>(row % group_rows);
  if (!type.has_blocks()) return unpack_elements(type, group, lane, begin, end, out);
  for (std::size_t at = begin; at < end; at += 16) {
    const std::byte* scales = group + at / type.block * scale_bytes(type.scales);
    const std::byte* unit =
        group + type.values_at(k) + at / unit_elements * type.unit_bytes() + lane * 4;
    const Step step = step_of(type, scales, at % type.block, lane);
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned q = get_value(unit, static_cast<unsigned>(at % unit_elements) + i, type.bits);
      const int number = type.book != nullptr ? type.book[q] : static_cast<int>(q) - type.zero;
      out[at - begin + i] = step.scale * static_cast<float>(number) + step.offset;
    }
  }
}

}  // namespace tacet::cpu
