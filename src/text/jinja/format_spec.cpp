#include <algorithm>
#include <cmath>
#include <optional>

#include "formats/gguf/value.hpp"
#include "text/jinja/format.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

/// Python's format specification mini-language.
struct Specification {
  std::string fill = " ";  ///< one character
  char align = 0;          ///< < > ^ =, or 0: not given
  char sign = 0;
  bool no_negative_zero = false;
  bool alternate = false;
  std::size_t width = 0;
  char grouping = 0;
  std::optional<std::size_t> precision;
  char type = 0;
};

bool is_one_of(char c, std::string_view characters) {
  return c != 0 && characters.find(c) != std::string_view::npos;
}

/// Reads a specification from its start to its end.
class SpecificationReader {
 public:
  explicit SpecificationReader(std::string_view text) : rest_(text) {}

  /// None if it can not be read.
  std::optional<Specification> read(bool is_text) {
    Specification spec;
    bool has_fill = false;
    std::size_t first = 0;
    if (!rest_.empty()) next_utf8(rest_, first);
    if (first > 0 && first < rest_.size() && is_one_of(rest_[first], "<>=^")) {
      spec.fill = rest_.substr(0, first);
      spec.align = rest_[first];
      rest_.remove_prefix(first + 1);
      has_fill = true;
    } else if (is_one_of(peek(), "<>=^")) {
      spec.align = take();
    }
    if (is_one_of(peek(), "+- ")) spec.sign = take();
    spec.no_negative_zero = skip('z');
    spec.alternate = skip('#');
    if (!has_fill && skip('0')) {
      spec.fill = "0";
      if (spec.align == 0 && !is_text) spec.align = '=';
    }
    if (!number(spec.width)) return std::nullopt;
    if (is_one_of(peek(), ",_")) spec.grouping = take();
    if (skip('.')) {
      std::size_t precision = 0;
      if (!is_one_of(peek(), "0123456789") || !number(precision)) return std::nullopt;
      spec.precision = precision;
    }
    if (rest_.size() > 1) return std::nullopt;
    if (!rest_.empty()) spec.type = take();
    return spec;
  }

  bool too_wide() const noexcept { return too_wide_; }

 private:
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  bool skip(char c) {
    if (peek() != c) return false;
    take();
    return true;
  }
  bool number(std::size_t& value) {
    while (is_one_of(peek(), "0123456789")) {
      value = value * 10 + static_cast<std::size_t>(take() - '0');
      too_wide_ = too_wide_ || value > kMostFormatWidth;
      if (too_wide_) return false;
    }
    return true;
  }

  std::string_view rest_;
  bool too_wide_ = false;
};

/// The parts of a number's text.
struct Number {
  bool negative = false;
  std::string prefix = {};  ///< 0x
  std::string digits = {};  ///< before the point
  std::string rest = {};    ///< from the point on, or all of what is no number
};

/// Writes one value by one specification.
class SpecificationWriter {
 public:
  SpecificationWriter(const Specification& spec, std::string& out, Meter& meter)
      : spec_(spec), out_(out), meter_(meter) {}

  bool text(const std::string& value) {
    if (!(spec_.type == 0 || spec_.type == 's') || spec_.sign != 0 || spec_.no_negative_zero ||
        spec_.alternate || spec_.align == '=' || spec_.grouping != 0)
      return false;
    if (!meter_.spend(1 + value.size() / 16)) return true;
    const std::size_t size = spec_.precision ? byte_of(value, *spec_.precision) : value.size();
    pad({}, value.substr(0, size), '<');
    return true;
  }

  bool integer(std::int64_t value) {
    if (is_one_of(spec_.type, "eEfFgG%")) return real(static_cast<double>(value));
    if (spec_.precision || spec_.no_negative_zero) return false;
    if (spec_.type == 'c') return character(value);
    Number number{.negative = value < 0};
    const auto size =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    switch (spec_.type) {
      case 0:
      case 'd':
      case 'n':
        number.digits = fmt::format("{}", size);
        break;
      case 'b':
        number.digits = fmt::format("{:b}", size);
        break;
      case 'o':
        number.digits = fmt::format("{:o}", size);
        break;
      case 'x':
        number.digits = fmt::format("{:x}", size);
        break;
      case 'X':
        number.digits = fmt::format("{:X}", size);
        break;
      default:
        return false;
    }
    const bool other_base = is_one_of(spec_.type, "boxX");
    if (other_base && spec_.grouping == ',') return false;
    if (spec_.type == 'n' && spec_.grouping != 0) return false;
    if (other_base && spec_.alternate) number.prefix = {'0', spec_.type};
    write(number, other_base ? 4 : 3);
    return true;
  }

  bool real(double value) {
    if (spec_.type != 0 && !is_one_of(spec_.type, "eEfFgGn%")) return false;
    if (spec_.type == 'n' && spec_.grouping != 0) return false;
    Number number{.negative = std::signbit(value) && !std::isnan(value)};
    const std::string digits = real_digits(std::fabs(spec_.type == '%' ? value * 100 : value));
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    number.digits = digits.substr(0, whole);
    number.rest = digits.substr(whole) + (spec_.type == '%' ? "%" : "");
    if (spec_.no_negative_zero && digits.find_first_of("123456789ni") == std::string::npos)
      number.negative = false;
    write(number, 3);
    return true;
  }

