#include "text/jinja/value.hpp"

#include <algorithm>

#include "text/jinja/interpreter.hpp"

namespace tacet::jinja {

struct Value::List {
  std::vector<Value> items;
  bool is_tuple;
  bool is_group;
  int depth;
};

struct Value::Dict {
  std::vector<Entry> entries;
  int depth;
};

Value Value::undefined(std::string name) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(name))};
  return value;
}

Value Value::none() {
  Value value;
  value.data_ = None{};
  return value;
}

Value Value::boolean(bool boolean) {
  Value value;
  value.data_ = boolean;
  return value;
}

Value Value::integer(std::int64_t integer) {
  Value value;
  value.data_ = integer;
  return value;
}

Value Value::number(double number) {
  Value value;
  value.data_ = number;
  return value;
}

Value Value::string(std::string text) {
  Value value;
  value.data_ = std::make_shared<const std::string>(std::move(text));
  return value;
}

Value Value::sequence(std::vector<Value> items, bool is_tuple, bool is_group) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  Value value;
  value.data_ = std::make_shared<const List>(List{std::move(items), is_tuple, is_group, depth + 1});
  return value;
}

Value Value::list(std::vector<Value> items) {
  return sequence(std::move(items), false);
}

Value Value::tuple(std::vector<Value> items) {
  return sequence(std::move(items), true);
}

Value Value::group(Value key, Value items) {
  return sequence({std::move(key), std::move(items)}, true, true);
}

bool Value::is_group() const noexcept {
  const ListPointer* list = std::get_if<ListPointer>(&data_);
  return list != nullptr && (*list)->is_group;
}

Value Value::dict(std::vector<Entry> entries) {
  int depth = 0;
  for (const Entry& entry : entries) {
    depth = std::max({depth, entry.first.depth(), entry.second.depth()});
  }
  Value value;
  value.data_ = std::make_shared<const Dict>(Dict{std::move(entries), depth + 1});
  return value;
}

Value Value::dict(std::vector<std::pair<std::string, Value>> entries) {
  std::vector<Entry> converted;
  converted.reserve(entries.size());
  for (auto& entry : entries) {
    converted.emplace_back(string(std::move(entry.first)), std::move(entry.second));
  }
  return dict(std::move(converted));
}

Value Value::function(Function function) {
  Value value;
  value.data_ = std::make_shared<const Function>(std::move(function));
  return value;
}

Value Value::object(Object* object) {
  Value value;
  value.data_ = object;
  return value;
}

Value::Kind Value::kind() const noexcept {
  switch (data_.index()) {
    case 0:
      return Kind::undefined;
    case 1:
      return Kind::none;
    case 2:
      return Kind::boolean;
    case 3:
      return Kind::integer;
    case 4:
      return Kind::number;
    case 5:
      return Kind::string;
    case 6:
      return std::get<ListPointer>(data_)->is_tuple ? Kind::tuple : Kind::list;
    case 7:
      return Kind::dict;
    case 8:
      return Kind::function;
    default:
      return Kind::object;
  }
}

std::int64_t Value::as_integer() const {
  const bool* boolean = std::get_if<bool>(&data_);
  return boolean != nullptr ? std::int64_t{*boolean} : std::get<std::int64_t>(data_);
}

double Value::as_number() const {
  const double* number = std::get_if<double>(&data_);
  return number != nullptr ? *number : static_cast<double>(as_integer());
}

const std::vector<Value>& Value::items() const {
  return std::get<ListPointer>(data_)->items;
}

const std::vector<Value::Entry>& Value::entries() const {
  return std::get<DictPointer>(data_)->entries;
}

std::string_view Value::undefined_name() const {
  const Undefined* undefined = std::get_if<Undefined>(&data_);
  if (undefined == nullptr || undefined->name == nullptr) return {};
  return *undefined->name;
}

int Value::depth() const noexcept {
  if (const ListPointer* list = std::get_if<ListPointer>(&data_)) return (*list)->depth;
  if (const DictPointer* dict = std::get_if<DictPointer>(&data_)) return (*dict)->depth;
  if (const FunctionPointer* function = std::get_if<FunctionPointer>(&data_)) {
    return (*function)->self.depth() + 1;
  }
  return 0;
}

std::string_view name(Value::Kind kind) noexcept {
  switch (kind) {
    case Value::Kind::undefined:
      return "undefined";
    case Value::Kind::none:
      return "none";
    case Value::Kind::boolean:
      return "boolean";
    case Value::Kind::integer:
      return "integer";
    case Value::Kind::number:
      return "number";
    case Value::Kind::string:
      return "string";
    case Value::Kind::list:
      return "list";
    case Value::Kind::tuple:
      return "tuple";
    case Value::Kind::dict:
      return "dict";
    case Value::Kind::function:
      return "function";
    case Value::Kind::object:
      return "object";
  }
  return "value";
}

}  // namespace tacet::jinja
