#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backends/cuda/on_both.hpp"
#include "types/blocks.hpp"
#include "types/convert.hpp"
#include "types/dtype_id.hpp"

/// How CUDA keeps a matrix of weights: in tiles of 16 rows, each as wide as a block of its type but
/// at least 64 columns, one group of rows after the other. What a lane needs for a product of
/// tensor cores (the A operand of PTX's mma.m16n8k16) lies together, and a warp's loads
/// are consecutive. Rows and columns that a matrix lacks are zeros.
///
/// A lane of a warp has the quad q = lane % 4 and the row pair g = lane / 4, g + 8. Of 64 columns
/// it holds eight words of four codes: word 4 b + 2 h + p is of the row g + 8 p and the columns 32
/// b + 16 h + 4 q to 32 b + 16 h + 4 q + 3.
///
/// Products take quantized weights as halves, so rows are multiplied by powers of two that bring
/// their largest weights to 2^14: the scales in a tile are those of the file so multiplied, and
/// behind the tiles of a group lies for each row the factor that takes it back.
namespace tacet::cuda {

inline constexpr std::uint32_t tile_rows = 16;
inline constexpr std::uint32_t chunk_columns = 64;
/// Bytes of the factors of a group's rows, a float each.
inline constexpr std::uint32_t factor_bytes = tile_rows * 4;

/// What a lane loads of a chunk of 64 columns.
struct RawChunk {
  std::uint32_t low[8];     ///< codes, or their low bits
  std::uint32_t high[2];    ///< their high bits
  std::uint32_t scales[2];  ///< of its two rows: of the chunk
  std::uint32_t more[2];    ///< the mins, or what the whole block of 256 shares
};

/// The scales of a lane's two rows for a chunk, a group of columns each.
template <int Groups>
struct ChunkScales {
  float scale[2][Groups];
  float min[2][Groups];
};

struct Bytes4 {
  std::uint32_t word;
  TACET_ON_BOTH std::uint32_t u8(int i) const { return word >> (8 * i) & 255u; }
  TACET_ON_BOTH std::int32_t i8(int i) const {
    return static_cast<std::int8_t>(word >> (8 * i) & 255u);
  }
};

TACET_ON_BOTH inline float half_to_float(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
#else
  return f16_to_f32(static_cast<std::uint16_t>(bits));
#endif
}

TACET_ON_BOTH inline float not_a_number() {
#ifdef __CUDA_ARCH__
  return __uint_as_float(0x7fc00000u);
#else
  return __builtin_nanf("");
#endif
}

/// Bytes of `a` (0 to 3) and `b` (4 to 7) by four selectors of four bits.
TACET_ON_BOTH inline std::uint32_t select_bytes(std::uint32_t a, std::uint32_t b,
                                                std::uint32_t selectors) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, selectors);
#else
  const std::uint64_t both = a | std::uint64_t{b} << 32;
  std::uint32_t selected = 0;
  for (int i = 0; i < 4; ++i)
    selected |= static_cast<std::uint32_t>(both >> (8 * (selectors >> (4 * i) & 7u)) & 255u)
                << (8 * i);
  return selected;
#endif
}

/// Four signed bytes of a table of sixteen by the nibbles of the low half of `codes`.
TACET_ON_BOTH inline std::uint32_t look_up(const std::uint32_t (&table)[4], std::uint32_t codes) {
  const std::uint32_t places = codes & 0x7777u;
  const std::uint32_t first = select_bytes(table[0], table[1], places);
  const std::uint32_t second = select_bytes(table[2], table[3], places);
  return select_bytes(first, second, 0x3210u | (codes >> 1 & 0x4444u));
}

TACET_ON_BOTH constexpr std::uint32_t four_bytes(const std::int8_t* values) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(values[i])) << (8 * i);
  return word;
}

/// How the codes of a type are kept.
enum class Codes {
  two,            ///< bits
  three,          ///< two and one
  four,           ///< nibbles: of word 2 b + p of a lane low ones are h = 0, high ones h = 1
  four_by_table,  ///< the same, with the low half of a word for h = 0
  five,           ///< four and one
  six,            ///< four and two
  eight
};