 private:
  bool character(std::int64_t value) {
    if (spec_.sign != 0 || spec_.alternate || spec_.grouping != 0 || value < 0 ||
        value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return false;
    std::string text;
    append_utf8(static_cast<std::uint32_t>(value), text);
    pad({}, text, '>');
    return true;
  }

  /// Without a sign.
  std::string real_digits(double value) const {
    const bool upper_case = is_one_of(spec_.type, "EFG");
    if (!std::isfinite(value)) {
      if (std::isnan(value)) return upper_case ? "NAN" : "nan";
      return upper_case ? "INF" : "inf";
    }
    if (spec_.type == 0 && !spec_.precision) {
      std::string digits = number_text(value);
      const bool point = digits.find('.') != std::string::npos;
      if (spec_.alternate && !point) digits.insert(digits.find('e'), 1, '.');
      return digits;
    }
    const std::size_t precision = spec_.precision.value_or(6);
    if (spec_.type == 0) return short_digits(value, std::max<std::size_t>(precision, 1));
    const char type = spec_.type == '%' ? 'f' : spec_.type == 'n' ? 'g' : spec_.type;
    return number_digits(value, type, precision, spec_.alternate, meter_);
  }

  /// As type g, but with a digit behind the point, or an exponent where that one would be too many.
  std::string short_digits(double value, std::size_t precision) const {
    const std::string scientific = fmt::format("{:.{}e}", value, precision - 1);
    const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
    std::string digits = number_digits(value, 'g', precision, spec_.alternate, meter_);
    if (digits.find('e') != std::string::npos) return digits;
    if (exponent + 1 >= static_cast<int>(precision)) {
      std::string mantissa = scientific.substr(0, scientific.find('e'));
      const bool point = mantissa.find('.') != std::string::npos;
      while (point && !spec_.alternate && mantissa.back() == '0') mantissa.pop_back();
      if (mantissa.back() == '.' && !spec_.alternate) mantissa.pop_back();
      if (!point && spec_.alternate) mantissa += '.';
      return mantissa + scientific.substr(scientific.find('e'));
    }
    if (digits.find('.') == std::string::npos) digits += ".0";
    return digits;
  }

  void write(const Number& number, std::size_t group) {
    std::string head;
    if (number.negative) {
      head = "-";
    } else if (is_one_of(spec_.sign, "+ ")) {
      head = spec_.sign;
    }
    head += number.prefix;
    std::string digits = number.digits;
    if (spec_.grouping != 0 && !digits.empty()) {
      const bool filled = spec_.fill == "0" && spec_.align == '=';
      const std::size_t others = head.size() + number.rest.size();
      digits = grouped(digits, group,
                       filled && spec_.width > others ? spec_.width - others : std::size_t{0});
    }
    pad(head, digits + number.rest, '>');
  }

  /// Digits in groups, with zeros before them up to a width of `least`.
  std::string grouped(std::string_view digits, std::size_t group, std::size_t least) const {
    std::string reversed;
    std::size_t in_group = 0;
    for (std::size_t i = 0; i < digits.size() || reversed.size() < least; ++i) {
      if (in_group == group) {
        reversed += spec_.grouping;
        in_group = 0;
      }
      reversed += i < digits.size() ? digits[digits.size() - 1 - i] : '0';
      ++in_group;
    }
    return {reversed.rbegin(), reversed.rend()};
  }

  void pad(const std::string& head, const std::string& body, char usual) {
    const std::size_t size = head.size() + length(body);
    const std::size_t fill = spec_.width > size ? spec_.width - size : 0;
    if (!meter_.take(size * 4 + fill * spec_.fill.size())) return;
    const char align = spec_.align != 0 ? spec_.align : usual;
    std::size_t left = 0;
    if (align == '>' || align == '=') left = fill;
    if (align == '^') left = fill / 2;
    if (align == '=') out_ += head;
    for (std::size_t i = 0; i < left; ++i) out_ += spec_.fill;
    if (align != '=') out_ += head;
    out_ += body;
    for (std::size_t i = left; i < fill; ++i) out_ += spec_.fill;
  }

  const Specification& spec_;
  std::string& out_;
  Meter& meter_;
};

}  // namespace

std::string number_digits(double value, char type, std::size_t precision, bool alternate,
                          Meter& meter) {
  meter.spend(1 + precision);
  const std::string layout = fmt::format("{{:{}.{}{}}}", alternate ? "#" : "", precision, type);
  std::string digits = fmt::format(fmt::runtime(layout), value);
  // fmt writes a digit behind the point where C and Python write none.
  const bool general = type == 'g' || type == 'G';
  const std::size_t point = digits.find('.');
  const std::size_t end = std::min(digits.find_first_of("eE"), digits.size());
  const bool full = point == std::max<std::size_t>(precision, 1) && end == point + 2;
  if (alternate && general && full && digits[point + 1] == '0') digits.erase(point + 1, 1);
  return digits;
}

void append_formatted(const Value& value, std::string_view spec, std::string& out, Meter& meter) {
  const bool is_text = value.is(Value::Kind::string);
  if (spec.empty()) return append_text(value, out, meter);
  SpecificationReader reader(spec);
  const auto read = reader.read(is_text);
  if (reader.too_wide()) {
    meter.raise(Code::unsupported, "a format is wider than {}.", kMostFormatWidth);
    return;
  }
  bool done = false;
  if (read) {
    SpecificationWriter writer(*read, out, meter);
    if (is_text) done = writer.text(value.as_string());
    if (value.is_integral()) done = writer.integer(value.as_integer());
    if (value.is(Value::Kind::number)) done = writer.real(value.as_number());
  }
  if (!done) {
    meter.raise(Code::corrupt, "the format {} does not suit {}.", quoted(spec, 64),
                name(value.kind()));
  }
}

}  // namespace tacet::jinja
