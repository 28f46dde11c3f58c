#include <algorithm>

#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"

namespace tacet::jinja {
namespace {

Value changed(Interpreter& run, const Value& self, const Arguments& arguments) {
  Object& loop = *self.as_object();
  const Value now = run.tuple(arguments.positional);
  if (equal(loop.last_changed, now, run)) return Value::boolean(false);
  loop.last_changed = now;
  return Value::boolean(true);
}

Value cycle(Interpreter& run, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) {
    return run.raise(Code::corrupt, "loop.cycle needs something to choose from.");
  }
  return arguments.positional[self.as_object()->index % arguments.positional.size()];
}

Value loop_attribute(const Value& self, std::string_view name) {
  const Object& loop = *self.as_object();
  const std::size_t size = loop.items.size();
  const std::size_t index = std::min(loop.index, size - 1);
  const auto number = [](std::size_t value) {
    return Value::integer(static_cast<std::int64_t>(value));
  };
  if (name == "index") return number(index + 1);
  if (name == "index0") return number(index);
  if (name == "revindex") return number(size - index);
  if (name == "revindex0") return number(size - index - 1);
  if (name == "length") return number(size);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == size);
  if (name == "previtem" && index > 0) return loop.items[index - 1];
  if (name == "nextitem" && index + 1 < size) return loop.items[index + 1];
  if (name == "depth") return number(1);
  if (name == "depth0") return number(0);
  if (name == "cycle") return Value::function({.name = "cycle", .call = cycle, .self = self});
  if (name == "changed") return Value::function({.name = "changed", .call = changed, .self = self});
  return Value::undefined(std::string(name));
}

Value object_attribute(const Value& self, std::string_view name) {
  const Object& object = *self.as_object();
  if (object.kind == Object::Kind::loop) return loop_attribute(self, name);
  if (object.kind == Object::Kind::macro && name == "name") {
    return Value::string(object.macro->text);
  }
  for (const auto& [key, value] : object.attributes) {
    if (key == name) return value;
  }
  return Value::undefined(std::string(name));
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view attribute_name) {
  if (failed()) return {};
  if (object.is(Value::Kind::undefined)) {
    return raise(Code::corrupt, "'{}' is undefined.", object.undefined_name());
  }
  if (const Callable method = find_method(object, attribute_name)) {
    // The name lives in the template or in a value that does; a copy of the view is enough.
    return Value::function({.name = "method", .call = method, .self = object});
  }
  if (object.is(Value::Kind::object)) return object_attribute(object, attribute_name);
  if (object.is(Value::Kind::dict)) {
    if (const Value* value = lookup(object, attribute_name, *this)) return *value;
  }
  return Value::undefined(std::string(attribute_name));
}

}  // namespace tacet::jinja
