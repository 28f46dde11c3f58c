#include "text/jinja/print.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/strings.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

void put(std::string_view text, std::string& out, Meter& meter) {
  if (meter.take(text.size())) out += text;
}

void append_quoted(std::string_view text, std::string& out, Meter& meter) {
  if (!meter.take(text.size() * 2 + 2)) return;
  const bool doubled =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = doubled ? '"' : '\'';
  out += quote;
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    const std::uint32_t c = next_utf8(text, position);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(start, position - start);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", c);
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += fmt::format("\\U{:08x}", c);
    }
  }
  out += quote;
}

void append_items(const std::vector<Value>& items, std::string& out, Meter& meter) {
  for (std::size_t i = 0; i < items.size() && meter.spend(); ++i) {
    if (i > 0) put(", ", out, meter);
    append_repr(items[i], out, meter);
  }
}

void append_entries(const std::vector<Value::Entry>& entries, std::string& out, Meter& meter) {
  put("{", out, meter);
  for (std::size_t i = 0; i < entries.size() && meter.spend(); ++i) {
    if (i > 0) put(", ", out, meter);
    append_repr(entries[i].first, out, meter);
    put(": ", out, meter);
    append_repr(entries[i].second, out, meter);
  }
  put("}", out, meter);
}

void append_json_text(std::string_view text, bool ascii, std::string& out, Meter& meter) {
  if (!meter.take(text.size() * 2 + 2)) return;
  out += '"';
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    const std::uint32_t c = next_utf8(text, position);
    constexpr std::string_view kPlain = "\"\\\n\r\t\f\b";
    constexpr std::string_view kEscapes = "\"\\nrtfb";
    const std::size_t known = c < 0x80 ? kPlain.find(static_cast<char>(c)) : std::string_view::npos;
    if (known != std::string_view::npos) {
      out += '\\';
      out += kEscapes[known];
    } else if (c < 0x20 || (ascii && c >= 0x7F && c < 0x10000)) {
      out += fmt::format("\\u{:04x}", c);
    } else if (ascii && c >= 0x10000) {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10),
                         0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      out += text.substr(start, position - start);
    }
  }
  out += '"';
}

class JsonPrinter {
 public:
  JsonPrinter(const JsonStyle& style, std::string& out, Meter& meter)
      : style_(style), out_(out), meter_(meter) {}

  void print(const Value& value, int level) {
    if (!meter_.spend()) return;
    switch (value.kind()) {
      case Value::Kind::none:
        return put("null", out_, meter_);
      case Value::Kind::boolean:
        return put(value.as_boolean() ? "true" : "false", out_, meter_);
      case Value::Kind::integer:
        return put(std::to_string(value.as_integer()), out_, meter_);
      case Value::Kind::number:
        return put(json_number(value.as_number()), out_, meter_);
      case Value::Kind::string:
        return append_json_text(value.as_string(), style_.ensure_ascii, out_, meter_);
      case Value::Kind::list:
      case Value::Kind::tuple:
        return print_list(value.items(), level);
      case Value::Kind::dict:
        return print_dict(value, level);
      default:
        meter_.raise(Code::corrupt, "tojson can not write {}.", name(value.kind()));
    }
  }

 private:
  static std::string json_number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return number_text(value);
  }

  void newline(int level) {
    if (!style_.indent) return;
    put("\n", out_, meter_);
    for (int i = 0; i < level; ++i) put(*style_.indent, out_, meter_);
  }

  void print_list(const std::vector<Value>& items, int level) {
    if (items.empty()) return put("[]", out_, meter_);
    put("[", out_, meter_);
    for (std::size_t i = 0; i < items.size() && !meter_.failed(); ++i) {
      if (i > 0) put(style_.item_separator, out_, meter_);
      newline(level + 1);
      print(items[i], level + 1);
    }
    newline(level);
    put("]", out_, meter_);
  }

  void print_key(const Value& key) {
    switch (key.kind()) {
      case Value::Kind::string:
        return append_json_text(key.as_string(), style_.ensure_ascii, out_, meter_);
      case Value::Kind::none:
      case Value::Kind::boolean:
      case Value::Kind::integer:
      case Value::Kind::number:
        put("\"", out_, meter_);
        print(key, 0);
        return put("\"", out_, meter_);
      default:
        meter_.raise(Code::corrupt, "tojson can not write a key of type {}.", name(key.kind()));
    }
  }

  void print_dict(const Value& dict, int level) {
    std::vector<Value::Entry> entries = dict.entries();
    if (entries.empty()) return put("{}", out_, meter_);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
        return less(a.first, b.first, meter_);
      });
    }
    put("{", out_, meter_);
    for (std::size_t i = 0; i < entries.size() && !meter_.failed(); ++i) {
      if (i > 0) put(style_.item_separator, out_, meter_);
      newline(level + 1);
      print_key(entries[i].first);
      put(style_.key_separator, out_, meter_);
      print(entries[i].second, level + 1);
    }
    newline(level);
    put("}", out_, meter_);
  }

  const JsonStyle& style_;
  std::string& out_;
  Meter& meter_;
};

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  std::string result;
  if (text[0] == '-') {
    result += '-';
    text.remove_prefix(1);
  }
  const std::size_t mark = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  std::string digits(text.substr(0, 1));
  if (mark > 2) digits += text.substr(2, mark - 2);
  if (exponent < -4 || exponent >= 16) {
    result += digits[0];
    if (digits.size() > 1) result += "." + digits.substr(1);
    return result + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return result + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole)
    return result + digits + std::string(whole - digits.size(), '0') + ".0";
  return result + digits.substr(0, whole) + "." + digits.substr(whole);
}

void append_text(const Value& value, std::string& out, Meter& meter) {
  if (value.is(Value::Kind::undefined)) return;
  if (value.is(Value::Kind::string)) return put(value.as_string(), out, meter);
  append_repr(value, out, meter);
}

std::string to_text(const Value& value, Meter& meter) {
  std::string text;
  append_text(value, text, meter);
  return text;
}

void append_repr(const Value& value, std::string& out, Meter& meter) {
  if (!meter.spend()) return;
  switch (value.kind()) {
    case Value::Kind::undefined:
      return put("Undefined", out, meter);
    case Value::Kind::none:
      return put("None", out, meter);
    case Value::Kind::boolean:
      return put(value.as_boolean() ? "True" : "False", out, meter);
    case Value::Kind::integer:
      return put(std::to_string(value.as_integer()), out, meter);
    case Value::Kind::number:
      return put(number_text(value.as_number()), out, meter);
    case Value::Kind::string:
      return append_quoted(value.as_string(), out, meter);
    case Value::Kind::list:
      put("[", out, meter);
      append_items(value.items(), out, meter);
      return put("]", out, meter);
    case Value::Kind::tuple:
      put("(", out, meter);
      append_items(value.items(), out, meter);
      return put(value.items().size() == 1 ? ",)" : ")", out, meter);
    case Value::Kind::dict:
      return append_entries(value.entries(), out, meter);
    case Value::Kind::function:
      return put(fmt::format("<function {}>", value.as_function().builtin->name), out, meter);
    case Value::Kind::object:
      // Not what is in it: a namespace can hold itself.
      return put(fmt::format("<{}>", name(value.as_object()->kind)), out, meter);
  }
}

void append_json(const Value& value, const JsonStyle& style, std::string& out, Meter& meter) {
  JsonPrinter(style, out, meter).print(value, 0);
}

}  // namespace tacet::jinja
