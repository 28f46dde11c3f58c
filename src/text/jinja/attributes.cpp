#include <algorithm>
#include <array>
#include <utility>

#include "formats/gguf/value.hpp"
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

constexpr std::array<Builtin, 2> kLoopMethods = {{
    {"cycle", cycle, 0, kAny},
    {"changed", changed, 0, kAny},
}};

Value next_of_cycler(Interpreter&, const Value& self, const Arguments&) {
  Object& cycler = *self.as_object();
  const std::size_t index = std::exchange(cycler.index, (cycler.index + 1) % cycler.items.size());
  return cycler.items[index];
}

Value reset_cycler(Interpreter&, const Value& self, const Arguments&) {
  self.as_object()->index = 0;
  return Value::none();
}

constexpr std::array<Builtin, 2> kCyclerMethods = {{
    {"next", next_of_cycler},
    {"reset", reset_cycler},
}};

Value cycler_attribute(const Value& self, std::string_view name) {
  const Object& cycler = *self.as_object();
  if (name == "current") return cycler.items[cycler.index];
  for (const Builtin& method : kCyclerMethods) {
    if (method.name == name) return Value::function({.builtin = &method, .self = self});
  }
  return Value::undefined(clipped(name));
}

Value macro_attribute(Interpreter& run, const Stmt& macro, std::string_view name) {
  if (name == "name" && macro.kind == Stmt::Kind::macro) return Value::string(macro.text);
  if (name == "name") return Value::none();
  if (name == "caller") return Value::boolean(macro.extras.caller);
  if (name == "catch_kwargs") return Value::boolean(macro.extras.names);
  if (name == "catch_varargs") return Value::boolean(macro.extras.positions);
  if (name != "arguments") return Value::undefined(clipped(name));
  std::vector<Value> names;
  for (const Parameter& parameter : macro.parameters) names.push_back(run.text(parameter.name));
  return run.tuple(std::move(names));
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
  if (name == "depth") return number(loop.level + 1);
  if (name == "depth0") return number(loop.level);
  for (const Builtin& method : kLoopMethods) {
    if (method.name == name) return Value::function({.builtin = &method, .self = self});
  }
  return Value::undefined(clipped(name));
}

Value object_attribute(Interpreter& run, const Value& self, std::string_view name) {
  const Object& object = *self.as_object();
  if (object.kind == Object::Kind::loop) return loop_attribute(self, name);
  if (object.kind == Object::Kind::macro) return macro_attribute(run, *object.macro, name);
  if (object.kind == Object::Kind::cycler) return cycler_attribute(self, name);
  if (!run.spend_scan(object.attributes.size(), name.size())) return {};
  for (const auto& [key, value] : object.attributes) {
    if (key == name) return value;
  }
  return Value::undefined(clipped(name));
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view attribute_name) {
  if (failed()) return {};
  if (object.is(Value::Kind::undefined)) {
    return raise(Code::corrupt, "{} is undefined.", quoted(object.undefined_name()));
  }
  if (const Builtin* method = find_method(object, attribute_name)) {
    return Value::function({.builtin = method, .self = object});
  }
  if (object.is_group() && attribute_name == "grouper") return object.items()[0];
  if (object.is_group() && attribute_name == "list") return object.items()[1];
  if (object.is(Value::Kind::object)) return object_attribute(*this, object, attribute_name);
  if (object.is(Value::Kind::dict)) {
    if (const Value* value = lookup(object, attribute_name, *this)) return *value;
  }
  return Value::undefined(clipped(attribute_name));
}

}  // namespace tacet::jinja
