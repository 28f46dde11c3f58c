#include "backends/cuda/gemm/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "types/convert.hpp"
#include "types/k_scales.hpp"
#include "types/nibbles.hpp"

namespace tacet::cuda {

namespace {

/// What a row has in 64 columns: codes, as the type's decoder numbers them, and scales.
struct RowChunk {
  std::uint8_t codes[64] = {};
  std::uint8_t scales[8] = {};  ///< as they lie in a tile
};

// The codes of 64 columns from `column` on of a row, and the scales: of each type.

void set_half(std::uint8_t* to, std::uint16_t half) {
  std::memcpy(to, &half, 2);
}

/// A block of 32, the half `b` of the chunk.
template <typename Block>
void read_block(const Block& block, std::size_t b, RowChunk& out) {
  if constexpr (std::is_same_v<Block, BlockQ8_0>)
    std::memcpy(out.codes + 32 * b, block.values, 32);
  else
    for (std::size_t i = 0; i < 32; ++i) {
      unsigned code = codec::nibble(block.values, i);
      if constexpr (requires { block.high; }) code |= codec::fifth_bit(block.high, i) << 4U;
      out.codes[32 * b + i] = static_cast<std::uint8_t>(code);
    }
  if constexpr (requires { block.exponent; })
    out.scales[b] = block.exponent;
  else
    set_half(out.scales + 2 * b, block.scale);
  if constexpr (requires { block.min; }) set_half(out.scales + 4 + 2 * b, block.min);
}

// Blocks of 256: the chunk `c` of four.

void read_chunk(const BlockQ2_K& block, std::size_t c, RowChunk& out) {
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t at = 64 * c + i, half = at / 128, s = at % 128 / 32;
    out.codes[i] = block.values[32 * half + at % 32] >> (2 * s) & 3U;
  }
  std::memcpy(out.scales, block.scales + 4 * c, 4);
}
void read_chunk(const BlockQ3_K& block, std::size_t c, RowChunk& out) {
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t at = 64 * c + i, half = at / 128, s = at % 128 / 32, l = at % 32;
    const unsigned low = block.values[32 * half + l] >> (2 * s) & 3U;
    const unsigned third = block.high[l] >> (4 * half + s) & 1U;
    out.codes[i] = static_cast<std::uint8_t>(low | third << 2U);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t g = 4 * c + i;
    const unsigned low = g < 8 ? block.scales[g] & 15U : block.scales[g - 8] >> 4U;
    const unsigned high = block.scales[8 + g % 4] >> (2 * (g / 4)) & 3U;
    out.scales[i] = static_cast<std::uint8_t>(static_cast<int>(low | high << 4U) - 32);
  }
}
void read_k_scales(const codec::KScales& k, std::size_t c, RowChunk& out) {
  for (std::size_t b = 0; b < 2; ++b) {
    out.scales[b] = k.scale[2 * c + b];
    out.scales[2 + b] = k.min[2 * c + b];
  }
}
void read_chunk(const BlockQ4_K& block, std::size_t c, RowChunk& out) {
  for (std::size_t i = 0; i < 64; ++i)
    out.codes[i] = block.values[32 * c + i % 32] >> (4 * (i / 32)) & 15U;
  read_k_scales(codec::unpack_k_scales(block.scales), c, out);
}
void read_chunk(const BlockQ5_K& block, std::size_t c, RowChunk& out) {
  for (std::size_t i = 0; i < 64; ++i) {
    const unsigned low = block.values[32 * c + i % 32] >> (4 * (i / 32)) & 15U;
    const unsigned fifth = block.high[i % 32] >> (2 * c + i / 32) & 1U;
    out.codes[i] = static_cast<std::uint8_t>(low | fifth << 4U);
  }
  read_k_scales(codec::unpack_k_scales(block.scales), c, out);
}
void read_chunk(const BlockQ6_K& block, std::size_t c, RowChunk& out) {
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t at = 64 * c + i, half = at / 128, s = at % 128 / 32, l = at % 32;
    const unsigned low = block.values[64 * half + 32 * (s % 2) + l] >> (4 * (s / 2)) & 15U;
    const unsigned high = block.high[32 * half + l] >> (2 * s) & 3U;
    out.codes[i] = static_cast<std::uint8_t>(low | high << 4U);
  }
  std::memcpy(out.scales, block.scales + 4 * c, 4);
}
void read_chunk(const BlockIQ4_XS& block, std::size_t c, RowChunk& out) {
  for (std::size_t b = 0; b < 2; ++b) {
    const std::size_t g = 2 * c + b;
    for (std::size_t i = 0; i < 32; ++i)
      out.codes[32 * b + i] = static_cast<std::uint8_t>(codec::nibble(block.values + 16 * g, i));
    const unsigned low = block.scales_low[g / 2] >> (4 * (g % 2)) & 15U;
    const unsigned high = block.scales_high >> (2 * g) & 3U;
    out.scales[b] = static_cast<std::uint8_t>(static_cast<int>(low | high << 4U) - 32);
  }
}

