#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tacet::jinja {

struct Function;
struct Object;

/// What an expression can be: Python's values as far as templates use them. Immutable and cheap to
/// copy (strings, lists and dicts are shared), except for the objects that a rendering owns
/// (namespaces, loops, macros).
class Value {
 public:
  enum class Kind {
    undefined,
    none,
    boolean,
    integer,
    number,
    string,
    list,
    tuple,
    dict,
    function,
    object
  };
  using Entry = std::pair<Value, Value>;

  /// Undefined, as the value of a name that does not exist.
  Value() = default;
  static Value undefined(std::string name);
  static Value none();
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value number(double value);
  /// UTF-8.
  static Value string(std::string value);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  /// The tuple (key, items) with these two also as its attributes grouper and list.
  static Value group(Value key, Value items);
  /// Keeps the order. Keys must differ.
  static Value dict(std::vector<Entry> entries);
  static Value dict(std::vector<std::pair<std::string, Value>> entries);
  static Value function(Function function);
  static Value object(Object* object);

  Kind kind() const noexcept;
  bool is(Kind kind) const noexcept { return this->kind() == kind; }
  /// A list or a tuple.
  bool is_sequence() const noexcept { return is(Kind::list) || is(Kind::tuple); }
  bool is_group() const noexcept;
  /// An integer or a boolean, which counts as 0 or 1.
  bool is_integral() const noexcept { return is(Kind::integer) || is(Kind::boolean); }
  bool is_numeric() const noexcept { return is_integral() || is(Kind::number); }

  // Each only for its kind (see above).
  bool as_boolean() const { return std::get<bool>(data_); }
  std::int64_t as_integer() const;  ///< is_integral
  double as_number() const;         ///< is_numeric
  const std::string& as_string() const { return *std::get<String>(data_); }
  const std::vector<Value>& items() const;  ///< is_sequence
  const std::vector<Entry>& entries() const;
  const Function& as_function() const { return *std::get<FunctionPointer>(data_); }
  Object* as_object() const { return std::get<Object*>(data_); }
  /// The name that was not defined; may be empty.
  std::string_view undefined_name() const;

  /// How deep lists and dicts are nested in it: 0 for all else.
  int depth() const noexcept;

 private:
  struct Undefined {
    std::shared_ptr<const std::string> name;
  };
  struct None {};
  struct List;
  struct Dict;
  using String = std::shared_ptr<const std::string>;
  using ListPointer = std::shared_ptr<const List>;
  using DictPointer = std::shared_ptr<const Dict>;
  using FunctionPointer = std::shared_ptr<const Function>;

  static Value sequence(std::vector<Value> items, bool is_tuple, bool is_group = false);

  std::variant<Undefined, None, bool, std::int64_t, double, String, ListPointer, DictPointer,
               FunctionPointer, Object*>
      data_;
};

/// "string", "list", ... for messages.
std::string_view name(Value::Kind kind) noexcept;

}  // namespace tacet::jinja
