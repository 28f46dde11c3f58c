#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tacet::jinja {

// Python's string functions on UTF-8: positions and lengths are characters (code points). Texts
// must be valid UTF-8.

/// str.isspace of one character.
bool is_space(std::uint32_t character) noexcept;
std::string_view strip_left(std::string_view text) noexcept;
std::string_view strip_right(std::string_view text) noexcept;
/// As str.lstrip and str.rstrip with the characters to take away.
std::string_view strip_left(std::string_view text, std::string_view characters) noexcept;
std::string_view strip_right(std::string_view text, std::string_view characters) noexcept;

std::size_t length(std::string_view text) noexcept;
/// The byte where character `index` begins; the size if there are not so many.
std::size_t byte_of(std::string_view text, std::size_t index) noexcept;

/// By the simple case mappings of Unicode, one character to one.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// str.capitalize: the first character upper, the others lower.
std::string capitalize(std::string_view text);
/// str.isdecimal and str.isdigit of one character.
bool is_decimal(std::uint32_t character) noexcept;
bool is_digit(std::uint32_t character) noexcept;
/// str.isalpha, and str.isalnum (nearly: without letters that stand for numbers only).
bool is_alphabetic(std::uint32_t character) noexcept;
bool is_alphanumeric(std::uint32_t character) noexcept;
/// Whether repr() shows the character as it is.
bool is_printable(std::uint32_t character) noexcept;

}  // namespace tacet::jinja