/// What a row's block of 256 shares: the scale, and the min.
template <typename Block>
void read_shared(const Block& block, std::uint8_t* out) {
  set_half(out, block.scale);
  if constexpr (requires { block.min; }) set_half(out + 2, block.min);
}

/// A block's scale and min, multiplied by a power of two.
template <typename Block>
void multiply(Block& block, float by) {
  const auto times = [by](std::uint16_t half) { return f32_to_f16(f16_to_f32(half) * by); };
  if constexpr (requires { block.scale; }) block.scale = times(block.scale);
  if constexpr (requires { block.min; }) block.min = times(block.min);
}

/// What the magnitudes of a block's weights can not exceed, nor its scales.
template <DType Type, typename Block>
float bound(const Block& block) {
  using F = TileFormat<Type>;
  constexpr int bits = F::codes == Codes::two     ? 2
                       : F::codes == Codes::three ? 3
                       : F::codes == Codes::five  ? 5
                       : F::codes == Codes::six   ? 6
                                                  : 4;
  constexpr int code = F::codes == Codes::eight || F::codes == Codes::four_by_table
                           ? 128
                           : std::max(F::zero, (1 << bits) - 1 - F::zero);
  constexpr int k = F::scales == Scales::k_min      ? 63
                    : F::scales == Scales::k_min_16 ? 15
                    : F::is_wide                    ? 128
                                                    : 1;
  float largest = std::abs(f16_to_f32(block.scale)) * static_cast<float>(k * code);
  if constexpr (requires { block.min; })
    largest += std::abs(f16_to_f32(block.min)) * static_cast<float>(k);
  return largest;
}

/// What brings the rows of a group to halves.
struct RowScaling {
  float by = 1;        ///< for scales that are halves
  unsigned added = 0;  ///< to exponents
  float factor = 1;    ///< of the row as it then is
};

template <DType Type, typename Block>
RowScaling scaling_of(const std::byte* row, std::size_t blocks) {
  float largest = 0;
  unsigned exponent = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    Block block;
    std::memcpy(&block, row + i * sizeof(Block), sizeof block);
    if constexpr (requires { block.exponent; }) {
      if (block.exponent != 255) exponent = std::max<unsigned>(exponent, block.exponent);
    } else {
      largest = std::max(largest, bound<Type>(block));  // a bound that is no number does not count
    }
  }
  if constexpr (TileFormat<Type>::scales == Scales::exponent)
    return {1, 254 - exponent, std::ldexp(1.0F, static_cast<int>(exponent) - 139)};
  if (largest == 0 || !std::isfinite(largest)) return {};
  const int up = 14 - std::ilogb(largest);
  return {std::ldexp(1.0F, up), 0, std::ldexp(1.0F, -up)};
}

