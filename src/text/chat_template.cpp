#include "text/chat_template.hpp"

#include <utility>
#include <vector>

#include "text/jinja/template.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace tacet {
namespace {

using jinja::Value;

// ChatML: https://github.com/openai/openai-python/blob/v0.28.1/chatml.md
constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string text_of(const Tokenizer& tokenizer, std::optional<std::int32_t> id) {
  return id ? std::string(tokenizer.token_text(*id)) : std::string();
}

}  // namespace

struct ChatTemplate::Impl {
  jinja::Template source;
  std::string bos;
  std::string eos;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(const ChatTemplate&) = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(const ChatTemplate&) = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::build(std::string_view source, std::string bos,
                                         std::string eos) {
  auto parsed = jinja::Template::parse(source.empty() ? kChatMl : source);
  if (!parsed) return fail(std::move(parsed));
  return ChatTemplate(
      std::make_shared<const Impl>(Impl{std::move(*parsed), std::move(bos), std::move(eos)}));
}

Result<ChatTemplate> ChatTemplate::build(const Tokenizer& tokenizer) {
  return build(tokenizer.chat_template(), text_of(tokenizer, tokenizer.bos()),
               text_of(tokenizer, tokenizer.eos()));
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         bool add_generation_prompt) const {
  std::vector<Value> turns;
  for (const ChatMessage& message : messages) {
    for (const std::string* text : {&message.role, &message.content}) {
      if (auto valid = check_utf8(*text); !valid) return fail(std::move(valid));
    }
    turns.push_back(Value::dict(
        {{"role", Value::string(message.role)}, {"content", Value::string(message.content)}}));
  }
  const Value context =
      Value::dict({{"messages", Value::list(std::move(turns))},
                   {"add_generation_prompt", Value::boolean(add_generation_prompt)},
                   {"bos_token", Value::string(impl_->bos)},
                   {"eos_token", Value::string(impl_->eos)}});
  return impl_->source.render(context);
}

}  // namespace tacet
