#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "types/blocks.hpp"
#include "types/dtype_id.hpp"

namespace tacet {

/// What a type looks like in memory, and how it is read and written.
struct DTypeInfo {
  DType type;
  std::string_view name;    ///< as ggml prints it: "q4_K"
  std::size_t block_size;   ///< elements in a block; a row holds whole blocks
  std::size_t block_bytes;  ///< bytes of a block
  void (*read)(const std::byte* from, std::span<float> out) noexcept;  ///< see dequantize
  void (*write)(std::span<const float> in, std::byte* to) noexcept;    ///< see quantize
};

/// All types, each once.
std::span<const DTypeInfo> dtypes() noexcept;

/// The description of `type`. Every value of DType has one.
const DTypeInfo& info(DType type) noexcept;
inline std::string_view name(DType type) noexcept {
  return info(type).name;
}

/// The type with GGUF's number, or an error (`unsupported`) that names it.
Result<DType> dtype_from_gguf(std::uint32_t number);
/// The type with this name ("f16", any case), or an error that lists the names.
Result<DType> dtype_from_name(std::string_view name);

/// Whether keys and values may be kept in `type`.
bool is_kept(DType type) noexcept;

/// Bytes of a row of `elements`, a multiple of the block size.
inline std::size_t row_bytes(DType type, std::size_t elements) noexcept {
  const DTypeInfo& t = info(type);
  return elements / t.block_size * t.block_bytes;
}

}  // namespace tacet
