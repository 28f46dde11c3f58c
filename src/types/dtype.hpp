#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace tacet {

/// Element types of tensors. The numbers are GGUF's (ggml_type) where GGUF has the type.
enum class DType : std::uint32_t { f32 = 0, f16 = 1, q8_0 = 8, i32 = 26, bf16 = 30 };

/// One block of Q8_0: 32 signed bytes with one scale. Layout: ggml's block_q8_0.
struct BlockQ8_0 {
  std::uint16_t scale;  ///< IEEE half
  std::int8_t values[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

/// What a type looks like in memory.
struct DTypeInfo {
  DType type;
  std::string_view name;    ///< "q8_0"
  std::size_t block_size;   ///< elements in a block; a row holds whole blocks
  std::size_t block_bytes;  ///< bytes of a block
};

/// The description of `type`. Every value of DType has one.
const DTypeInfo& info(DType type) noexcept;
inline std::string_view name(DType type) noexcept {
  return info(type).name;
}

/// The type with GGUF's number, or an error (`unsupported`) that names it.
Result<DType> dtype_from_gguf(std::uint32_t number);
/// The type with this name ("f16", any case), or an error that lists the names.
Result<DType> dtype_from_name(std::string_view name);

/// Bytes of a row of `elements`, a multiple of the block size.
inline std::size_t row_bytes(DType type, std::size_t elements) noexcept {
  const DTypeInfo& t = info(type);
  return elements / t.block_size * t.block_bytes;
}

}  // namespace tacet
