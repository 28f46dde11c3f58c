#include <array>
#include <cmath>

#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/strings.hpp"

namespace tacet::jinja {
namespace {

using Kind = Value::Kind;

template <Kind kind>
Value is_kind(Interpreter&, const Value& value, const Arguments&) {
  return Value::boolean(value.is(kind));
}

Value is_defined(Interpreter&, const Value& value, const Arguments&) {
  return Value::boolean(!value.is(Kind::undefined));
}

Value is_number(Interpreter&, const Value& value, const Arguments&) {
  return Value::boolean(value.is_numeric());
}

Value is_sequence(Interpreter&, const Value& value, const Arguments&) {
  // What has a length and items: as in Python, dicts and undefined too.
  return Value::boolean(value.is_sequence() || value.is(Kind::string) || value.is(Kind::dict) ||
                        value.is(Kind::undefined));
}

Value is_true(Interpreter&, const Value& value, const Arguments&) {
  return Value::boolean(value.is(Kind::boolean) && value.as_boolean());
}

Value is_false(Interpreter&, const Value& value, const Arguments&) {
  return Value::boolean(value.is(Kind::boolean) && !value.as_boolean());
}

/// Python's `is`, for what is one object whoever makes it.
Value is_same(Interpreter& run, const Value& value, const Arguments& arguments) {
  const Value other = run.argument(arguments, 0, "other", Value());
  return Value::boolean(value.kind() == other.kind() && equal(value, other, run));
}

template <const Builtin* (*find)(std::string_view) noexcept>
Value is_known(Interpreter&, const Value& value, const Arguments&) {
  return Value::boolean(value.is(Kind::string) && find(value.as_string()) != nullptr);
}

Value is_callable(Interpreter&, const Value& value, const Arguments&) {
  const bool macro = value.is(Kind::object) && value.as_object()->kind == Object::Kind::macro;
  return Value::boolean(value.is(Kind::function) || macro);
}

Value rest_is(Interpreter& run, const Value& value, std::int64_t divisor, std::int64_t wanted) {
  const Value rest = arithmetic(Operator::modulo, value, Value::integer(divisor), run);
  return Value::boolean(!run.failed() && equal(rest, Value::integer(wanted), run));
}

Value is_odd(Interpreter& run, const Value& value, const Arguments&) {
  return rest_is(run, value, 2, 1);
}

Value is_even(Interpreter& run, const Value& value, const Arguments&) {
  return rest_is(run, value, 2, 0);
}

Value is_divisible(Interpreter& run, const Value& value, const Arguments& arguments) {
  const Value divisor = run.argument(arguments, 0, "num", Value());
  const Value rest = arithmetic(Operator::modulo, value, divisor, run);
  return Value::boolean(!run.failed() && equal(rest, Value::integer(0), run));
}

template <Operator op>
Value is_compared(Interpreter& run, const Value& value, const Arguments& arguments) {
  return Value::boolean(compare(op, value, run.argument(arguments, 0, "seq", Value()), run));
}

Value is_upper(Interpreter& run, const Value& value, const Arguments&) {
  if (!value.is(Kind::string)) return {};
  const std::string& text = value.as_string();
  if (!run.take(text.size() * 2) || !run.spend(1 + text.size() / 4)) return {};
  return Value::boolean(upper(text) == text && lower(text) != text);
}

Value is_lower(Interpreter& run, const Value& value, const Arguments&) {
  if (!value.is(Kind::string)) return {};
  const std::string& text = value.as_string();
  if (!run.take(text.size() * 2) || !run.spend(1 + text.size() / 4)) return {};
  return Value::boolean(lower(text) == text && upper(text) != text);
}

constexpr std::array<Builtin, 38> kTests = {{
    {"defined", is_defined},
    {"undefined", is_kind<Kind::undefined>},
    {"none", is_kind<Kind::none>},
    {"string", is_kind<Kind::string>},
    {"mapping", is_kind<Kind::dict>},
    {"sequence", is_sequence},
    {"iterable", is_sequence},
    {"number", is_number},
    {"integer", is_kind<Kind::integer>},
    {"float", is_kind<Kind::number>},
    {"boolean", is_kind<Kind::boolean>},
    {"true", is_true},
    {"false", is_false},
    {"callable", is_callable},
    {"sameas", is_same, 1, 1, "other"},
    {"filter", is_known<find_filter>},
    {"test", is_known<find_test>},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible, 1, 1, "num"},
    {"upper", is_upper},
    {"lower", is_lower},
    {"in", is_compared<Operator::in>, 1, 1, "seq"},
    {"eq", is_compared<Operator::equal>, 1, 1},
    {"==", is_compared<Operator::equal>, 1, 1},
    {"equalto", is_compared<Operator::equal>, 1, 1},
    {"ne", is_compared<Operator::not_equal>, 1, 1},
    {"!=", is_compared<Operator::not_equal>, 1, 1},
    {"lt", is_compared<Operator::less>, 1, 1},
    {"<", is_compared<Operator::less>, 1, 1},
    {"lessthan", is_compared<Operator::less>, 1, 1},
    {"le", is_compared<Operator::less_equal>, 1, 1},
    {"<=", is_compared<Operator::less_equal>, 1, 1},
    {"gt", is_compared<Operator::greater>, 1, 1},
    {">", is_compared<Operator::greater>, 1, 1},
    {"greaterthan", is_compared<Operator::greater>, 1, 1},
    {"ge", is_compared<Operator::greater_equal>, 1, 1},
    {">=", is_compared<Operator::greater_equal>, 1, 1},
}};

}  // namespace

const Builtin* find_test(std::string_view name) noexcept {
  for (const Builtin& entry : kTests) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tacet::jinja
