#include "text/jinja/format.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "formats/gguf/value.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

/// One %-conversion.
struct Conversion {
  bool left = false;
  bool zero = false;
  bool plus = false;
  bool space = false;
  bool alternate = false;
  std::size_t width = 0;
  std::optional<std::size_t> precision;
  char type = 0;
};

class Formatter {
 public:
  Formatter(std::string_view format, const Value& values, Meter& meter)
      : rest_(format), values_(values), meter_(meter) {}

  Value run() {
    while (!rest_.empty() && meter_.spend()) {
      const std::size_t percent = std::min(rest_.find('%'), rest_.size());
      if (!meter_.take(percent)) return {};
      out_ += rest_.substr(0, percent);
      rest_.remove_prefix(percent);
      if (!rest_.empty() && !convert()) return {};
    }
    const bool all = !values_.is(Value::Kind::tuple) || used_ == values_.items().size();
    const bool one = values_.is(Value::Kind::tuple) || values_.is(Value::Kind::dict) ||
                     values_.is(Value::Kind::list) || used_ > 0;
    if (!all || !one) return meter_.raise(Code::corrupt, "a format has fewer places than values.");
    return meter_.text(std::move(out_));
  }

 private:
  char take() {
    if (rest_.empty()) return '\0';
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  bool fail_format() {
    meter_.raise(Code::corrupt, "a format has a place that can not be read.");
    return false;
  }

  bool number(std::size_t& value) {
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = value * 10 + static_cast<std::size_t>(take() - '0');
      if (value <= kMostFormatWidth) continue;
      meter_.raise(Code::unsupported, "a format is wider than {}.", kMostFormatWidth);
      return false;
    }
    return true;
  }

  /// The value for a place: of its name, or the next one.
  std::optional<Value> next(std::optional<std::string_view> name) {
    if (name) {
      const Value* found = values_.is(Value::Kind::dict) ? lookup(values_, *name, meter_) : nullptr;
      if (found != nullptr) return *found;
    } else if (!values_.is(Value::Kind::tuple)) {
      if (used_++ == 0) return values_;
    } else if (used_ < values_.items().size()) {
      return values_.items()[used_++];
    }
    meter_.raise(Code::corrupt, "a format has more places than values.");
    return std::nullopt;
  }

  bool convert() {
    take();
    std::optional<std::string_view> name;
    if (rest_.starts_with('(')) {
      const std::size_t end = rest_.find(')');
      if (end == std::string_view::npos) return fail_format();
      name = rest_.substr(1, end - 1);
      rest_.remove_prefix(end + 1);
    }
    Conversion conversion;
    for (; !rest_.empty() && std::string_view("-0+ #").find(rest_[0]) != std::string_view::npos;) {
      const char flag = take();
      conversion.left = conversion.left || flag == '-';
      conversion.zero = conversion.zero || flag == '0';
      conversion.plus = conversion.plus || flag == '+';
      conversion.space = conversion.space || flag == ' ';
      conversion.alternate = conversion.alternate || flag == '#';
    }
    if (!number(conversion.width)) return false;
    if (rest_.starts_with('.')) {
      take();
      std::size_t precision = 0;
      if (!number(precision)) return false;
      conversion.precision = precision;
    }
    conversion.type = take();
    if (conversion.type == '%') {
      out_ += '%';
      return true;
    }
    const auto value = next(name);
    return value && write(conversion, *value);
  }

  bool write(const Conversion& how, const Value& value) {
    switch (how.type) {
      case 's':
        return write_text(how, to_text(value, meter_));
      case 'r': {
        std::string text;
        append_repr(value, text, meter_);
        return write_text(how, std::move(text));
      }
      case 'c':
        if (value.is(Value::Kind::string) && length(value.as_string()) == 1) {
          return write_text(how, value.as_string());
        }
        return fail_format();
      case 'd':
      case 'i':
      case 'u':
        return write_integer(how, value);
      case 'x':
      case 'X':
      case 'o':
        return value.is_integral() ? write_integer(how, value) : fail_format();
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
        return write_number(how, value);
      default:
        return fail_format();
    }
  }

  bool write_text(const Conversion& how, std::string text) {
    if (how.precision) text.resize(byte_of(text, *how.precision));
    return pad(how, "", text);
  }

  bool write_integer(const Conversion& how, const Value& value) {
    if (!value.is_numeric()) return fail_format();
    std::int64_t number = 0;
    if (value.is_integral()) {
      number = value.as_integer();
    } else {
      if (!(std::fabs(value.as_number()) < 9.2e18)) return fail_format();
      number = static_cast<std::int64_t>(value.as_number());
    }
    const std::uint64_t size =
        number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    std::string digits = how.type == 'x'   ? fmt::format("{:x}", size)
                         : how.type == 'X' ? fmt::format("{:X}", size)
                         : how.type == 'o' ? fmt::format("{:o}", size)
                                           : fmt::format("{}", size);
    if (how.precision && digits.size() < *how.precision) {
      digits.insert(0, *how.precision - digits.size(), '0');
    }
    std::string_view base;
    if (how.alternate)
      base = how.type == 'x' ? "0x" : how.type == 'X' ? "0X" : how.type == 'o' ? "0o" : "";
    return pad(how, sign(how, number < 0) + std::string(base), digits);
  }

  bool write_number(const Conversion& how, const Value& value) {
    if (!value.is_numeric()) return fail_format();
    const double number = value.as_number();
    const std::string digits = number_digits(std::fabs(number), how.type, how.precision.value_or(6),
                                             how.alternate, meter_);
    Conversion plain = how;
    plain.zero = how.zero && std::isfinite(number);
    return pad(plain, sign(how, std::signbit(number) && !std::isnan(number)), digits);
  }

  static std::string sign(const Conversion& how, bool negative) {
    return negative ? "-" : how.plus ? "+" : how.space ? " " : "";
  }

  bool pad(const Conversion& how, const std::string& head, std::string_view body) {
    const std::size_t size = length(head) + length(body);
    const std::size_t fill = how.width > size ? how.width - size : 0;
    if (!meter_.take(head.size() + body.size() + fill)) return false;
    const bool text = std::string_view("src").find(how.type) != std::string_view::npos;
    const bool zeros = how.zero && !how.left && !text;
    if (!how.left && !zeros) out_.append(fill, ' ');
    out_ += head;
    if (zeros) out_.append(fill, '0');
    out_ += body;
    if (how.left) out_.append(fill, ' ');
    return true;
  }

  std::string_view rest_;
  const Value& values_;
  Meter& meter_;
  std::string out_;
  std::size_t used_ = 0;
};

}  // namespace

Value formatted(std::string_view format, const Value& values, Meter& meter) {
  return Formatter(format, values, meter).run();
}

}  // namespace tacet::jinja
