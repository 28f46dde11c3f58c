#include "text/chat_template.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/jinja/json.hpp"
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

constexpr std::string_view kRemedy =
    "write the prompt out yourself (--raw, or tokens to evaluate), or use a model with another "
    "template";

/// An error of the template as one of the file, with what to do about it.
tl::unexpected<Error> unusable(const Error& error) {
  std::string_view cause = error.message();
  if (cause.ends_with('.')) cause.remove_suffix(1);
  return fail(error.code(), "The file's chat template can not be used ({}); {}.", cause, kRemedy);
}

using Fields = std::vector<std::pair<std::string, Value>>;

/// A JSON array; none if there is no text.
Result<Value> array_of(std::string_view json, std::string_view what) {
  if (json.empty()) return Value::none();
  auto value = jinja::parse_json(json, what);
  if (value && !value->is(Value::Kind::list)) {
    return fail(Code::invalid_argument, "{} are not a JSON array; write [...].", what);
  }
  return value;
}

/// Puts the entries of a JSON object in their places among `fields`, or behind them.
Result<void> add_fields(std::string_view json, std::string_view what, Fields& fields) {
  if (json.empty()) return {};
  auto value = jinja::parse_json(json, what);
  if (!value) return fail(std::move(value));
  if (!value->is(Value::Kind::dict)) {
    return fail(Code::invalid_argument, "{} are not a JSON object; write {{...}}.", what);
  }
  const std::size_t known = fields.size();
  for (const Value::Entry& entry : value->entries()) {
    const std::string& key = entry.first.as_string();
    const auto end = fields.begin() + static_cast<std::ptrdiff_t>(known);
    const auto place =
        std::find_if(fields.begin(), end, [&](const auto& field) { return field.first == key; });
    if (place != end) {
      place->second = entry.second;
    } else {
      fields.emplace_back(key, entry.second);
    }
  }
  return {};
}

Result<Value> turn_of(const ChatMessage& message) {
  for (const std::string* text : {&message.role, &message.content}) {
    if (auto valid = check_utf8(*text); !valid) return fail(std::move(valid));
  }
  Fields fields = {{"role", Value::string(message.role)},
                   {"content", Value::string(message.content)}};
  if (auto done = add_fields(message.fields, "The fields of a message", fields); !done) {
    return fail(std::move(done));
  }
  return Value::dict(std::move(fields));
}

std::string text_of(const Tokenizer& tokenizer, std::optional<std::int32_t> id) {
  return id ? std::string(tokenizer.token_text(*id)) : std::string();
}

}  // namespace

struct ChatTemplate::Impl {
  Result<jinja::Template> source;
  std::string bos;
  std::string eos;
  std::string warning;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(const ChatTemplate&) = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(const ChatTemplate&) = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

ChatTemplate ChatTemplate::build(std::string_view source, std::string bos, std::string eos) {
  auto parsed = jinja::Template::parse(source.empty() ? kChatMl : source);
  if (!parsed) parsed = unusable(parsed.error());
  std::string warning = parsed ? std::string() : std::string(parsed.error().message());
  return ChatTemplate(std::make_shared<const Impl>(
      Impl{std::move(parsed), std::move(bos), std::move(eos), std::move(warning)}));
}

ChatTemplate ChatTemplate::build(const Tokenizer& tokenizer) {
  ChatTemplate result = build(tokenizer.chat_template(), text_of(tokenizer, tokenizer.bos()),
                              text_of(tokenizer, tokenizer.eos()));
  if (!tokenizer.chat_template().empty() || tokenizer.find("<|im_start|>")) return result;
  Impl impl = *result.impl_;
  impl.warning = fmt::format(
      "The file has no chat template, and its vocabulary none of the marks of ChatML, which stands "
      "in; {}.",
      kRemedy);
  return ChatTemplate(std::make_shared<const Impl>(std::move(impl)));
}

std::string_view ChatTemplate::warning() const noexcept {
  return impl_->warning;
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         const ChatOptions& options) const {
  if (!impl_->source) return tl::unexpected(impl_->source.error());
  std::vector<Value> turns;
  turns.reserve(messages.size());
  for (const ChatMessage& message : messages) {
    auto turn = turn_of(message);
    if (!turn) return fail(std::move(turn));
    turns.push_back(std::move(*turn));
  }
  auto tools = array_of(options.tools, "The tools");
  if (!tools) return fail(std::move(tools));
  auto documents = array_of(options.documents, "The documents");
  if (!documents) return fail(std::move(documents));
  Fields context = {{"messages", Value::list(std::move(turns))},
                    {"tools", std::move(*tools)},
                    {"documents", std::move(*documents)},
                    {"add_generation_prompt", Value::boolean(options.answer)},
                    {"bos_token", Value::string(impl_->bos)},
                    {"eos_token", Value::string(impl_->eos)}};
  if (auto done = add_fields(options.variables, "The variables of the template", context); !done) {
    return fail(std::move(done));
  }
  const auto now = options.time.value_or(std::chrono::system_clock::now());
  auto text = impl_->source->render(Value::dict(std::move(context)), {}, now);
  if (text || text.error().code() == Code::invalid_argument) return text;
  return unusable(text.error());
}

}  // namespace tacet
