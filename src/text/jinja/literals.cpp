#include "text/jinja/literals.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

/// Reads digits of a base with single "_" between them (or before them, if `leading`); the position
/// behind them.
std::size_t digits(std::string_view text, std::size_t from, int base, bool leading,
                   std::string& out) {
  std::size_t end = from;
  bool may_join = leading;
  while (end < text.size()) {
    std::size_t digit = end;
    if (text[digit] == '_' && may_join) ++digit;
    if (digit >= text.size() || digit_value(text[digit]) >= base) break;
    out += text[digit];
    end = digit + 1;
    may_join = true;
  }
  return end;
}

NumberLiteral integer_of(const std::string& text, int base, std::size_t size) {
  NumberLiteral literal;
  literal.size = size;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), literal.integer, base);
  literal.fits = error == std::errc() && end == text.data() + text.size();
  return literal;
}

/// The value of a decimal, which may be too large or too small for a double: infinity or 0 then.
std::optional<double> value_of(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last) return value;
  if (error != std::errc::result_out_of_range || end != last) return std::nullopt;
  // The decimal places before the first digit that is not 0 say which of the two it is.
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), mark);
  const std::size_t first = text.find_first_of("123456789");
  const auto places = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  std::int64_t exponent = 0;
  if (mark < text.size()) {
    const std::size_t digits = mark + (text[mark + 1] == '+' ? 2 : 1);
    const auto parsed = std::from_chars(text.data() + digits, last, exponent);
    if (parsed.ec != std::errc()) exponent = text[digits] == '-' ? INT32_MIN : INT32_MAX;
  }
  return places + exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
}

int base_of(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

}  // namespace

NumberLiteral read_number(std::string_view text, bool allow_fraction) {
  if (const int base = base_of(text); base != 10) {
    std::string based;
    const std::size_t size = digits(text, 2, base, true, based);
    if (!based.empty()) return integer_of(based, base, size);
  }
  std::string decimal;
  const std::size_t whole = digits(text, 0, 10, false, decimal);
  std::string fraction = decimal;
  std::size_t end = whole;
  if (allow_fraction) {
    if (end + 1 < text.size() && text[end] == '.' && digit_value(text[end + 1]) < 10) {
      fraction += '.';
      end = digits(text, end + 1, 10, false, fraction);
    }
    if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      std::string exponent = "e";
      std::size_t start = end + 1;
      if (text[start] == '+' || text[start] == '-') exponent += text[start++];
      const std::size_t behind = digits(text, start, 10, false, exponent);
      if (behind > start) {
        fraction += exponent;
        end = behind;
      }
    }
  }
  if (end == whole) {
    // "012" is 0 and then 12 to jinja2, which then fails to parse; so it does here.
    if (decimal[0] == '0') {
      std::size_t zeros = decimal.find_first_not_of('0');
      if (zeros != std::string::npos) return integer_of("0", 10, 1);
    }
    return integer_of(decimal, 10, whole);
  }
  NumberLiteral literal;
  literal.size = end;
  literal.is_integer = false;
  literal.number = value_of(fraction).value_or(0);
  return literal;
}

std::optional<double> read_decimal(std::string_view text) {
  std::string plain;
  std::size_t end = digits(text, 0, 10, false, plain);
  bool has_digits = end > 0;
  if (end < text.size() && text[end] == '.') {
    plain += plain.empty() ? "0." : ".";
    const std::size_t behind = digits(text, end + 1, 10, false, plain);
    has_digits = has_digits || behind > end + 1;
    end = behind;
  }
  if (!has_digits) return std::nullopt;
  if (plain.ends_with('.')) plain += '0';
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    plain += 'e';
    ++end;
    if (end < text.size() && (text[end] == '+' || text[end] == '-')) plain += text[end++];
    const std::size_t behind = digits(text, end, 10, false, plain);
    if (behind == end) return std::nullopt;
    end = behind;
  }
  return end == text.size() ? value_of(plain) : std::nullopt;
}

std::optional<std::int64_t> read_integer(std::string_view text, bool negative, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  const int prefix = base_of(text);
  const bool prefixed = prefix != 10 && (base == 0 || base == prefix);
  const bool guessed = base == 0 && !prefixed;
  std::string plain = negative ? "-" : "";
  const int real = prefixed ? prefix : guessed ? 10 : static_cast<int>(base);
  const std::size_t end = digits(text, prefixed ? 2 : 0, real, prefixed, plain);
  if (end != text.size() || plain.size() == (negative ? 1U : 0U)) return std::nullopt;
  // Only Python's zeros may begin with one.
  if (guessed && text[0] == '0' && text.find_first_of("123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const NumberLiteral literal = integer_of(plain, real, end);
  return literal.fits ? std::optional(literal.integer) : std::nullopt;
}

bool unescape(std::string_view literal, std::string& value) {
  constexpr std::string_view kNames = "abfnrtv\\'\"";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
  for (std::size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\') {
      value += literal[i++];
      continue;
    }
    if (++i == literal.size()) return false;
    const char kind = literal[i++];
    if (const std::size_t known = kNames.find(kind); known != std::string_view::npos) {
      value += kValues[known];
    } else if (kind == '\n') {
      continue;
    } else if (kind >= '0' && kind <= '7') {
      std::uint32_t code = static_cast<std::uint32_t>(kind - '0');
      for (int n = 0; n < 2 && i < literal.size() && digit_value(literal[i]) < 8; ++n) {
        code = code * 8 + static_cast<std::uint32_t>(digit_value(literal[i++]));
      }
      append_utf8(code, value);
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
      const std::size_t count = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
      std::uint32_t code = 0;
      for (std::size_t n = 0; n < count; ++n, ++i) {
        if (i >= literal.size() || digit_value(literal[i]) >= 16) return false;
        code = code * 16 + static_cast<std::uint32_t>(digit_value(literal[i]));
      }
      if (code > 0x10FFFF) return false;
      append_utf8(code, value);
    } else if (kind == 'N') {
      return false;
    } else {
      value += '\\';
      value += kind;
    }
  }
  return true;
}

}  // namespace tacet::jinja
