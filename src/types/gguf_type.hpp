#pragma once

#include <cstdint>
#include <string_view>

namespace tacet {

/// A tensor type that a GGUF file may hold, whether or not tacet computes with it.
struct GgufType {
  std::uint32_t number;       ///< as in the file (ggml_type)
  std::string_view name;      ///< as ggml prints it: "q4_K"
  std::uint32_t block_size;   ///< elements in a block
  std::uint32_t block_bytes;  ///< bytes of a block
};

/// The type with this number, or null if the number is not known here. Static storage.
const GgufType* gguf_type(std::uint32_t number) noexcept;

}  // namespace tacet
