#include "text/jinja/operators.hpp"

#include <algorithm>
#include <cmath>

#include "formats/gguf/value.hpp"
#include "text/jinja/format.hpp"
#include "text/jinja/print.hpp"

namespace tacet::jinja {
namespace {

Value type_error(std::string_view what, const Value& a, const Value& b, Meter& meter) {
  if (a.is(Value::Kind::undefined)) {
    return meter.raise(Code::corrupt, "{} is undefined.", quoted(a.undefined_name()));
  }
  if (b.is(Value::Kind::undefined)) {
    return meter.raise(Code::corrupt, "{} is undefined.", quoted(b.undefined_name()));
  }
  return meter.raise(Code::corrupt, "{} does not go with {} and {}.", what, name(a.kind()),
                     name(b.kind()));
}

Value overflow(Meter& meter) {
  return meter.raise(Code::unsupported, "a number needs more than 64 bits.");
}

Value power_of(std::int64_t base, std::int64_t exponent, Meter& meter) {
  if (exponent < 0) {
    if (base == 0) return meter.raise(Code::corrupt, "division by zero.");
    return Value::number(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 == 0 ? 1 : -1);
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {  // at most 63 rounds before it overflows
    if (__builtin_mul_overflow(result, base, &result)) return overflow(meter);
  }
  return Value::integer(result);
}

Value integer_arithmetic(Operator op, std::int64_t a, std::int64_t b, Meter& meter) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::add:
      return __builtin_add_overflow(a, b, &result) ? overflow(meter) : Value::integer(result);
    case Operator::subtract:
      return __builtin_sub_overflow(a, b, &result) ? overflow(meter) : Value::integer(result);
    case Operator::multiply:
      return __builtin_mul_overflow(a, b, &result) ? overflow(meter) : Value::integer(result);
    case Operator::power:
      return power_of(a, b, meter);
    default:
      break;
  }
  if (b == 0) return meter.raise(Code::corrupt, "division by zero.");
  if (op == Operator::divide) {
    return Value::number(static_cast<double>(a) / static_cast<double>(b));
  }
  if (b == -1) {
    if (op == Operator::modulo) return Value::integer(0);
    return __builtin_sub_overflow(std::int64_t{0}, a, &result) ? overflow(meter)
                                                               : Value::integer(result);
  }
  const bool rounds_up = a % b != 0 && (a < 0) != (b < 0);
  if (op == Operator::modulo) return Value::integer(a % b + (rounds_up ? b : 0));
  return Value::integer(a / b - (rounds_up ? 1 : 0));
}

Value number_arithmetic(Operator op, double a, double b, Meter& meter) {
  switch (op) {
    case Operator::add:
      return Value::number(a + b);
    case Operator::subtract:
      return Value::number(a - b);
    case Operator::multiply:
      return Value::number(a * b);
    case Operator::power: {
      const double result = std::pow(a, b);
      if (std::isfinite(a) && std::isfinite(b) && !std::isfinite(result)) {
        return meter.raise(Code::corrupt, "a power has no finite value.");
      }
      return Value::number(result);
    }
    default:
      break;
  }
  if (b == 0) return meter.raise(Code::corrupt, "division by zero.");
  if (op == Operator::divide) return Value::number(a / b);
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (op == Operator::modulo) return Value::number(rest == 0 ? std::copysign(0.0, b) : rest);
  const double floor = std::floor(quotient);
  return Value::number(quotient - floor > 0.5 ? floor + 1 : floor);
}

Value repeated(const Value& value, std::int64_t count, Meter& meter) {
  const auto times = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
  const std::uint64_t size =
      value.is(Value::Kind::string) ? value.as_string().size() : value.items().size() * 64;
  if (size > 0 && times > meter.limits().memory / size) {
    meter.take(meter.limits().memory + 1);
    return {};
  }
  if (!meter.take(size * times) || size == 0) return size == 0 ? value : Value();
  if (value.is(Value::Kind::string)) {
    std::string text;
    for (std::uint64_t i = 0; i < times; ++i) text += value.as_string();
    return Value::string(std::move(text));
  }
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is(Value::Kind::list) ? Value::list(std::move(items))
                                     : Value::tuple(std::move(items));
}

Value joined(const Value& a, const Value& b, Meter& meter) {
  if (a.is(Value::Kind::string)) {
    if (!meter.take(a.as_string().size() + b.as_string().size())) return {};
    return Value::string(a.as_string() + b.as_string());
  }
  if (!meter.take((a.items().size() + b.items().size()) * 64)) return {};
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is(Value::Kind::list) ? meter.list(std::move(items)) : meter.tuple(std::move(items));
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, Meter& meter) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i], meter)) return false;
  }
  return true;
}

bool equal_dicts(const Value& a, const Value& b, Meter& meter) {
  if (a.entries().size() != b.entries().size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const Value::Entry& entry) {
    const Value* other = lookup(b, entry.first, meter);
    return other != nullptr && equal(entry.second, *other, meter);
  });
}

}  // namespace

