#include "text/jinja/strings.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

/// Where the last character of `text`, which is not empty, begins.
std::size_t last_start(std::string_view text) noexcept {
  std::size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

template <typename Predicate>
std::string_view drop_left(std::string_view text, Predicate drop) {
  std::size_t position = 0;
  while (position < text.size()) {
    std::size_t behind = position;
    if (!drop(next_utf8(text, behind))) break;
    position = behind;
  }
  return text.substr(position);
}

template <typename Predicate>
std::string_view drop_right(std::string_view text, Predicate drop) {
  while (!text.empty()) {
    const std::size_t start = last_start(text);
    std::size_t position = start;
    if (!drop(next_utf8(text, position))) break;
    text = text.substr(0, start);
  }
  return text;
}

auto one_of(std::string_view characters) {
  return [characters](std::uint32_t wanted) {
    std::size_t position = 0;
    while (position < characters.size()) {
      if (next_utf8(characters, position) == wanted) return true;
    }
    return false;
  };
}

template <typename Map>
std::string mapped(std::string_view text, Map map) {
  std::string result;
  result.reserve(text.size());
  std::size_t position = 0;
  while (position < text.size()) {
    const auto character = static_cast<utf8proc_int32_t>(next_utf8(text, position));
    append_utf8(static_cast<std::uint32_t>(map(character)), result);
  }
  return result;
}

}  // namespace

bool is_space(std::uint32_t c) noexcept {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view strip_left(std::string_view text) noexcept {
  return drop_left(text, is_space);
}
std::string_view strip_right(std::string_view text) noexcept {
  return drop_right(text, is_space);
}

std::string_view strip_left(std::string_view text, std::string_view characters) noexcept {
  return drop_left(text, one_of(characters));
}

std::string_view strip_right(std::string_view text, std::string_view characters) noexcept {
  return drop_right(text, one_of(characters));
}

std::size_t length(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t byte_of(std::string_view text, std::size_t index) noexcept {
  std::size_t position = 0;
  for (; index > 0 && position < text.size(); --index) next_utf8(text, position);
  return position;
}

std::string upper(std::string_view text) {
  return mapped(text, utf8proc_toupper);
}
std::string lower(std::string_view text) {
  return mapped(text, utf8proc_tolower);
}

std::string capitalize(std::string_view text) {
  const std::size_t first = byte_of(text, 1);
  return mapped(text.substr(0, first), utf8proc_totitle) + lower(text.substr(first));
}

bool is_decimal(std::uint32_t character) noexcept {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character)) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(std::uint32_t character) noexcept {
  // Numeric_Type=Digit: superscripts, circled digits and the like.
  constexpr std::uint32_t kRanges[][2] = {
      {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
      {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
      {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
      {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
      {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return is_decimal(character) ||
         std::any_of(std::begin(kRanges), std::end(kRanges), [&](const auto& range) {
           return character >= range[0] && character <= range[1];
         });
}

bool is_alphabetic(std::uint32_t character) noexcept {
  const auto kind = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_alphanumeric(std::uint32_t character) noexcept {
  const auto kind = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return is_alphabetic(character) || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

bool is_printable(std::uint32_t character) noexcept {
  if (character < 0x80) return character >= 0x20 && character < 0x7F;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

}  // namespace tacet::jinja
