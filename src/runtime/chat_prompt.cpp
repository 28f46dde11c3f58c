#include "runtime/chat_prompt.hpp"

#include <algorithm>

namespace tacet {

namespace {

// Private-use characters around a message's number stand for its content while the template is
// rendered, so that no template looks at them.
constexpr std::string_view open_mark = "\uE0A7";
constexpr std::string_view close_mark = "\uE0A8";

Result<bool> spells_control(const Model& model, std::string_view text) {
  auto control = model.tokenize(text, true);
  if (!control) return fail(std::move(control));
  // Control tokens are left out here, so without any this is the text.
  auto again = model.detokenize(*control);
  if (!again) return fail(std::move(again));
  if (*again == text) return false;
  auto plain = model.tokenize(text, false);
  if (!plain) return fail(std::move(plain));
  return *plain != *control;
}

/// The number of the message whose mark begins `text`, and the mark's length; npos if none does.
struct Mark {
  std::size_t message = std::string_view::npos;
  std::size_t size = 0;
};
Mark read_mark(std::string_view text, std::size_t messages) {
  const std::size_t end = text.find(close_mark);
  if (end == std::string_view::npos) return {};
  const std::string number(text.substr(open_mark.size(), end - open_mark.size()));
  for (std::size_t i = 0; i < messages; ++i)
    if (number == std::to_string(i)) return {i, end + close_mark.size()};
  return {};
}

/// Puts the contents of `messages` where their marks are.
std::vector<PromptPart> cut(std::string_view rendered, std::span<const ChatMessage> messages) {
  std::vector<PromptPart> parts;
  std::size_t from = 0;
  for (std::size_t at = rendered.find(open_mark); at != std::string_view::npos;) {
    const Mark mark = read_mark(rendered.substr(at), messages.size());
    if (mark.size == 0) {
      at = rendered.find(open_mark, at + open_mark.size());
      continue;
    }
    parts.push_back({std::string(rendered.substr(from, at - from)), true});
    parts.push_back({messages[mark.message].content, false});
    from = at + mark.size;
    at = rendered.find(open_mark, from);
  }
  parts.push_back({std::string(rendered.substr(from)), true});
  return parts;
}

}  // namespace

Result<std::vector<PromptPart>> chat_prompt(const Model& model,
                                            std::span<const ChatMessage> messages,
                                            const ChatOptions& options) {
  bool spelled = false;
  for (const ChatMessage& message : messages) {
    const Result<bool> spells = spells_control(model, message.content);
    if (!spells) return tl::unexpected(spells.error());
    spelled = spelled || *spells;
  }
  std::vector<ChatMessage> marked(messages.begin(), messages.end());
  if (spelled) {
    std::size_t number = 0;
    for (ChatMessage& message : marked)
      message.content = fmt::format("{}{}{}", open_mark, number++, close_mark);
  }
  Result<std::string> rendered = model.render_chat(marked, options);
  if (!rendered) return fail(std::move(rendered));
  if (spelled) return cut(*rendered, messages);
  return std::vector<PromptPart>{{std::move(*rendered), true}};
}

Result<void> check_length(const Model& model, std::size_t bytes, std::uint32_t context) {
  const std::size_t most = std::size_t{model.info().longest_token} * context;
  if (bytes <= most) return {};
  return fail(Code::context_full,
              "A prompt of {} bytes can not fit: the context of {} tokens holds at most {} bytes; "
              "shorten the prompt, or use a larger context.",
              bytes, context, most);
}

std::string joined(std::span<const PromptPart> parts) {
  std::string text;
  for (const PromptPart& part : parts) text += part.text;
  return text;
}

Result<std::vector<Token>> tokenize(const Model& model, std::span<const PromptPart> parts,
                                    std::size_t skip) {
  std::vector<Token> tokens;
  for (const PromptPart& part : parts) {
    const std::size_t skipped = std::min(skip, part.text.size());
    skip -= skipped;
    Result<std::vector<Token>> more =
        model.tokenize(std::string_view(part.text).substr(skipped), part.control);
    if (!more) return more;
    tokens.insert(tokens.end(), more->begin(), more->end());
  }
  return tokens;
}

void add_start(const Model& model, std::vector<Token>& tokens) {
  const std::optional<Token> start = model.start_token();
  if (start && (tokens.empty() || tokens.front() != *start)) tokens.insert(tokens.begin(), *start);
}

}  // namespace tacet
