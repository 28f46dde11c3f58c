#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tacet {

/// The printable character that stands for a byte in the vocabularies of byte-level BPE (GPT-2's
/// bytes_to_unicode): printable Latin-1 bytes stand for themselves, the others are numbered from
/// U+0100.
std::uint32_t byte_to_character(std::uint8_t byte) noexcept;

/// Writes bytes in that alphabet.
std::string to_byte_alphabet(std::string_view bytes);

/// Reads them back. `text` must be valid UTF-8; characters that stand for no byte are kept as they
/// are.
std::string from_byte_alphabet(std::string_view text);

}  // namespace tacet
