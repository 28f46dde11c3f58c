#include "text/jinja/interpreter.hpp"

#include <algorithm>

#include "formats/gguf/value.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"

namespace tacet::jinja {
namespace {

constexpr int kMaxCallDepth = 256;
constexpr std::uint64_t kObjectBytes = 256;

}  // namespace

std::string_view name(Object::Kind kind) noexcept {
  switch (kind) {
    case Object::Kind::space:
      return "Namespace";
    case Object::Kind::loop:
      return "LoopContext";
    case Object::Kind::macro:
      return "Macro";
    case Object::Kind::cycler:
      return "Cycler";
    case Object::Kind::joiner:
      return "Joiner";
  }
  return "object";
}

Interpreter::Interpreter(const Ast& ast, const Value& context, const Limits& limits,
                         std::chrono::system_clock::time_point now)
    : Meter(limits), ast_(ast), context_(context), now_(now), scope_(std::make_shared<Scope>()) {}

Result<std::string> Interpreter::run() {
  std::string out;
  execute(ast_.body, out);
  if (failed()) return tl::unexpected(error());
  return out;
}

Object* Interpreter::make_object(Object::Kind kind) {
  take(kObjectBytes);
  objects_.push_back(std::make_unique<Object>(Object{.kind = kind}));
  return objects_.back().get();
}

bool Interpreter::enter() {
  if (!spend()) return false;
  if (depth_ < kMaxCallDepth) return true;
  raise(Code::unsupported, "calls are nested more than {} deep.", kMaxCallDepth);
  return false;
}

Value* Interpreter::find_variable(std::string_view variable) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    for (auto& [key, value] : scope->variables) {
      if (key == variable) return &value;
    }
    spend(scope->variables.size() / 8);
  }
  return nullptr;
}

void Interpreter::set_variable(std::string_view variable, Value value) {
  if (!spend(scope_->variables.size() / 8)) return;
  for (auto& [key, present] : scope_->variables) {
    if (key != variable) continue;
    present = std::move(value);
    return;
  }
  scope_->variables.emplace_back(variable, std::move(value));
}

Interpreter::Flow Interpreter::execute(const std::vector<StmtId>& body, std::string& out) {
  if (!enter()) return Flow::normal;
  ++depth_;
  Flow flow = Flow::normal;
  for (const StmtId id : body) {
    flow = execute(ast_.statement(id), out);
    if (flow != Flow::normal || failed()) break;
  }
  --depth_;
  return flow;
}