/// Where scales come from.
enum class Scales {
  half,      ///< a half for each 32 columns
  half_min,  ///< and a half for the least value
  exponent,  ///< an exponent n of 2^(n - 243) for each 32; the largest of a row is 254
  k_min,     ///< k scale, m min: bytes k and m for each 32, halves for 256
  k_min_16,  ///< nibbles k and m for each 16, halves for 256
  k_16,      ///< k scale: a signed byte for each 16, a half for 256
  k_32       ///< the same for each 32
};

/// A quantized type as tiles: the columns that share a scale, what is taken from each code, the
/// bits of a code and the kind of its scales.
template <DType Type>
struct TileFormat;
template <Codes C, Scales S, int Zero>
struct FormatOf {
  static constexpr Codes codes = C;
  static constexpr Scales scales = S;
  static constexpr int zero = Zero;
  static constexpr bool of_sixteen = S == Scales::k_min_16 || S == Scales::k_16;
  static constexpr int groups = of_sixteen ? 4 : 2;  ///< of a chunk
  static constexpr bool has_min =
      S == Scales::half_min || S == Scales::k_min || S == Scales::k_min_16;
  static constexpr bool is_wide =
      S == Scales::k_min || S == Scales::k_min_16 || S == Scales::k_16 || S == Scales::k_32;
  static constexpr std::uint32_t chunks = is_wide ? 4 : 1;  ///< of a tile
  static constexpr std::uint32_t low_words = C == Codes::two || C == Codes::three ? 2
                                             : C == Codes::eight                  ? 8
                                                                                  : 4;
  static constexpr std::uint32_t high_words = C == Codes::three || C == Codes::five ? 1
                                              : C == Codes::six                     ? 2
                                                                                    : 0;
  /// Bytes of scales of a row for a chunk, and of what a block of 256 shares.
  static constexpr std::uint32_t scale_bytes = S == Scales::half_min                        ? 8
                                               : S == Scales::exponent || S == Scales::k_32 ? 2
                                                                                            : 4;
  static constexpr std::uint32_t shared_bytes = !is_wide ? 0 : has_min ? 4 : 2;
  static constexpr std::uint32_t low_at = 0;
  static constexpr std::uint32_t high_at = low_words * 128;
  static constexpr std::uint32_t scales_at = high_at + high_words * 128;
  static constexpr std::uint32_t chunk_bytes = scales_at + scale_bytes * tile_rows;
  static constexpr std::uint32_t shared_at = chunk_bytes * chunks;
  static constexpr std::uint32_t tile_bytes = shared_at + shared_bytes * tile_rows;
  static constexpr std::uint32_t stage_bytes = chunk_bytes + shared_bytes * tile_rows;
  static_assert(tile_bytes % 16 == 0 && chunk_bytes % 16 == 0 && stage_bytes % 16 == 0);
};
template <>
struct TileFormat<DType::q8_0> : FormatOf<Codes::eight, Scales::half, 0> {};
template <>
struct TileFormat<DType::q4_0> : FormatOf<Codes::four, Scales::half, 8> {};
template <>
struct TileFormat<DType::q4_1> : FormatOf<Codes::four, Scales::half_min, 0> {};
template <>
struct TileFormat<DType::q5_0> : FormatOf<Codes::five, Scales::half, 16> {};
template <>
struct TileFormat<DType::q5_1> : FormatOf<Codes::five, Scales::half_min, 0> {};
template <>
struct TileFormat<DType::q2_K> : FormatOf<Codes::two, Scales::k_min_16, 0> {};
template <>
struct TileFormat<DType::q3_K> : FormatOf<Codes::three, Scales::k_16, 4> {};
template <>
struct TileFormat<DType::q4_K> : FormatOf<Codes::four, Scales::k_min, 0> {};
template <>
struct TileFormat<DType::q5_K> : FormatOf<Codes::five, Scales::k_min, 0> {};
template <>
struct TileFormat<DType::q6_K> : FormatOf<Codes::six, Scales::k_16, 32> {};
template <>
struct TileFormat<DType::iq4_nl> : FormatOf<Codes::four_by_table, Scales::half, 0> {};
template <>
struct TileFormat<DType::iq4_xs> : FormatOf<Codes::four_by_table, Scales::k_32, 0> {};
template <>
struct TileFormat<DType::mxfp4> : FormatOf<Codes::four_by_table, Scales::exponent, 0> {};

