#include <algorithm>
#include <optional>

#include "formats/gguf/value.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"

namespace tacet::jinja {
namespace {

constexpr std::uint64_t kArgumentBytes = 64;

/// Which of the names, parted by single spaces, `wanted` is.
std::optional<std::size_t> index_in(std::string_view names, std::string_view wanted) noexcept {
  for (std::size_t index = 0; !names.empty(); ++index) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == wanted) return index;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return std::nullopt;
}

}  // namespace

const Value* Arguments::find(std::size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  const auto found = std::find_if(keywords.begin(), keywords.end(),
                                  [&](const auto& keyword) { return keyword.first == name; });
  return found != keywords.end() ? &found->second : nullptr;
}

Value Interpreter::evaluate(ExprId id) {
  if (!enter()) return {};
  ++depth_;
  Value value = evaluate_here(ast_.expression(id));
  --depth_;
  return failed() ? Value() : value;
}

Value Interpreter::evaluate_here(const Expr& expr) {
  const auto child = [&](std::size_t index) { return evaluate(expr.children[index]); };
  switch (expr.kind) {
    case Expr::Kind::constant:
      return expr.constant;
    case Expr::Kind::name:
      return constant_name(expr.text);
    case Expr::Kind::list:
      return list(evaluate_all(expr, 0));
    case Expr::Kind::tuple:
      return tuple(evaluate_all(expr, 0));
    case Expr::Kind::dict:
      return evaluate_dict(expr);
    case Expr::Kind::attribute:
      return attribute(child(0), expr.text);
    case Expr::Kind::item: {
      const Value object = child(0);
      const Value key = child(1);
      if (failed()) return {};
      Value value = item(object, key, *this);
      // As jinja2 does: x["y"] may also be an attribute.
      if (value.is(Value::Kind::undefined) && key.is(Value::Kind::string) &&
          !object.is(Value::Kind::undefined)) {
        return attribute(object, key.as_string());
      }
      return value;
    }
    case Expr::Kind::slice:
      return evaluate_slice(expr);
    case Expr::Kind::call:
      return evaluate_call(expr);
    case Expr::Kind::filter:
      return evaluate_filter(expr);
    case Expr::Kind::test: {
      const Value value = child(0);
      return Value::boolean(test(expr.text, value, evaluate_arguments(expr)));
    }
    case Expr::Kind::negate:
      return negated(child(0), *this);
    case Expr::Kind::plus:
      return arithmetic(Operator::add, Value::integer(0), child(0), *this);
    case Expr::Kind::logical_not:
      return Value::boolean(!truthy(child(0)));
    case Expr::Kind::logical_and: {
      Value left = child(0);
      return truthy(left) ? child(1) : left;
    }
    case Expr::Kind::logical_or: {
      Value left = child(0);
      return truthy(left) ? left : child(1);
    }
    case Expr::Kind::binary: {
      const Value left = child(0);
      const Value right = child(1);
      return arithmetic(expr.operators[0], left, right, *this);
    }
    case Expr::Kind::compare:
      return evaluate_compare(expr);
    case Expr::Kind::concat:
      return evaluate_concat(expr);
    case Expr::Kind::conditional:
      if (truthy(child(0))) return child(1);
      return expr.children[2] == kNothing ? Value::undefined("the inline if") : child(2);
  }
  return {};
}

Value Interpreter::constant_name(const std::string& variable) {
  if (const Value* value = find_variable(variable)) return *value;
  if (const Value* value = lookup(context_, std::string_view(variable), *this)) return *value;
  if (const Builtin* builtin = find_global(variable)) {
    return Value::function({.builtin = builtin, .self = {}});
  }
  return Value::undefined(variable);
}

std::vector<Value> Interpreter::evaluate_all(const Expr& expr, std::size_t first) {
  std::vector<Value> values;
  for (std::size_t i = first; i < expr.children.size() && !failed(); ++i) {
    values.push_back(evaluate(expr.children[i]));
  }
  return values;
}

