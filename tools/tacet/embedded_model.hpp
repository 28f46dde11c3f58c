#pragma once

#include <cstddef>
#include <span>

namespace tacet::cli {

/// The GGUF file that is linked into the program: tiny-chat in q8_0. 64-byte aligned, static.
std::span<const std::byte> embedded_model() noexcept;

}  // namespace tacet::cli