template <DType Type>
TACET_ON_BOTH constexpr const std::int8_t* code_table() {
  return Type == DType::mxfp4 ? mxfp4_values : iq4_values;
}

template <typename T>
TACET_ON_BOTH inline T load_as(const std::byte* from) {
  return *reinterpret_cast<const T*>(from);
}

/// Loads what lane `lane` needs of a chunk, which lies at `at`, with what its tile shares at
/// `shared`. With `Streams` they are read once, from a GPU's memory.
template <typename F, bool Streams>
TACET_ON_BOTH inline RawChunk load_parts(const std::byte* at, const std::byte* shared,
                                         std::uint32_t lane) {
  RawChunk raw;
  const auto* low =
      reinterpret_cast<const std::uint32_t*>(at) + lane * (F::low_words < 4 ? F::low_words : 4);
#ifdef __CUDA_ARCH__
  const auto load = [](const auto* from) { return Streams ? __ldcs(from) : *from; };
  if constexpr (F::low_words == 2) {
    const uint2 words = load(reinterpret_cast<const uint2*>(low));
    raw.low[0] = words.x, raw.low[1] = words.y;
  } else {
    for (int i = 0; i < static_cast<int>(F::low_words / 4); ++i) {
      const uint4 words = load(reinterpret_cast<const uint4*>(low + 128 * i));
      raw.low[4 * i] = words.x, raw.low[4 * i + 1] = words.y;
      raw.low[4 * i + 2] = words.z, raw.low[4 * i + 3] = words.w;
    }
  }
#else
  for (std::uint32_t i = 0; i < F::low_words; ++i) raw.low[i] = low[i % 4 + 128 * (i / 4)];
#endif
  if constexpr (F::high_words != 0) {
    const auto* high =
        reinterpret_cast<const std::uint32_t*>(at + F::high_at) + lane * F::high_words;
    for (int i = 0; i < static_cast<int>(F::high_words); ++i) raw.high[i] = high[i];
  }
  const std::uint32_t row = lane / 4;
  for (std::uint32_t p = 0; p < 2; ++p) {
    const std::byte* scales = at + F::scales_at + (row + 8 * p) * F::scale_bytes;
    if constexpr (F::scale_bytes == 2)
      raw.scales[p] = load_as<std::uint16_t>(scales);
    else
      raw.scales[p] = load_as<std::uint32_t>(scales);
    if constexpr (F::scale_bytes == 8) raw.more[p] = load_as<std::uint32_t>(scales + 4);
    const std::byte* of_row = shared + (row + 8 * p) * F::shared_bytes;
    if constexpr (F::shared_bytes == 2) raw.more[p] = load_as<std::uint16_t>(of_row);
    if constexpr (F::shared_bytes == 4) raw.more[p] = load_as<std::uint32_t>(of_row);
  }
  return raw;
}

/// The same of the chunk `chunk` of a tile.
template <typename F>
TACET_ON_BOTH inline RawChunk load_chunk(const std::byte* tile, std::uint32_t chunk,
                                         std::uint32_t lane) {
  return load_parts<F, true>(tile + chunk * F::chunk_bytes, tile + F::shared_at, lane);
}

