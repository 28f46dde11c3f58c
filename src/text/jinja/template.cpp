#include "text/jinja/template.hpp"

#include "text/jinja/ast.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/lexer.hpp"
#include "text/jinja/parser.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {

Result<Template> Template::parse(std::string_view source) {
  // Parsing is not metered; it takes up to 150 times the size in memory.
  constexpr std::size_t kMaxSource = std::size_t{512} << 10;
  if (source.size() > kMaxSource) {
    return fail(Code::unsupported,
                "The template has {} bytes; at most {} are read, use a shorter one.", source.size(),
                kMaxSource);
  }
  if (const std::size_t valid = valid_utf8_prefix(source); valid != source.size()) {
    return fail(Code::corrupt, "The template is not valid UTF-8 at byte {}.", valid);
  }
  auto tokens = tokenize(source);
  if (!tokens) return fail(std::move(tokens));
  auto ast = jinja::parse(*tokens);
  if (!ast) return fail(std::move(ast));
  return Template(std::make_shared<const Ast>(std::move(*ast)));
}

Result<std::string> Template::render(const Value& context, const Limits& limits,
                                     std::chrono::system_clock::time_point now) const {
  if (!context.is(Value::Kind::dict)) {
    return fail(Code::invalid_argument, "A template is rendered with a dict of its variables.");
  }
  return Interpreter(*ast_, context, limits, now).run();
}

}  // namespace tacet::jinja
