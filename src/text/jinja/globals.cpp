#include <array>

#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"

namespace tacet::jinja {
namespace {

Value make_namespace(Interpreter& run, const Value&, const Arguments& arguments) {
  Object* object = run.make_object(Object::Kind::space);
  if (!arguments.positional.empty() && arguments.positional[0].is(Value::Kind::dict)) {
    for (const auto& [key, value] : arguments.positional[0].entries()) {
      object->attributes.emplace_back(to_text(key, run), value);
    }
  }
  for (const auto& [key, value] : arguments.keywords) {
    object->attributes.emplace_back(std::string(key), value);
  }
  return Value::object(object);
}

Value make_dict(Interpreter& run, const Value&, const Arguments& arguments) {
  std::vector<Value::Entry> entries;
  if (!arguments.positional.empty() && arguments.positional[0].is(Value::Kind::dict)) {
    if (!run.take(arguments.positional[0].entries().size() * 128)) return {};
    entries = arguments.positional[0].entries();
  }
  for (const auto& [key, value] : arguments.keywords) {
    assign(entries, run.text(std::string(key)), value, run);
  }
  return run.dict(std::move(entries));
}

Value range(Interpreter& run, const Value&, const Arguments& arguments) {
  const std::vector<Value>& bounds = arguments.positional;
  if (bounds.empty() || bounds.size() > 3) {
    return run.raise(Code::corrupt, "range takes 1 to 3 integers.");
  }
  for (const Value& bound : bounds) {
    if (!bound.is_integral()) {
      return run.raise(Code::corrupt, "range takes integers, not {}.", name(bound.kind()));
    }
  }
  const std::int64_t start = bounds.size() > 1 ? bounds[0].as_integer() : 0;
  const std::int64_t stop = bounds[bounds.size() > 1 ? 1 : 0].as_integer();
  const std::int64_t step = bounds.size() > 2 ? bounds[2].as_integer() : 1;
  if (step == 0) return run.raise(Code::corrupt, "range can not have the step 0.");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (!run.spend() || !run.take(64)) return {};
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return run.list(std::move(items));
}

Value raise_exception(Interpreter& run, const Value&, const Arguments& arguments) {
  return run.refuse(to_text(run.argument(arguments, 0, "message", Value()), run));
}

struct Entry {
  std::string_view name;
  Callable callable;
};

constexpr std::array<Entry, 4> kGlobals = {{
    {"namespace", make_namespace},
    {"dict", make_dict},
    {"range", range},
    {"raise_exception", raise_exception},
}};

}  // namespace

Callable find_global(std::string_view name) noexcept {
  for (const Entry& entry : kGlobals) {
    if (entry.name == name) return entry.callable;
  }
  return nullptr;
}

}  // namespace tacet::jinja