/// Puts a row's chunk into its places in a tile's chunk.
template <DType Type>
void put_codes(const RowChunk& row, std::uint32_t r, std::byte* chunk) {
  using F = TileFormat<Type>;
  const std::uint32_t p = r / 8;
  for (std::uint32_t column = 0; column < 64; ++column) {
    const std::uint32_t b = column / 32, h = column / 16 % 2, q = column / 4 % 4, j = column % 4;
    const std::uint32_t lane = 4 * (r % 8) + q, word = 4 * b + 2 * h + p;
    const unsigned code = row.codes[column];
    const auto low = [&](std::uint32_t number, std::uint32_t shift, unsigned bits) {
      constexpr std::uint32_t together = F::low_words < 4 ? F::low_words : 4;
      auto* words = reinterpret_cast<std::uint32_t*>(chunk);
      words[lane * together + number % 4 + 128 * (number / 4)] |= bits << shift;
    };
    const auto high = [&](std::uint32_t number, std::uint32_t shift, unsigned bits) {
      auto* words = reinterpret_cast<std::uint32_t*>(chunk + F::high_at);
      words[lane * F::high_words + number] |= bits << shift;
    };
    if constexpr (F::codes == Codes::eight) low(word, 8 * j, code);
    if constexpr (F::codes == Codes::two || F::codes == Codes::three)
      low(word / 4, 8 * j + 2 * (word % 4), code & 3U);
    if constexpr (F::codes == Codes::four || F::codes == Codes::five || F::codes == Codes::six)
      low(2 * b + p, 8 * j + 4 * h, code & 15U);
    if constexpr (F::codes == Codes::four_by_table) low(2 * b + p, 16 * h + 4 * j, code);
    if constexpr (F::codes == Codes::three) high(0, 8 * j + word, code >> 2U);
    if constexpr (F::codes == Codes::five) high(0, 8 * j + word, code >> 4U);
    if constexpr (F::codes == Codes::six) high(word / 4, 8 * j + 2 * (word % 4), code >> 4U);
  }
  std::memcpy(chunk + F::scales_at + r * F::scale_bytes, row.scales, F::scale_bytes);
}

template <DType Type, typename Block>
void tile_rows_of(const std::byte* matrix, std::size_t rows, std::size_t columns, std::size_t group,
                  std::byte* out) {
  using F = TileFormat<Type>;
  const std::size_t blocks = columns / Block::size;
  const std::size_t chunks = (columns + chunk_columns - 1) / chunk_columns;
  const std::size_t tiles_bytes = (chunks + F::chunks - 1) / F::chunks * F::tile_bytes;
  std::memset(out, 0, tiles_bytes + factor_bytes);
  for (std::uint32_t r = 0; r < tile_rows; ++r) {
    const std::size_t row = group * tile_rows + r;
    if (row >= rows) return;
    const std::byte* data = matrix + row * blocks * sizeof(Block);
    const RowScaling scaling = scaling_of<Type, Block>(data, blocks);
    std::memcpy(out + tiles_bytes + 4 * r, &scaling.factor, 4);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      std::byte* tile = out + chunk / F::chunks * F::tile_bytes;
      RowChunk codes;
      Block block;
      if constexpr (F::is_wide) {
        std::memcpy(&block, data + chunk / 4 * sizeof(Block), sizeof block);
        multiply(block, scaling.by);
        read_chunk(block, chunk % 4, codes);
        std::uint8_t shared[4];
        read_shared(block, shared);
        std::memcpy(tile + F::shared_at + r * F::shared_bytes, shared, F::shared_bytes);
      } else {
        for (std::size_t b = 0; b < 2 && 2 * chunk + b < blocks; ++b) {
          std::memcpy(&block, data + (2 * chunk + b) * sizeof(Block), sizeof block);
          if constexpr (requires { block.exponent; })
            block.exponent =
                static_cast<std::uint8_t>(std::min(255U, block.exponent + scaling.added));
          else
            multiply(block, scaling.by);
          read_block(block, b, codes);
        }
      }
      put_codes<Type>(codes, r, tile + chunk % F::chunks * F::chunk_bytes);
    }
  }
}