/// The eight words of codes.
template <DType Type>
TACET_ON_BOTH inline void unpack_codes(const RawChunk& raw, std::uint32_t (&words)[8]) {
  using F = TileFormat<Type>;
  for (int i = 0; i < 8; ++i) {
    const int b = i / 4, h = i / 2 % 2, p = i % 2;
    if constexpr (F::codes == Codes::eight) {
      words[i] = raw.low[i];
    } else if constexpr (F::codes == Codes::two || F::codes == Codes::three) {
      words[i] = raw.low[i / 4] >> (2 * (i % 4)) & 0x03030303u;
    } else if constexpr (F::codes == Codes::four_by_table) {
      constexpr std::uint32_t table[4] = {
          four_bytes(code_table<Type>()), four_bytes(code_table<Type>() + 4),
          four_bytes(code_table<Type>() + 8), four_bytes(code_table<Type>() + 12)};
      words[i] = look_up(table, raw.low[2 * b + p] >> (16 * h));
    } else {
      words[i] = raw.low[2 * b + p] >> (4 * h) & 0x0f0f0f0fu;
    }
    if constexpr (F::codes == Codes::three) words[i] |= (raw.high[0] >> i & 0x01010101u) << 2;
    if constexpr (F::codes == Codes::five) words[i] |= (raw.high[0] >> i & 0x01010101u) << 4;
    if constexpr (F::codes == Codes::six)
      words[i] |= (raw.high[i / 4] >> (2 * (i % 4)) & 0x03030303u) << 4;
  }
}

/// The scales of a lane's rows, whose factors are given; a value is scale * (code - zero) + min.
template <DType Type>
TACET_ON_BOTH inline void unpack_scales(const RawChunk& raw, const float (&factors)[2],
                                        ChunkScales<TileFormat<Type>::groups>& scales) {
  using F = TileFormat<Type>;
  for (int p = 0; p < 2; ++p) {
    const Bytes4 bytes{raw.scales[p]};
    float shared = 0, shared_min = 0;
    if constexpr (F::is_wide) shared = factors[p] * half_to_float(raw.more[p] & 0xffffu);
    if constexpr (F::is_wide && F::has_min)
      shared_min = factors[p] * half_to_float(raw.more[p] >> 16);
    for (int g = 0; g < F::groups; ++g) {
      float& scale = scales.scale[p][g];
      float& min = scales.min[p][g];
      min = 0;
      if constexpr (F::scales == Scales::half || F::scales == Scales::half_min)
        scale = factors[p] * half_to_float(raw.scales[p] >> (16 * g) & 0xffffu);
      if constexpr (F::scales == Scales::half_min)
        min = factors[p] * half_to_float(raw.more[p] >> (16 * g) & 0xffffu);
      if constexpr (F::scales == Scales::exponent)
        scale = bytes.u8(g) == 255 ? not_a_number()
                                   : ldexpf(factors[p], static_cast<int>(bytes.u8(g)) - 243);
      if constexpr (F::scales == Scales::k_min) {
        scale = shared * static_cast<float>(bytes.u8(g));
        min = -(shared_min * static_cast<float>(bytes.u8(2 + g)));
      }
      if constexpr (F::scales == Scales::k_min_16) {
        scale = shared * static_cast<float>(bytes.u8(g) & 15u);
        min = -(shared_min * static_cast<float>(bytes.u8(g) >> 4));
      }
      if constexpr (F::scales == Scales::k_16 || F::scales == Scales::k_32)
        scale = shared * static_cast<float>(bytes.i8(g));
    }
  }
}

/// Whether products with weights of this type go by tiles.
bool has_tiles(DType type) noexcept;
/// Bytes of 64 columns of a tile, with what the tile shares.
std::uint32_t stage_bytes(DType type) noexcept;
/// Bytes of a matrix in tiles, with the factors of its rows.
std::size_t tiled_bytes(DType type, std::size_t rows, std::size_t columns) noexcept;
/// Puts rows that lie as in files into tiles: those of the group of 16 rows `group`, `out` being
/// that group's tiles.
void tile_group(DType type, const std::byte* matrix, std::size_t rows, std::size_t columns,
                std::size_t group, std::byte* out) noexcept;

}  // namespace tacet::cuda