Value Interpreter::evaluate_dict(const Expr& expr) {
  std::vector<Value::Entry> entries;
  for (std::size_t i = 0; i + 1 < expr.children.size() && !failed(); i += 2) {
    Value key = evaluate(expr.children[i]);
    Value value = evaluate(expr.children[i + 1]);
    if (key.is(Value::Kind::list) || key.is(Value::Kind::dict)) {
      return raise(Code::corrupt, "{} can not be the key of a dict.", name(key.kind()));
    }
    assign(entries, std::move(key), std::move(value), *this);
  }
  return dict(std::move(entries));
}

Value Interpreter::evaluate_compare(const Expr& expr) {
  Value left = evaluate(expr.children[0]);
  for (std::size_t i = 0; i < expr.operators.size() && !failed(); ++i) {
    Value right = evaluate(expr.children[i + 1]);
    if (failed() || !compare(expr.operators[i], left, right, *this)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_concat(const Expr& expr) {
  std::string joined;
  for (const ExprId id : expr.children) {
    append_text(evaluate(id), joined, *this);
    if (failed()) return {};
  }
  return text(std::move(joined));
}

Value Interpreter::evaluate_slice(const Expr& expr) {
  const auto bound = [&](std::size_t index) {
    const ExprId id = expr.children[index];
    return id == kNothing ? Value::none() : evaluate(id);
  };
  const Value object = evaluate(expr.children[0]);
  const Value start = bound(1);
  const Value stop = bound(2);
  const Value step = bound(3);
  return failed() ? Value() : slice(object, start, stop, step, *this);
}

Arguments Interpreter::evaluate_arguments(const Expr& expr) {
  Arguments arguments;
  if (!take((expr.children.size() - 1 + expr.keywords.size()) * kArgumentBytes)) return arguments;
  arguments.positional = evaluate_all(expr, 1);
  for (const Keyword& keyword : expr.keywords) {
    if (failed()) break;
    arguments.keywords.emplace_back(keyword.name, evaluate(keyword.value));
  }
  unpack_arguments(expr, arguments);
  return arguments;
}

void Interpreter::unpack_arguments(const Expr& expr, Arguments& arguments) {
  if (expr.unpacked_list != kNothing) {
    for (Value& value : iterate(evaluate(expr.unpacked_list), *this)) {
      arguments.positional.push_back(std::move(value));
    }
  }
  if (expr.unpacked_dict == kNothing || failed()) return;
  arguments.unpacked = evaluate(expr.unpacked_dict);
  if (failed()) return;
  if (!arguments.unpacked.is(Value::Kind::dict)) {
    raise(Code::corrupt, "** needs a dict, not {}.", name(arguments.unpacked.kind()));
    return;
  }
  const std::size_t named = arguments.keywords.size();
  for (const auto& [key, value] : arguments.unpacked.entries()) {
    if (!spend() || !take(kArgumentBytes)) return;
    if (!key.is(Value::Kind::string)) {
      raise(Code::corrupt, "** needs a dict whose keys are strings, not {}.", name(key.kind()));
      return;
    }
    if (!spend_scan(named, key.as_string().size())) return;
    const auto given = arguments.keywords.begin() + static_cast<std::ptrdiff_t>(named);
    const bool twice =
        std::any_of(arguments.keywords.begin(), given,
                    [&name = key.as_string()](const auto& one) { return one.first == name; });
    if (twice) {
      raise(Code::corrupt, "the argument {} is given twice.", quoted(key.as_string(), 64));
      return;
    }
    arguments.keywords.emplace_back(key.as_string(), value);
  }
}

Value Interpreter::evaluate_filter(const Expr& expr) {
  const Value input = expr.children[0] == kNothing ? block_text_ : evaluate(expr.children[0]);
  const Arguments arguments = evaluate_arguments(expr);
  return failed() ? Value() : filter(expr.text, input, arguments);
}

Value Interpreter::evaluate_call(const Expr& expr) {
  const Expr& named = ast_.expression(expr.children[0]);
  const bool is_method = named.kind == Expr::Kind::attribute;
  const Value object = is_method ? evaluate(named.children[0]) : Value();
  const Value callee = is_method ? attribute(object, named.text) : evaluate(expr.children[0]);
  const Arguments arguments = evaluate_arguments(expr);
  if (failed()) return {};
  set_line(expr.line);
  if (callee.is(Value::Kind::undefined)) {
    if (object.is(Value::Kind::string) || object.is(Value::Kind::dict) || object.is_sequence()) {
      return raise(Code::unsupported, "the method {} of a {} is not supported.", quoted(named.text),
                   name(object.kind()));
    }
    return raise(Code::corrupt, "{} is not something that can be called; define it first.",
                 quoted(named.text));
  }
  return call(callee, arguments);
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (!spend()) return {};
  if (callee.is(Value::Kind::function)) {
    const Function& function = callee.as_function();
    return invoke(*function.builtin, function.self, arguments);
  }
  if (callee.is(Value::Kind::object) && callee.as_object()->kind == Object::Kind::macro) {
    return call_macro(*callee.as_object(), arguments);
  }
  if (callee.is(Value::Kind::object) && callee.as_object()->kind == Object::Kind::loop &&
      callee.as_object()->macro != nullptr) {
    return call_loop(*callee.as_object(), arguments);
  }
  if (callee.is(Value::Kind::object) && callee.as_object()->kind == Object::Kind::joiner) {
    if (!arguments.positional.empty() || !arguments.keywords.empty())
      return raise(Code::corrupt, "a joiner is called without arguments.");
    return callee.as_object()->index++ == 0 ? Value::string({}) : callee.as_object()->items[0];
  }
  return raise(Code::corrupt, "{} can not be called.", name(callee.kind()));
}

Value Interpreter::filter(std::string_view filter_name, const Value& input,
                          const Arguments& arguments) {
  const Builtin* builtin = find_filter(filter_name);
  if (builtin == nullptr) {
    return raise(Code::unsupported, "the filter {} is not supported.", quoted(filter_name));
  }
  return invoke(*builtin, input, arguments);
}

bool Interpreter::test(std::string_view test_name, const Value& value, const Arguments& arguments) {
  const Builtin* builtin = find_test(test_name);
  if (builtin == nullptr) {
    raise(Code::unsupported, "the test {} is not supported.", quoted(test_name));
    return false;
  }
  return truthy(invoke(*builtin, value, arguments));
}

Value Interpreter::invoke(const Builtin& builtin, const Value& self, const Arguments& arguments) {
  // A builtin can call another: `map` takes the name of a filter, which may be "map".
  if (!enter() || !check_arguments(builtin, arguments)) return {};
  ++depth_;
  Value result = builtin.call(*this, self, arguments);
  --depth_;
  return failed() ? Value() : result;
}

bool Interpreter::check_arguments(const Builtin& builtin, const Arguments& arguments) {
  const std::size_t given = arguments.positional.size();
  if (given > builtin.most) {
    raise(Code::corrupt, "{} takes at most {} arguments, not {}; leave the others out.",
          builtin.name, builtin.most, given);
    return false;
  }
  std::size_t needed = given < builtin.least ? builtin.least - given : 0;
  // The parser refuses a name that is given twice.
  for (const auto& [key, value] : arguments.keywords) {
    if (builtin.names == "*") break;
    const auto index = index_in(builtin.names, key);
    if (!index || *index < given) {
      raise(Code::corrupt, "{} takes no argument {}{}; leave it out.", builtin.name, quoted(key),
            index ? " twice" : "");
      return false;
    }
    if (*index < builtin.least && needed > 0) --needed;
  }
  if (needed > 0) {
    raise(Code::corrupt, "{} needs {} arguments, not {}.", builtin.name, builtin.least,
          given + arguments.keywords.size());
    return false;
  }
  return true;
}

Value Interpreter::argument(const Arguments& arguments, std::size_t index,
                            std::string_view argument_name, Value missing) {
  const Value* found = arguments.find(index, argument_name);
  if (found != nullptr) return *found;
  return missing;
}

}  // namespace tacet::jinja
