// The input is a template; the conversation is fixed.

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "text/jinja/json.hpp"
#include "text/jinja/template.hpp"
#include "text/utf8.hpp"

namespace {

using tacet::jinja::Value;

Value message(const char* role, const char* content) {
  return Value::dict({{"role", Value::string(role)}, {"content", Value::string(content)}});
}

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
    "properties": {"x": {"type": ["string", "null"], "enum": ["a", null, 1.5]}}, "required": []}}}])";

/// Children within children.
Value tree(int depth) {
  std::vector<Value> children;
  for (int i = 0; i < depth; ++i) children.push_back(tree(depth - 1));
  return Value::dict({{"v", Value::integer(depth)}, {"c", Value::list(std::move(children))}});
}

Value make_context() {
  const Value parts = Value::list(
      {Value::dict({{"type", Value::string("text")}, {"text", Value::string("Zoë 🦙")}})});
  return Value::dict(
      {{"messages",
        Value::list({message("system", " Be\tkind.\n"), message("user", "a,b,c?"),
                     message("assistant", "<think>x</think>\n\ny"),
                     Value::dict({{"role", Value::string("user")}, {"content", parts}})})},
       {"add_generation_prompt", Value::boolean(true)},
       {"bos_token", Value::string("<s>")},
       {"eos_token", Value::string("</s>")},
       {"n", Value::integer(7)},
       {"smallest", Value::integer(INT64_MIN)},
       {"s", Value::string("Hello, Wörld 🦙!")},
       {"padded", Value::string("  a b \t c\n")},
       {"accents", Value::string("voilà Ångström")},
       {"l", Value::list({Value::integer(3), Value::integer(1), Value::integer(2)})},
       {"words", Value::list({Value::string("b"), Value::string("A")})},
       {"d", Value::dict({{"b", Value::integer(1)}, {"a", message("k", "v")}})},
       {"users", Value::list({message("Ann", "x"), message("bob", "")})},
       {"t", Value::boolean(true)},
       {"x", Value::number(-2.5)},
       {"tree", tree(4)},
       {"tools", tacet::jinja::parse_json(kTools, "The tools").value()},
       {"none_at_all", Value::none()}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const std::clock_t begin = std::clock();
  const auto parsed = tacet::jinja::Template::parse(source);
  if (!parsed) return 0;
  const auto text = parsed->render(
      make_context(),
      {.steps = 100'000, .memory = std::uint64_t{8} << 20, .output = std::size_t{1} << 20});
  // The limits bound the time too; a step that costs more than it counts shows here.
  if (std::clock() - begin > 2 * CLOCKS_PER_SEC) std::abort();
  if (!text) return 0;
  if (!tacet::check_utf8(*text)) std::abort();
  if (text->size() > (std::size_t{1} << 20)) std::abort();
  return 0;
}