/// Halves and bfloat16: of 64 columns a lane has four steps of 16, four words of two columns each:
/// word 2 h + p is of the row g + 8 p and the columns 4 q + h, 4 q + h + 2.
void tile_halves(const std::byte* matrix, std::size_t rows, std::size_t columns, std::size_t group,
                 std::byte* out) {
  const std::size_t chunks = (columns + chunk_columns - 1) / chunk_columns;
  std::memset(out, 0, chunks * tile_rows * chunk_columns * 2);
  for (std::uint32_t r = 0; r < tile_rows; ++r) {
    const std::size_t row = group * tile_rows + r;
    if (row >= rows) return;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t chunk = column / 64, step = column % 64 / 16, h = column % 2;
      const std::size_t q = column % 16 / 4, lane = 4 * (r % 8) + q, word = 2 * h + r / 8;
      std::memcpy(out + ((chunk * 4 + step) * 32 + lane) * 16 + word * 4 + column % 4 / 2 * 2,
                  matrix + (row * columns + column) * 2, 2);
    }
  }
}

using TileGroup = void (*)(const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*);
struct Entry {
  DType type;
  std::size_t chunks;  ///< of a tile
  std::size_t tile_bytes;
  std::uint32_t stage_bytes;
  std::size_t factor_bytes;
  TileGroup tile;
};
template <DType Type, typename Block>
constexpr Entry entry() {
  using F = TileFormat<Type>;
  return {Type, F::chunks, F::tile_bytes, F::stage_bytes, factor_bytes, tile_rows_of<Type, Block>};
}
constexpr std::uint32_t half_tile_bytes = tile_rows * chunk_columns * 2;
constexpr Entry entries[] = {
    {DType::f16, 1, half_tile_bytes, half_tile_bytes, 0, tile_halves},
    {DType::bf16, 1, half_tile_bytes, half_tile_bytes, 0, tile_halves},
    entry<DType::q8_0, BlockQ8_0>(),
    entry<DType::q4_0, BlockQ4_0>(),
    entry<DType::q4_1, BlockQ4_1>(),
    entry<DType::q5_0, BlockQ5_0>(),
    entry<DType::q5_1, BlockQ5_1>(),
    entry<DType::q2_K, BlockQ2_K>(),
    entry<DType::q3_K, BlockQ3_K>(),
    entry<DType::q4_K, BlockQ4_K>(),
    entry<DType::q5_K, BlockQ5_K>(),
    entry<DType::q6_K, BlockQ6_K>(),
    entry<DType::iq4_nl, BlockIQ4_NL>(),
    entry<DType::iq4_xs, BlockIQ4_XS>(),
    entry<DType::mxfp4, BlockMXFP4>(),
};

const Entry* find(DType type) noexcept {
  const auto found = std::ranges::find(entries, type, &Entry::type);
  return found != std::end(entries) ? &*found : nullptr;
}

}  // namespace

bool has_tiles(DType type) noexcept {
  return find(type) != nullptr;
}

std::uint32_t stage_bytes(DType type) noexcept {
  return find(type)->stage_bytes;
}

std::size_t tiled_bytes(DType type, std::size_t rows, std::size_t columns) noexcept {
  const Entry& entry = *find(type);
  const std::size_t groups = (rows + tile_rows - 1) / tile_rows;
  const std::size_t chunks = (columns + chunk_columns - 1) / chunk_columns;
  const std::size_t tiles = (chunks + entry.chunks - 1) / entry.chunks;
  return groups * (tiles * entry.tile_bytes + entry.factor_bytes);
}

void tile_group(DType type, const std::byte* matrix, std::size_t rows, std::size_t columns,
                std::size_t group, std::byte* out) noexcept {
  find(type)->tile(matrix, rows, columns, group, out);
}

}  // namespace tacet::cuda
