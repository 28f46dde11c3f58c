// The input is JSON that a person gives to a chat template, which writes it again.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/chat_template.hpp"
#include "text/jinja/json.hpp"
#include "text/jinja/template.hpp"
#include "text/utf8.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tacet::jinja::Value;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const tacet::ChatTemplate chat = tacet::ChatTemplate::build(
      "{{ tools }}{{ documents }}{{ messages }}{{ x }}{{ strftime_now(x | string) }}", "", "");
  const std::vector<tacet::ChatMessage> messages = {{"user", "hi", text}};
  for (const auto& options :
       {tacet::ChatOptions{.tools = text}, tacet::ChatOptions{.documents = text},
        tacet::ChatOptions{.variables = text}}) {
    const auto prompt = chat.render(messages, options);
    if (prompt && !tacet::check_utf8(*prompt)) std::abort();
  }
  const auto value = tacet::jinja::parse_json(text, "The text");
  if (!value) return 0;
  // What was written is read again as the same.
  const auto writer = tacet::jinja::Template::parse("{{ x | tojson }}").value();
  const auto once = writer.render(Value::dict({{"x", *value}}));
  if (!once) return 0;
  const auto again = tacet::jinja::parse_json(*once, "The text");
  if (!again) {
    // Python writes numbers that are too large as Infinity, which is no JSON.
    if (once->find("Infinity") != std::string::npos) return 0;
    std::abort();
  }
  if (writer.render(Value::dict({{"x", *again}})).value() != *once) std::abort();
  return 0;
}
