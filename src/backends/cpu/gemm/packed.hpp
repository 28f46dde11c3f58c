#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/op.hpp"

namespace tacet::cpu {

// How matrices of weights lie for products (Layout::groups): in groups of 16 rows, the last one
// filled up with rows of zeros. One vector holds the same element of several rows, so a product is
// summed up in order of the elements, whatever the instruction set and the number of activations.
//
// Types without blocks: element k of all 16 rows, then element k + 1. BF16: elements k and k + 1 of
// a row make a word, which is what one step of a product of pairs takes; the last one of an odd
// number is beside a zero.
//
// Types with blocks: first the scales of the whole group, then its values. The values of 32
// elements of a row are a unit. Value i of a unit is one of the four bytes i / 4 of its row: such a
// vector of 16 x 4 bytes is what one step of a product of bytes takes. Values of fewer bits share
// vectors, see PackedUnit.

inline constexpr std::uint32_t group_rows = 16;
inline constexpr std::size_t unit_elements = 32;
inline constexpr std::size_t vector_bytes = group_rows * 4;

/// What a block's scales are in the packed form, for each of the 16 rows.
enum class PackedScales {
  none,      ///< elements without blocks
  half,      ///< a half
  bfloat,    ///< a bfloat16
  half_min,  ///< a half, and another one that is added to each value (Q4_1, Q5_1)
  k_min,     ///< two halves; for each unit a byte for the scale, one for the min
  k_min_16,  ///< two halves; for each 16 values a byte: scale low, min high
  k_16,      ///< a half; for each 16 values a signed byte
  k_32,      ///< a half; for each unit a signed byte
};

/// Bytes of a group's scales of a block.
constexpr std::size_t scale_bytes(PackedScales scales) {
  switch (scales) {
    case PackedScales::none:
      return 0;
    case PackedScales::half:
    case PackedScales::bfloat:
      return 2 * group_rows;
    case PackedScales::half_min:
      return 4 * group_rows;
    case PackedScales::k_min:
    case PackedScales::k_min_16:
      return 20 * group_rows;
    case PackedScales::k_16:
      return 18 * group_rows;
    case PackedScales::k_32:
      return 10 * group_rows;
  }
  return 0;
}

/// A type's packed form.
struct PackedType {
  DType type;
  PackedScales scales;
  std::uint32_t bits;       ///< of a value
  std::int32_t zero;        ///< the value that stands for 0
  const std::int8_t* book;  ///< the numbers that values stand for, if it is not value - zero
  std::size_t block;        ///< elements of a row in a block; 1: no blocks

  constexpr bool has_blocks() const { return block > 1; }
  /// Elements of a row that lie side by side, without blocks.
  constexpr std::size_t together() const { return type == DType::bf16 ? 2 : 1; }
  /// Bytes of the values of 32 elements of a group, or of one element without blocks.
  constexpr std::size_t unit_bytes() const {
    return has_blocks() ? vector_bytes * bits : group_rows * bits / 8;
  }
  /// Where the values of a group of rows of `k` elements start.
  constexpr std::size_t values_at(std::size_t k) const {
    return has_blocks() ? (k / block * scale_bytes(scales) + 63) / 64 * 64 : 0;
  }
  /// Bytes of the values of a group's first `n` elements: whole blocks or all of them.
  constexpr std::size_t values_bytes(std::size_t n) const {
    const std::size_t elements = (n + together() - 1) / together() * together();
    return (has_blocks() ? n / unit_elements : elements) * unit_bytes();
  }
  constexpr std::size_t group_bytes(std::size_t k) const {
    return (values_at(k) + values_bytes(k) + 63) / 64 * 64;
  }
};

/// The packed form of `type`, or null if there is none.
const PackedType* packed_type(DType type) noexcept;

/// Bytes of a packed matrix of a type that has a packed form.
std::size_t packed_bytes(const ValueType& matrix) noexcept;

/// Packs the group that starts at row `16 group` of a matrix whose rows lie as in a file. Writes
/// every byte of the group.
void pack_group(const ValueType& matrix, const std::byte* rows, std::size_t group,
                std::byte* to) noexcept;
/// The same for the elements [begin, end) of its rows alone; `begin` is a multiple of 256, and so
/// is `end` if there are more.
void pack_part(const ValueType& matrix, const std::byte* rows, std::size_t group, std::size_t begin,
               std::size_t end, std::byte* to) noexcept;

/// Reads the elements [begin, end) of a row of a packed matrix as floats, the ones that
/// `dequantize` gives. `begin` and `end` are multiples of the block.
void unpack_row(const ValueType& matrix, const std::byte* packed, std::size_t row,
                std::size_t begin, std::size_t end, float* out) noexcept;

}  // namespace tacet::cpu
