#include <algorithm>
#include <array>
#include <cmath>

#include "formats/gguf/value.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/literals.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"

namespace tacet::jinja {
namespace {

using Kind = Value::Kind;

Value length_of(Interpreter& run, const Value& input, const Arguments&) {
  std::size_t size = 0;
  switch (input.kind()) {
    case Kind::undefined:
      break;
    case Kind::string:
      run.spend(1 + input.as_string().size() / 64);
      size = length(input.as_string());
      break;
    case Kind::list:
    case Kind::tuple:
      size = input.items().size();
      break;
    case Kind::dict:
      size = input.entries().size();
      break;
    default:
      return run.raise(Code::corrupt, "{} has no length.", name(input.kind()));
  }
  return Value::integer(static_cast<std::int64_t>(size));
}

Value fallback(Interpreter& run, const Value& input, const Arguments& arguments) {
  const bool also_empty = truthy(run.argument(arguments, 1, "boolean", Value()));
  const bool use = input.is(Kind::undefined) || (also_empty && !truthy(input));
  return use ? run.argument(arguments, 0, "default_value", Value::string({})) : input;
}

Value to_json(Interpreter& run, const Value& input, const Arguments& arguments) {
  JsonStyle style;
  style.ensure_ascii = truthy(run.argument(arguments, 0, "ensure_ascii", Value()));
  const Value indent = run.argument(arguments, 1, "indent", Value::none());
  const Value separators = run.argument(arguments, 2, "separators", Value::none());
  style.sort_keys = truthy(run.argument(arguments, 3, "sort_keys", Value()));
  if (indent.is_integral()) {
    const std::int64_t width = std::clamp<std::int64_t>(indent.as_integer(), 0, 64);
    style.indent = std::string(static_cast<std::size_t>(width), ' ');
  } else if (indent.is(Kind::string)) {
    style.indent = indent.as_string();
  }
  if (style.indent) style.item_separator.resize(1);
  if (separators.is_sequence() && separators.items().size() == 2) {
    style.item_separator = to_text(separators.items()[0], run);
    style.key_separator = to_text(separators.items()[1], run);
  }
  std::string json;
  append_json(input, style, json, run);
  return run.text(std::move(json));
}

Value first_item(Interpreter& run, const Value& input, const Arguments&) {
  const std::vector<Value> items = iterate(input, run);
  return items.empty() ? Value::undefined("first") : items.front();
}

Value last_item(Interpreter& run, const Value& input, const Arguments&) {
  const std::vector<Value> items = iterate(input, run);
  return items.empty() ? Value::undefined("last") : items.back();
}

Value to_list(Interpreter& run, const Value& input, const Arguments&) {
  return run.list(iterate(input, run));
}

Value to_string(Interpreter& run, const Value& input, const Arguments&) {
  return input.is(Kind::string) ? input : run.text(to_text(input, run));
}

/// A text without its sign and the white space around it. `negative`: the sign was "-".
std::string_view without_sign(std::string_view text, bool& negative) {
  text = strip_left(strip_right(text));
  negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return text;
}

/// float(text), but only for digits of ASCII.
std::optional<double> parse_number(std::string_view text) {
  bool negative = false;
  text = without_sign(text, negative);
  const std::string word = lower(text.substr(0, 9));
  if (word == "inf" || word == "infinity" || word == "nan") {
    const double value = word == "nan" ? std::nan("") : HUGE_VAL;
    return negative ? -value : value;
  }
  const auto value = read_decimal(text);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

/// int(text, base), but only for digits of ASCII.
std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t base) {
  bool negative = false;
  text = without_sign(text, negative);
  return read_integer(text, negative, base);
}

/// A float without its fraction; `missing` if it does not fit.
Value truncated(double number, const Value& missing) {
  constexpr double kLimit = 9223372036854775808.0;
  if (!(number > -kLimit && number < kLimit)) return missing;
  return Value::integer(static_cast<std::int64_t>(number));
}

Value to_integer(Interpreter& run, const Value& input, const Arguments& arguments) {
  Value missing = run.argument(arguments, 0, "default", Value::integer(0));
  const Value base = run.argument(arguments, 1, "base", Value::integer(10));
  if (input.is_integral()) return Value::integer(input.as_integer());
  if (input.is(Kind::number)) return truncated(input.as_number(), missing);
  if (!input.is(Kind::string) || !base.is_integral()) return missing;
  if (const auto number = parse_integer(input.as_string(), base.as_integer())) {
    return Value::integer(*number);
  }
  const auto number = parse_number(input.as_string());
  return number ? truncated(*number, missing) : missing;
}

Value to_number(Interpreter& run, const Value& input, const Arguments& arguments) {
  Value missing = run.argument(arguments, 0, "default", Value::number(0));
  const auto number = filters::number_of(input);
  return number ? Value::number(*number) : missing;
}

Value absolute(Interpreter& run, const Value& input, const Arguments&) {
  if (!input.is_numeric()) return run.raise(Code::corrupt, "abs needs a number.");
  if (input.is(Kind::number)) return Value::number(std::fabs(input.as_number()));
  return input.as_integer() < 0 ? negated(input, run) : Value::integer(input.as_integer());
}

/// To a multiple of 10^-digits, of two equally near ones the even one.
Value rounded_integer(Interpreter& run, std::int64_t value, std::int64_t digits) {
  if (digits >= 0) return Value::integer(value);
  if (digits < -19) return Value::integer(0);
  std::uint64_t unit = 1;
  for (std::int64_t i = digits; i < 0; ++i) unit *= 10;
  const auto size =
      value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const std::uint64_t rest = size % unit;
  const bool up = rest > unit - rest || (rest == unit - rest && size / unit % 2 == 1);
  const std::uint64_t down = size - rest;
  if (up &&
      down > static_cast<std::uint64_t>(INT64_MAX) - std::min<std::uint64_t>(unit, INT64_MAX)) {
    return run.raise(Code::unsupported, "a number needs more than 64 bits.");
  }
  const auto result = static_cast<std::int64_t>(up ? down + unit : down);
  return Value::integer(value < 0 ? -result : result);
}

Value rounded(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value precision = run.argument(arguments, 0, "precision", Value::integer(0));
  const Value method = run.argument(arguments, 1, "method", Value::string("common"));
  if (!input.is_numeric() || !precision.is_integral() || !method.is(Kind::string)) {
    return run.raise(Code::corrupt, "round needs a number.");
  }
  const std::int64_t digits = std::clamp<std::int64_t>(precision.as_integer(), -300, 300);
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double value = input.as_number();
  if (method.as_string() == "ceil") return Value::number(std::ceil(value * scale) / scale);
  if (method.as_string() == "floor") return Value::number(std::floor(value * scale) / scale);
  if (method.as_string() != "common") {
    return run.raise(Code::corrupt, "round knows the methods common, ceil and floor, not {}.",
                     quoted(method.as_string()));
  }
  if (input.is_integral()) return rounded_integer(run, input.as_integer(), digits);
  if (digits == 0) return Value::number(std::nearbyint(value));
  if (digits > 17) return Value::number(std::nearbyint(value * scale) / scale);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return Value::number(std::nearbyint(value / unit) * unit);
  }
  // Correctly rounded decimals, as Python has them.
  const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
  return Value::number(parse_number(text).value_or(value));
}

Value dict_items(Interpreter& run, const Value& input, const Arguments&) {
  if (input.is(Kind::undefined)) return run.list({});
  if (!input.is(Kind::dict)) {
    return run.raise(Code::corrupt, "items needs a dict, not {}.", name(input.kind()));
  }
  return entries_of(input, run);
}

Value same(Interpreter&, const Value& input, const Arguments&) {
  return input;
}

Value attribute_of(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value attribute = run.argument(arguments, 0, "name", Value());
  return run.attribute(input, to_text(attribute, run));
}

constexpr std::array<Builtin, 22> kFilters = {{
    {"length", length_of},
    {"count", length_of},
    {"default", fallback, 0, 2, "default_value boolean"},
    {"d", fallback, 0, 2, "default_value boolean"},
    {"tojson", to_json, 0, 4, "ensure_ascii indent separators sort_keys"},
    {"first", first_item},
    {"last", last_item},
    {"list", to_list},
    {"string", to_string},
    {"int", to_integer, 0, 2, "default base"},
    {"float", to_number, 0, 1, "default"},
    {"abs", absolute},
    {"round", rounded, 0, 2, "precision method"},
    {"items", dict_items},
    {"safe", same},
    {"attr", attribute_of, 1, 1, "name"},
    {"trim", filters::trim, 0, 1, "chars"},
    {"upper", filters::upper_case},
    {"lower", filters::lower_case},
    {"capitalize", filters::capital},
    {"title", filters::titled},
    {"replace", filters::replace, 2, 3, "old new count"},
}};

}  // namespace

std::optional<double> filters::number_of(const Value& value) {
  if (value.is_numeric()) return value.as_number();
  return value.is(Kind::string) ? parse_number(value.as_string()) : std::nullopt;
}

const Builtin* find_filter(std::string_view name) noexcept {
  for (const Builtin& entry : kFilters) {
    if (entry.name == name) return &entry;
  }
  return filters::find_list_filter(name);
}

}  // namespace tacet::jinja
