#include "c_api/chat_turn.hpp"

#include "base/result.hpp"

namespace tacet::c_api {

namespace {

// Private-use characters stand for contents, so that no template looks at them.
constexpr std::string_view answer_mark = "\uE0A7answer\uE0A8";
constexpr std::string_view text_mark = "\uE0A7text\uE0A8";

tl::unexpected<Error> no_turns() noexcept {
  return tl::unexpected(
      Error::fixed(Code::unsupported,
                   "The model's chat template does not write turns one after another; write the "
                   "prompt out and use TACET_PROMPT_RAW."));
}

/// What the template writes for the turn whose content is `content`.
Result<std::string> render_turn(const Model& model, std::string_view system,
                                std::string_view content, bool at_start) {
  std::vector<ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", std::string(system)});
  if (!at_start) {
    messages.push_back({"user", "-"});
    messages.push_back({"assistant", std::string(answer_mark)});
  }
  messages.push_back({"user", std::string(content)});
  auto rendered = model.render_chat(messages);
  if (!rendered || at_start) return rendered;
  const std::size_t at = rendered->find(answer_mark);
  if (at == std::string::npos) return no_turns();
  rendered->erase(0, at + answer_mark.size());
  return rendered;
}

Result<void> append(const Model& model, std::string_view text, bool control,
                    std::vector<Token>& tokens) {
  auto more = model.tokenize(text, control);
  if (!more) return fail(std::move(more));
  tokens.insert(tokens.end(), more->begin(), more->end());
  return {};
}

void add_start(const Model& model, std::vector<Token>& tokens) {
  const auto start = model.start_token();
  if (start && (tokens.empty() || tokens.front() != *start)) tokens.insert(tokens.begin(), *start);
}

/// Whether `text` spells a control token.
Result<bool> spells_control(const Model& model, std::string_view text) {
  auto plain = model.tokenize(text, false);
  if (!plain) return fail(std::move(plain));
  auto control = model.tokenize(text, true);
  if (!control) return fail(std::move(control));
  return *plain != *control;
}

}  // namespace

Result<std::vector<Token>> raw_prompt(const Model& model, std::string_view text, bool at_start) {
  auto tokens = model.tokenize(text, true);
  if (tokens && at_start) add_start(model, *tokens);
  return tokens;
}

Result<std::vector<Token>> chat_turn(const Model& model, std::string_view system,
                                     std::string_view text, bool at_start) {
  const auto spelled = spells_control(model, text);
  if (!spelled) return tl::unexpected(spelled.error());
  // Cutting a prompt changes how it is tokenized, so it is done only where it matters.
  const auto turn = render_turn(model, system, *spelled ? text_mark : text, at_start);
  if (!turn) return tl::unexpected(turn.error());
  std::string_view rest = *turn;
  std::vector<Token> tokens;
  if (*spelled) {
    const std::size_t at = rest.find(text_mark);
    if (at == std::string_view::npos) return no_turns();
    if (auto done = append(model, rest.substr(0, at), true, tokens); !done)
      return fail(std::move(done));
    if (auto done = append(model, text, false, tokens); !done) return fail(std::move(done));
    rest.remove_prefix(at + text_mark.size());
  }
  if (auto done = append(model, rest, true, tokens); !done) return fail(std::move(done));
  if (at_start) add_start(model, tokens);
  return tokens;
}

}  // namespace tacet::c_api
