#pragma once

#include "backends/cpu/gemm/packed.hpp"
#include "backends/cpu/simd/math.hpp"
#include "types/blocks.hpp"

namespace tacet::cpu {

// How vectors of a packed matrix (packed.hpp) are read in products, a struct for each type. `lane`
// is the first row of the group that the vector holds.

/// Types without blocks: `load` gives an element of W::lanes rows.
struct F32Format {
  static constexpr DType type = DType::f32;
  static constexpr char name[] = "f32";
  static constexpr bool has_blocks = false, has_pairs = false;
  static constexpr std::size_t step = group_rows * 4;
  template <typename W>
  [[gnu::always_inline]] static typename W::F load(const std::byte* p, std::uint32_t lane) {
    return W::load(p + lane * 4);
  }
};
struct F16Format {
  static constexpr DType type = DType::f16;
  static constexpr char name[] = "f16";
  static constexpr bool has_blocks = false, has_pairs = false;
  static constexpr std::size_t step = group_rows * 2;
  template <typename W>
  [[gnu::always_inline]] static typename W::F load(const std::byte* p, std::uint32_t lane) {
    return W::load_f16(p + lane * 2);
  }
};
/// Words of two elements of a row; W has what takes them apart or multiplies them as they are.
struct Bf16Format {
  static constexpr DType type = DType::bf16;
  static constexpr char name[] = "bf16";
  static constexpr bool has_blocks = false, has_pairs = true;
  static constexpr std::size_t step = group_rows * 4;
};

/// What the sums of a unit (or of its halves) are multiplied with, and what is added for each unit
/// of activation.
template <typename W>
struct UnitScales {
  typename W::F scale[2];
  typename W::F min[2];
};

/// The scales of unit `unit` of a block; `p` is the block's.
template <typename W, PackedScales Scales>
[[gnu::always_inline]] inline UnitScales<W> unit_scales(const std::byte* p, std::size_t unit,
                                                        std::uint32_t lane) {
  UnitScales<W> s{};
  const std::byte* bytes = p + lane;
  if constexpr (Scales == PackedScales::bfloat)
    s.scale[0] = W::load_bf16(p + 2 * lane);
  else
    s.scale[0] = W::load_f16(p + 2 * lane);
  if constexpr (Scales == PackedScales::half_min) s.min[0] = W::load_f16(p + 32 + 2 * lane);
  if constexpr (Scales == PackedScales::k_32)
    s.scale[0] = W::mul(s.scale[0], W::load_s8(bytes + 32 + unit * 16));
  if constexpr (Scales == PackedScales::k_16) {
    s.scale[1] = W::mul(s.scale[0], W::load_s8(bytes + 32 + unit * 32 + 16));
    s.scale[0] = W::mul(s.scale[0], W::load_s8(bytes + 32 + unit * 32));
  }
  if constexpr (Scales == PackedScales::k_min || Scales == PackedScales::k_min_16) {
    const std::byte* b = bytes + 64 + unit * 32;
    const typename W::F min = W::mul(W::load_f16(p + 32 + 2 * lane), W::set(-1));
    if constexpr (Scales == PackedScales::k_min) {
      s.scale[0] = W::mul(s.scale[0], W::template load_u8<0, 255>(b));
      s.min[0] = W::mul(min, W::template load_u8<0, 255>(b + 16));
    } else {
      s.scale[1] = W::mul(s.scale[0], W::template load_u8<0, 15>(b + 16));
      s.scale[0] = W::mul(s.scale[0], W::template load_u8<0, 15>(b));
      s.min[1] = W::mul(min, W::template load_u8<4, 15>(b + 16));
      s.min[0] = W::mul(min, W::template load_u8<4, 15>(b));
    }
  }
  return s;
}

/// The `Group`-th four bytes of each row's unit: the bits that vectors at `p` hold, `Bits` for each
/// value, moved to `Shift`.
template <typename W, int Bits, int Group, int Shift>
[[gnu::always_inline]] inline typename W::B plane(const std::byte* p) {
  constexpr int at = Group / Bits * Bits;
  constexpr unsigned mask = ((1u << Bits) - 1) << Shift;
  return W::template bits<at - Shift, mask>(W::load_b(p + Group % Bits * vector_bytes));
}

/// The numbers that values stand for, plus 128, if they are not the numbers themselves.
struct Book {
  bool used;
  std::uint8_t bytes[16];
};
consteval Book book_of(const std::int8_t (&values)[16]) {
  Book book{.used = true, .bytes = {}};
  for (int i = 0; i < 16; ++i) book.bytes[i] = static_cast<std::uint8_t>(values[i] + 128);
  return book;
}
inline constexpr Book no_book{}, iq4_book = book_of(iq4_values), mxfp4_book = book_of(mxfp4_values);

/// Types with blocks. A byte, which is a value or the book's entry for it, stands for itself less
/// `Zero`.
template <DType Type, PackedScales Scales, int Bits, int Zero, const Book& book = no_book>
struct BlockFormat {
  static constexpr DType type = Type;
  static constexpr bool has_blocks = true;
  static constexpr bool has_min = Scales == PackedScales::half_min ||
                                  Scales == PackedScales::k_min || Scales == PackedScales::k_min_16;
  /// Whether 16 values have a scale, not 32.
  static constexpr bool halves = Scales == PackedScales::k_16 || Scales == PackedScales::k_min_16;
  static constexpr std::size_t units = Scales == PackedScales::half ||
                                               Scales == PackedScales::half_min ||
                                               Scales == PackedScales::bfloat
                                           ? 1
                                           : 8;
  static constexpr std::size_t scale_bytes = cpu::scale_bytes(Scales);
  static constexpr std::size_t unit_bytes = vector_bytes * Bits;
  static constexpr bool has_book = book.used;
  /// Bytes may be up to 255.
  static constexpr bool any_byte = Bits == 8 || has_book;
  /// The byte that stands for 0.
  static constexpr int zero = Zero;

