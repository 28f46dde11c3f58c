#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "text/jinja/ast.hpp"
#include "text/jinja/meter.hpp"
#include "text/jinja/value.hpp"

namespace tacet::jinja {

class Interpreter;

/// What a call was given.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> keywords;
  Value unpacked = {};  ///< the dict that holds the names of the last keywords

  /// Argument `index`, or the keyword `name`, or null.
  const Value* find(std::size_t index, std::string_view name) const;
};

using Callable = Value (*)(Interpreter&, const Value& self, const Arguments&);

/// Any number of arguments.
inline constexpr std::size_t kAny = SIZE_MAX;

/// A global function, a filter, a test or a method: how it is called, and with what.
struct Builtin {
  std::string_view name;
  Callable call;
  std::size_t least = 0;  ///< arguments it needs
  std::size_t most = 0;   ///< arguments it takes by position, or kAny
  /// The names of the arguments, in their order, where they may be given by name: "width first".
  /// "*": any name.
  std::string_view names = {};
};

/// A builtin, and what it is a method of.
struct Function {
  const Builtin* builtin;
  Value self;
};

/// The variables of one block.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string_view, Value>> variables;
};

/// What changes while a template runs. Owned by the interpreter, which values outlive it never do.
struct Object {
  enum class Kind { space, loop, macro, cycler, joiner };
  Kind kind;
  std::vector<std::pair<std::string, Value>> attributes = {};  ///< of a namespace
  std::vector<Value> items = {};  ///< of a loop or a cycler; a joiner's separator
  std::size_t index = 0;          ///< of a joiner: 0 before its first call
  std::size_t level = 0;          ///< how often a recursive loop was called in itself
  Value last_changed = {};
  const Stmt* macro = nullptr;        ///< or the recursive loop
  std::shared_ptr<Scope> scope = {};  ///< where a macro was defined, or a recursive loop stands
};

std::string_view name(Object::Kind kind) noexcept;

/// Runs one template once. See Meter for how errors travel.
class Interpreter : public Meter {
 public:
  /// `context` is a dict. All must outlive the interpreter.
  Interpreter(const Ast& ast, const Value& context, const Limits& limits,
              std::chrono::system_clock::time_point now);

  /// The whole text.
  Result<std::string> run();

  // For functions, filters and tests.
  std::chrono::system_clock::time_point now() const noexcept { return now_; }
  Object* make_object(Object::Kind kind);
  Value call(const Value& callee, const Arguments& arguments);
  Value filter(std::string_view filter_name, const Value& input, const Arguments& arguments);
  bool test(std::string_view test_name, const Value& value, const Arguments& arguments);
  /// Sets or adds an attribute of a namespace.
  void set_attribute(Object& space, std::string_view attribute_name, const Value& value);
  /// object.name: a method, an attribute or an entry; undefined if it has none.
  Value attribute(const Value& object, std::string_view attribute_name);
  Value argument(const Arguments& arguments, std::size_t index, std::string_view argument_name,
                 Value missing);

 private:
  enum class Flow { normal, break_loop, continue_loop };

  Flow execute(const std::vector<StmtId>& body, std::string& out);
  Flow execute(const Stmt& stmt, std::string& out);
  Flow loop(const Stmt& stmt, const Value& input, std::size_t level, std::string& out);
  Value call_loop(const Object& loop, const Arguments& arguments);
  Flow conditional(const Stmt& stmt, std::string& out);
  Flow with(const Stmt& stmt, std::string& out);
  Flow scoped(const std::vector<StmtId>& body, std::string& out);
  Flow block(const Stmt& stmt, std::string& out);
  std::vector<Value> loop_items(const Stmt& stmt, const Value& input);
  std::string captured(const Stmt& stmt);
  void set_block(const Stmt& stmt);
  void call_block(const Stmt& stmt, std::string& out);
  void print(const Value& value, std::string& out);
  void check_length(const std::string& out);
  void assign_target(const Target& target, const Value& value);
  Value call_macro(const Object& macro, const Arguments& arguments);
  void set_parameters(const Stmt& macro, const Arguments& arguments);
  Value invoke(const Builtin& builtin, const Value& self, const Arguments& arguments);
  bool check_arguments(const Builtin& builtin, const Arguments& arguments);

  Value evaluate(ExprId id);
  Value evaluate_here(const Expr& expr);
  Value constant_name(const std::string& name);
  Value evaluate_dict(const Expr& expr);
  Value evaluate_compare(const Expr& expr);
  Value evaluate_concat(const Expr& expr);
  Value evaluate_slice(const Expr& expr);
  Value evaluate_filter(const Expr& expr);
  Value evaluate_call(const Expr& expr);
  std::vector<Value> evaluate_all(const Expr& expr, std::size_t first);
  Arguments evaluate_arguments(const Expr& expr);
  void unpack_arguments(const Expr& expr, Arguments& arguments);

  Value* find_variable(std::string_view variable);
  void set_variable(std::string_view variable, Value value);
  bool enter();
  void push_scope() { scope_ = std::make_shared<Scope>(Scope{scope_, {}}); }

  const Ast& ast_;
  const Value& context_;
  std::chrono::system_clock::time_point now_;
  std::shared_ptr<Scope> scope_;
  std::vector<std::unique_ptr<Object>> objects_;
  Value block_text_;  ///< what a filter block or a set block filters
  int depth_ = 0;
};

/// The global function of that name.
Value strftime_now(Interpreter& run, const Value& self, const Arguments& arguments);

// The tables; null if there is no such name.
const Builtin* find_global(std::string_view name) noexcept;
const Builtin* find_filter(std::string_view name) noexcept;
/// A test's callable returns a boolean.
const Builtin* find_test(std::string_view name) noexcept;
const Builtin* find_method(const Value& self, std::string_view name) noexcept;

}  // namespace tacet::jinja
