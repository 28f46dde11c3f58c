#include <algorithm>
#include <span>

#include "formats/gguf/value.hpp"
#include "text/jinja/interpreter.hpp"

namespace tacet::jinja {

void Interpreter::call_block(const Stmt& stmt, std::string& out) {
  Object* caller = make_object(Object::Kind::macro);
  caller->macro = &stmt;
  caller->scope = scope_;
  const Expr& expr = ast_.expression(stmt.expression);
  const Value callee = evaluate(expr.children[0]);
  Arguments arguments = evaluate_arguments(expr);
  arguments.keywords.emplace_back("caller", Value::object(caller));
  print(call(callee, arguments), out);
}

void Interpreter::set_parameters(const Stmt& macro, const Arguments& arguments) {
  const std::size_t given = arguments.positional.size();
  const std::size_t parameters = macro.parameters.size();
  for (std::size_t i = 0; i < parameters; ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (!spend() || !spend_scan(arguments.keywords.size(), parameter.name.size())) return;
    const Value* value = arguments.find(i, parameter.name);
    if (value != nullptr) {
      set_variable(parameter.name, *value);
    } else if (parameter.fallback != kNothing) {
      set_variable(parameter.name, evaluate(parameter.fallback));
    } else {
      set_variable(parameter.name, Value::undefined(parameter.name));
    }
  }
  std::vector<Value::Entry> others;
  const Value* caller = nullptr;
  for (const auto& [key, value] : arguments.keywords) {
    if (!spend() || !spend_scan(parameters, key.size())) return;
    const auto unfilled = std::span(macro.parameters).subspan(std::min(given, parameters));
    if (std::ranges::find(unfilled, key, &Parameter::name) != unfilled.end()) continue;
    if (macro.extras.caller && key == "caller") {
      caller = &value;
    } else {
      others.emplace_back(text(std::string(key)), value);
    }
  }
  if (given > parameters && !macro.extras.positions) {
    raise(Code::corrupt, "the macro {} takes at most {} arguments, not {}.", quoted(macro.text),
          parameters, given);
  } else if (!others.empty() && !macro.extras.names) {
    raise(Code::corrupt, "the macro {} was given an argument that it does not take.",
          quoted(macro.text));
  }
  if (failed()) return;
  if (macro.extras.caller)
    set_variable("caller", caller != nullptr ? *caller : Value::undefined("caller"));
  if (macro.extras.names) set_variable("kwargs", dict(std::move(others)));
  if (!macro.extras.positions) return;
  std::vector<Value> more;
  for (std::size_t i = parameters; i < given; ++i) more.push_back(arguments.positional[i]);
  set_variable("varargs", tuple(std::move(more)));
}

Value Interpreter::call_macro(const Object& macro, const Arguments& arguments) {
  const std::shared_ptr<Scope> outer = scope_;
  const int line_of_call = line();
  scope_ = macro.scope;
  push_scope();
  set_parameters(*macro.macro, arguments);
  std::string out;
  if (!failed()) execute(macro.macro->body, out);
  scope_ = outer;
  if (failed()) return {};
  set_line(line_of_call);
  return text(std::move(out));
}

}  // namespace tacet::jinja