  template <typename W>
  [[gnu::always_inline]] static UnitScales<W> scales(const std::byte* p, std::size_t unit,
                                                     std::uint32_t lane) {
    return unit_scales<W, Scales>(p, unit, lane);
  }

  /// The bytes of values 4 `Group` to 4 `Group` + 3 of each row.
  template <typename W, int Group>
  [[gnu::always_inline]] static typename W::B bytes(const std::byte* unit, std::uint32_t lane) {
    const std::byte* p = unit + lane * 4;
    if constexpr (Bits == 8) {
      return W::load_b(p + Group * vector_bytes);
    } else if constexpr (Bits == 2) {
      return plane<W, 2, Group, 0>(p);
    } else if constexpr (Bits == 3) {
      return W::bit_or(plane<W, 2, Group, 0>(p), plane<W, 1, Group, 2>(p + 2 * vector_bytes));
    } else {
      const typename W::B low = plane<W, 4, Group, 0>(p);
      if constexpr (has_book) return W::look_up(book.bytes, low);
      if constexpr (Bits == 4) return low;
      if constexpr (Bits == 5) return W::bit_or(low, plane<W, 1, Group, 4>(p + 4 * vector_bytes));
      if constexpr (Bits == 6) return W::bit_or(low, plane<W, 2, Group, 4>(p + 4 * vector_bytes));
    }
  }
};

// clang-format off
struct Q8_0Format : BlockFormat<DType::q8_0, PackedScales::half, 8, 128> { static constexpr char name[] = "q8_0"; };
struct Q4_0Format : BlockFormat<DType::q4_0, PackedScales::half, 4, 8> { static constexpr char name[] = "q4_0"; };
struct Q4_1Format : BlockFormat<DType::q4_1, PackedScales::half_min, 4, 0> { static constexpr char name[] = "q4_1"; };
struct Q5_0Format : BlockFormat<DType::q5_0, PackedScales::half, 5, 16> { static constexpr char name[] = "q5_0"; };
struct Q5_1Format : BlockFormat<DType::q5_1, PackedScales::half_min, 5, 0> { static constexpr char name[] = "q5_1"; };
struct Q2_KFormat : BlockFormat<DType::q2_K, PackedScales::k_min_16, 2, 0> { static constexpr char name[] = "q2_K"; };
struct Q3_KFormat : BlockFormat<DType::q3_K, PackedScales::k_16, 3, 4> { static constexpr char name[] = "q3_K"; };
struct Q4_KFormat : BlockFormat<DType::q4_K, PackedScales::k_min, 4, 0> { static constexpr char name[] = "q4_K"; };
struct Q5_KFormat : BlockFormat<DType::q5_K, PackedScales::k_min, 5, 0> { static constexpr char name[] = "q5_K"; };
struct Q6_KFormat : BlockFormat<DType::q6_K, PackedScales::k_16, 6, 32> { static constexpr char name[] = "q6_K"; };
struct Iq4_NlFormat : BlockFormat<DType::iq4_nl, PackedScales::half, 4, 128, iq4_book> { static constexpr char name[] = "iq4_nl"; };
struct Iq4_XsFormat : BlockFormat<DType::iq4_xs, PackedScales::k_32, 4, 128, iq4_book> { static constexpr char name[] = "iq4_xs"; };
struct Mxfp4Format : BlockFormat<DType::mxfp4, PackedScales::bfloat, 4, 128, mxfp4_book> { static constexpr char name[] = "mxfp4"; };
// clang-format on

template <typename... Formats>
struct FormatList {};
using AllFormats = FormatList<F32Format, F16Format, Bf16Format, Q8_0Format, Q4_0Format, Q4_1Format,
                              Q5_0Format, Q5_1Format, Q2_KFormat, Q3_KFormat, Q4_KFormat,
                              Q5_KFormat, Q6_KFormat, Iq4_NlFormat, Iq4_XsFormat, Mxfp4Format>;

}  // namespace tacet::cpu