bool truthy(const Value& value) noexcept {
  switch (value.kind()) {
    case Value::Kind::undefined:
    case Value::Kind::none:
      return false;
    case Value::Kind::boolean:
      return value.as_boolean();
    case Value::Kind::integer:
      return value.as_integer() != 0;
    case Value::Kind::number:
      return value.as_number() != 0;
    case Value::Kind::string:
      return !value.as_string().empty();
    case Value::Kind::list:
    case Value::Kind::tuple:
      return !value.items().empty();
    case Value::Kind::dict:
      return !value.entries().empty();
    case Value::Kind::function:
    case Value::Kind::object:
      return true;
  }
  return false;
}

bool equal(const Value& a, const Value& b, Meter& meter) {
  if (!meter.spend()) return false;
  if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
  if (a.is_numeric() && b.is_numeric()) return a.as_number() == b.as_number();
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::undefined:
    case Value::Kind::none:
      return true;
    case Value::Kind::string:
      return a.as_string().size() == b.as_string().size() &&
             meter.spend(1 + a.as_string().size() / 256) && a.as_string() == b.as_string();
    case Value::Kind::list:
    case Value::Kind::tuple:
      return equal_items(a.items(), b.items(), meter);
    case Value::Kind::dict:
      return equal_dicts(a, b, meter);
    case Value::Kind::object:
      return a.as_object() == b.as_object();
    default:
      return false;
  }
}

bool less(const Value& a, const Value& b, Meter& meter) {
  if (!meter.spend()) return false;
  if (a.is_integral() && b.is_integral()) return a.as_integer() < b.as_integer();
  if (a.is_numeric() && b.is_numeric()) return a.as_number() < b.as_number();
  if (a.is(Value::Kind::string) && b.is(Value::Kind::string)) {
    meter.spend(1 + std::min(a.as_string().size(), b.as_string().size()) / 256);
    return a.as_string() < b.as_string();
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const std::size_t both = std::min(a.items().size(), b.items().size());
    for (std::size_t i = 0; i < both; ++i) {
      if (!equal(a.items()[i], b.items()[i], meter)) return less(a.items()[i], b.items()[i], meter);
    }
    return a.items().size() < b.items().size();
  }
  type_error("A comparison", a, b, meter);
  return false;
}

bool contains(const Value& container, const Value& item, Meter& meter) {
  switch (container.kind()) {
    case Value::Kind::undefined:
      return false;
    case Value::Kind::string:
      if (!item.is(Value::Kind::string)) break;
      return meter.spend_search(container.as_string().size(), item.as_string().size()) &&
             container.as_string().find(item.as_string()) != std::string::npos;
    case Value::Kind::list:
    case Value::Kind::tuple:
      return std::any_of(container.items().begin(), container.items().end(),
                         [&](const Value& candidate) { return equal(candidate, item, meter); });
    case Value::Kind::dict:
      return lookup(container, item, meter) != nullptr;
    default:
      break;
  }
  type_error("\"in\"", item, container, meter);
  return false;
}

bool compare(Operator op, const Value& a, const Value& b, Meter& meter) {
  switch (op) {
    case Operator::equal:
      return equal(a, b, meter);
    case Operator::not_equal:
      return !equal(a, b, meter);
    case Operator::less:
      return less(a, b, meter);
    case Operator::greater:
      return less(b, a, meter);
    // Not the negation of the opposite, because of NaN.
    case Operator::less_equal:
      return less(a, b, meter) || equal(a, b, meter);
    case Operator::greater_equal:
      return less(b, a, meter) || equal(a, b, meter);
    case Operator::in:
      return contains(b, a, meter);
    case Operator::not_in:
      return !contains(b, a, meter);
    default:
      return false;
  }
}

Value arithmetic(Operator op, const Value& a, const Value& b, Meter& meter) {
  if (!meter.spend()) return {};
  if (a.is_integral() && b.is_integral()) {
    return integer_arithmetic(op, a.as_integer(), b.as_integer(), meter);
  }
  if (a.is_numeric() && b.is_numeric()) {
    return number_arithmetic(op, a.as_number(), b.as_number(), meter);
  }
  const bool is_joinable = a.is(Value::Kind::string) || a.is_sequence();
  if (op == Operator::add && is_joinable && a.kind() == b.kind()) return joined(a, b, meter);
  if (op == Operator::multiply) {
    if (is_joinable && b.is_integral()) return repeated(a, b.as_integer(), meter);
    if (a.is_integral() && (b.is(Value::Kind::string) || b.is_sequence())) {
      return repeated(b, a.as_integer(), meter);
    }
  }
  if (op == Operator::modulo && a.is(Value::Kind::string)) {
    return formatted(a.as_string(), b, meter);
  }
  return type_error("An operator", a, b, meter);
}

Value negated(const Value& value, Meter& meter) {
  if (value.is(Value::Kind::number)) return Value::number(-value.as_number());
  return arithmetic(Operator::subtract, Value::integer(0), value, meter);
}

}  // namespace tacet::jinja
