#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tacet::jinja {

struct NumberLiteral {
  std::size_t size = 0;  ///< bytes of the text that it takes
  bool is_integer = true;
  bool fits = true;  ///< false: an integer beyond 64 bits
  std::int64_t integer = 0;
  double number = 0;
};

/// The number that `text` starts with (it starts with a digit), in Python's notation: 12, 1_000,
/// 0x1F, 0b1, 1.5e-3. `allow_fraction`: false behind a dot, where `a.0.1` must not read as 0.1.
NumberLiteral read_number(std::string_view text, bool allow_fraction);

/// The number that all of `text` is, without a sign, in the notation of Python's float() and int():
/// 12, 1_000, .5, 1e400 (infinite); for a base of 2 to 36, or 0 for what the text says, 0x1F too.
/// None if it is no number, and for an integer beyond 64 bits.
std::optional<double> read_decimal(std::string_view text);
std::optional<std::int64_t> read_integer(std::string_view text, bool negative, std::int64_t base);

/// Resolves the escapes of a Python string literal. False for a truncated or too large \x, \u or
/// \U, for \N, and for a single backslash at the end.
bool unescape(std::string_view literal, std::string& value);

}  // namespace tacet::jinja