Interpreter::Flow Interpreter::execute(const Stmt& stmt, std::string& out) {
  if (!spend()) return Flow::normal;
  set_line(stmt.line);
  switch (stmt.kind) {
    case Stmt::Kind::data:
      if (take(stmt.text.size())) out += stmt.text;
      check_length(out);
      return Flow::normal;
    case Stmt::Kind::output:
      for (const ExprId id : stmt.expressions) print(evaluate(id), out);
      return Flow::normal;
    case Stmt::Kind::conditional:
      return conditional(stmt, out);
    case Stmt::Kind::loop:
      return loop(stmt, evaluate(stmt.expression), 0, out);
    case Stmt::Kind::set:
      assign_target(stmt.target, evaluate(stmt.expression));
      return Flow::normal;
    case Stmt::Kind::set_block:
      set_block(stmt);
      return Flow::normal;
    case Stmt::Kind::filter_block:
      block_text_ = text(captured(stmt));
      print(evaluate(stmt.expression), out);
      return Flow::normal;
    case Stmt::Kind::macro: {
      Object* macro = make_object(Object::Kind::macro);
      macro->macro = &stmt;
      macro->scope = scope_;
      set_variable(stmt.text, Value::object(macro));
      return Flow::normal;
    }
    case Stmt::Kind::call_block:
      call_block(stmt, out);
      return Flow::normal;
    case Stmt::Kind::with:
      return with(stmt, out);
    case Stmt::Kind::scope:
      return scoped(stmt.body, out);
    case Stmt::Kind::block:
      return block(stmt, out);
    case Stmt::Kind::break_loop:
      return Flow::break_loop;
    case Stmt::Kind::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::normal;
}

void Interpreter::check_length(const std::string& out) {
  if (out.size() > limits().output) {
    raise(Code::unsupported, "its text is longer than {} bytes.", limits().output);
  }
}

void Interpreter::print(const Value& value, std::string& out) {
  append_text(value, out, *this);
  check_length(out);
}

Interpreter::Flow Interpreter::conditional(const Stmt& stmt, std::string& out) {
  for (const Branch& branch : stmt.branches) {
    if (branch.condition != kNothing && !truthy(evaluate(branch.condition))) continue;
    return failed() ? Flow::normal : execute(branch.body, out);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::scoped(const std::vector<StmtId>& body, std::string& out) {
  const std::shared_ptr<Scope> outer = scope_;
  push_scope();
  const Flow flow = execute(body, out);
  scope_ = outer;
  return flow;
}

Interpreter::Flow Interpreter::block(const Stmt& stmt, std::string& out) {
  const std::shared_ptr<Scope> outer = scope_;
  while (scope_->parent != nullptr) scope_ = scope_->parent;
  const Flow flow = scoped(stmt.body, out);
  scope_ = outer;
  return flow;
}

std::vector<Value> Interpreter::loop_items(const Stmt& stmt, const Value& input) {
  std::vector<Value> items = iterate(input, *this);
  if (stmt.condition == kNothing) return items;
  const std::shared_ptr<Scope> outer = scope_;
  std::vector<Value> kept;
  for (Value& item : items) {
    push_scope();
    assign_target(stmt.target, item);
    const bool wanted = truthy(evaluate(stmt.condition));
    scope_ = outer;
    if (failed()) break;
    if (wanted) kept.push_back(std::move(item));
  }
  return kept;
}

Interpreter::Flow Interpreter::loop(const Stmt& stmt, const Value& input, std::size_t level,
                                    std::string& out) {
  std::vector<Value> items = loop_items(stmt, input);
  if (failed()) return Flow::normal;
  if (items.empty()) {
    if (stmt.branches.empty()) return Flow::normal;
    return scoped(stmt.branches[0].body, out);
  }
  Object* state = make_object(Object::Kind::loop);
  state->items = std::move(items);
  state->level = level;
  const std::shared_ptr<Scope> outer = scope_;
  if (!stmt.text.empty()) {
    state->macro = &stmt;
    state->scope = outer;
  }
  for (; state->index < state->items.size() && take(kObjectBytes); ++state->index) {
    push_scope();
    set_variable("loop", Value::object(state));
    assign_target(stmt.target, state->items[state->index]);
    const Flow flow = execute(stmt.body, out);
    scope_ = outer;
    if (flow == Flow::break_loop || failed()) break;
  }
  return Flow::normal;
}

Value Interpreter::call_loop(const Object& loop_object, const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    return raise(Code::corrupt, "a recursive loop is called with what it loops over.");
  }
  if (!enter()) return {};
  const std::shared_ptr<Scope> outer = scope_;
  const int line_of_call = line();
  scope_ = loop_object.scope;
  std::string out;
  ++depth_;
  loop(*loop_object.macro, arguments.positional[0], loop_object.level + 1, out);
  --depth_;
  scope_ = outer;
  if (failed()) return {};
  set_line(line_of_call);
  return text(std::move(out));
}

Interpreter::Flow Interpreter::with(const Stmt& stmt, std::string& out) {
  std::vector<Value> values;
  for (const ExprId id : stmt.expressions) values.push_back(evaluate(id));
  const std::shared_ptr<Scope> outer = scope_;
  push_scope();
  for (std::size_t i = 0; i < values.size(); ++i) assign_target(stmt.targets[i], values[i]);
  const Flow flow = execute(stmt.body, out);
  scope_ = outer;
  return flow;
}

std::string Interpreter::captured(const Stmt& stmt) {
  std::string out;
  scoped(stmt.body, out);
  return out;
}

void Interpreter::set_block(const Stmt& stmt) {
  Value value = text(captured(stmt));
  if (stmt.expression != kNothing) {
    block_text_ = std::move(value);
    value = evaluate(stmt.expression);
  }
  assign_target(stmt.target, value);
}

void Interpreter::assign_target(const Target& target, const Value& value) {
  if (failed()) return;
  if (target.kind == Target::Kind::name) return set_variable(target.name, value);
  if (target.kind == Target::Kind::tuple) {
    const std::vector<Value> parts = iterate(value, *this);
    if (failed()) return;
    if (parts.size() != target.parts.size()) {
      raise(Code::corrupt, "{} values can not be assigned to {} names.", parts.size(),
            target.parts.size());
      return;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) assign_target(target.parts[i], parts[i]);
    return;
  }
  const Value* space = find_variable(target.name);
  if (space == nullptr || !space->is(Value::Kind::object) ||
      space->as_object()->kind != Object::Kind::space) {
    raise(Code::corrupt, "{} is not a namespace, so its attributes can not be set.",
          quoted(target.name));
    return;
  }
  set_attribute(*space->as_object(), target.attribute, value);
}

void Interpreter::set_attribute(Object& space, std::string_view attribute_name,
                                const Value& value) {
  if (!spend_scan(space.attributes.size(), attribute_name.size())) return;
  for (auto& [key, present] : space.attributes) {
    if (key != attribute_name) continue;
    present = value;
    return;
  }
  if (take(kObjectBytes + attribute_name.size())) {
    space.attributes.emplace_back(attribute_name, value);
  }
}

}  // namespace tacet::jinja
