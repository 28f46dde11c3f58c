#include "text/jinja/html.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "formats/gguf/value.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

struct Entity {
  std::string_view name;
  std::uint32_t code_point;
};

/// The names of the HTML standard that need no semicolon and are not in kLatin.
constexpr std::array<Entity, 10> kOthers = {{{"QUOT", 34},
                                             {"quot", 34},
                                             {"AMP", 38},
                                             {"amp", 38},
                                             {"LT", 60},
                                             {"lt", 60},
                                             {"GT", 62},
                                             {"gt", 62},
                                             {"COPY", 169},
                                             {"REG", 174}}};

/// The characters from U+00A0 to U+00FF, which need none either.
constexpr std::array<std::string_view, 96> kLatin = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",
    "copy",   "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn",
    "sup2",   "sup3",   "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",
    "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde",
    "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave",
    "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde",
    "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",
    "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil",
    "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",   "eth",
    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

/// Usual names that need a semicolon.
constexpr std::array<Entity, 11> kWithSemicolon = {{{"apos", 39},
                                                    {"ndash", 0x2013},
                                                    {"mdash", 0x2014},
                                                    {"lsquo", 0x2018},
                                                    {"rsquo", 0x2019},
                                                    {"ldquo", 0x201C},
                                                    {"rdquo", 0x201D},
                                                    {"bull", 0x2022},
                                                    {"hellip", 0x2026},
                                                    {"euro", 0x20AC},
                                                    {"trade", 0x2122}}};

/// What the HTML standard makes of the numbers 0x80 to 0x9F: Windows' code page 1252.
constexpr std::array<std::uint16_t, 32> kWindows = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

template <std::size_t size>
std::optional<std::uint32_t> find_in(const std::array<Entity, size>& entities,
                                     std::string_view name) {
  const auto found = std::find_if(entities.begin(), entities.end(),
                                  [&](const Entity& entity) { return entity.name == name; });
  if (found == entities.end()) return std::nullopt;
  return found->code_point;
}

std::optional<std::uint32_t> without_semicolon(std::string_view name) {
  const auto latin = std::find(kLatin.begin(), kLatin.end(), name);
  if (latin != kLatin.end()) return static_cast<std::uint32_t>(0xA0 + (latin - kLatin.begin()));
  return find_in(kOthers, name);
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

class Unescaper {
 public:
  Unescaper(std::string_view text, Meter& meter) : rest_(text), meter_(meter) {}

  std::string run() {
    while (meter_.spend(8)) {
      const std::size_t mark = rest_.find('&');
      if (!meter_.take(std::min(mark, rest_.size()) + 4)) break;
      out_ += rest_.substr(0, mark);
      if (mark == std::string_view::npos) break;
      rest_.remove_prefix(mark + 1);
      reference();
    }
    return std::move(out_);
  }

 private:
  void reference() {
    if (rest_.starts_with('#') ? number() : name()) return;
    out_ += '&';
  }

  bool number() {
    const bool hexadecimal = rest_.size() > 1 && (rest_[1] | 0x20) == 'x';
    std::size_t end = hexadecimal ? 2 : 1;
    std::uint32_t value = 0;
    const std::size_t first = end;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'f';
      if (!(c >= '0' && c <= '9') && !(hexadecimal && letter)) break;
      const auto digit = static_cast<std::uint32_t>(letter ? (c | 0x20) - 'a' + 10 : c - '0');
      value = std::min<std::uint32_t>(value * (hexadecimal ? 16 : 10) + digit, 0x110000);
    }
    if (end == first) return false;
    if (end < rest_.size() && rest_[end] == ';') ++end;
    rest_.remove_prefix(end);
    append(value);
    return true;
  }

  void append(std::uint32_t value) {
    if (value >= 0x80 && value < 0xA0) return append_utf8(kWindows[value - 0x80], out_);
    if (value == 0 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return append_utf8(0xFFFD, out_);
    const bool control =
        value < 0x20 && value != '\t' && value != '\n' && value != '\f' && value != '\r';
    const bool no_character = (value >= 0xFDD0 && value <= 0xFDEF) || (value & 0xFFFE) == 0xFFFE;
    if (!control && !no_character && value != 0x7F) append_utf8(value, out_);
  }

  /// The longest name that it begins with.
  bool name() {
    constexpr std::size_t kLongest = 32;
    std::size_t size = 0;
    std::size_t characters = 0;
    while (size < rest_.size() && characters < kLongest &&
           std::string_view("\t\n\f <&#;").find(rest_[size]) == std::string_view::npos) {
      next_utf8(rest_, size);
      ++characters;
    }
    const std::string_view whole = rest_.substr(0, size);
    const bool semicolon = size > 0 && size < rest_.size() && rest_[size] == ';';
    if (semicolon) {
      auto value = without_semicolon(whole);
      if (!value) value = find_in(kWithSemicolon, whole);
      if (value) return replace(*value, size + 1);
      const bool may_be_a_name = size > 1 && !(whole[0] >= '0' && whole[0] <= '9');
      if (may_be_a_name && std::all_of(whole.begin(), whole.end(), is_letter_or_digit)) {
        meter_.raise(Code::unsupported, "the HTML entity {} is not supported.", quoted(whole));
        return true;
      }
    }
    for (std::size_t length = std::min<std::size_t>(size, 6); length > 1; --length) {
      if (const auto value = without_semicolon(whole.substr(0, length)))
        return replace(*value, length);
    }
    return false;
  }

  bool replace(std::uint32_t value, std::size_t size) {
    append_utf8(value, out_);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  Meter& meter_;
  std::string out_;
};

}  // namespace

void append_escaped(std::string_view text, std::string& out, Meter& meter) {
  if (!meter.take(text.size() * 5)) return;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
}

std::string unescaped(std::string_view text, Meter& meter) {
  return Unescaper(text, meter).run();
}

}  // namespace tacet::jinja
