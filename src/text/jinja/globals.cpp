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
      run.set_attribute(*object, to_text(key, run), value);
    }
  }
  for (const auto& [key, value] : arguments.keywords) {
    run.set_attribute(*object, key, value);
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

Value make_cycler(Interpreter& run, const Value&, const Arguments& arguments) {
  if (!run.take(arguments.positional.size() * 64)) return {};
  Object* object = run.make_object(Object::Kind::cycler);
  object->items = arguments.positional;
  return Value::object(object);
}

Value make_joiner(Interpreter& run, const Value&, const Arguments& arguments) {
  Object* object = run.make_object(Object::Kind::joiner);
  object->items = {run.argument(arguments, 0, "sep", Value::string(", "))};
  return Value::object(object);
}

Value raise_exception(Interpreter& run, const Value&, const Arguments& arguments) {
  return run.refuse(to_text(run.argument(arguments, 0, "message", Value()), run));
}

constexpr std::array<Builtin, 7> kGlobals = {{
    {"namespace", make_namespace, 0, 1, "*"},
    {"dict", make_dict, 0, 1, "*"},
    {"range", range, 1, 3},
    {"cycler", make_cycler, 1, kAny},
    {"joiner", make_joiner, 0, 1, "sep"},
    {"strftime_now", strftime_now, 1, 1, "format"},
    {"raise_exception", raise_exception, 1, 1, "message"},
}};

}  // namespace

const Builtin* find_global(std::string_view name) noexcept {
  for (const Builtin& entry : kGlobals) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tacet::jinja
