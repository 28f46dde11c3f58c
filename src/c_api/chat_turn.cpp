#include "c_api/chat_turn.hpp"

#include "base/result.hpp"
#include "runtime/chat_prompt.hpp"

namespace tacet::c_api {

namespace {

/// Stands for the answer before, which the session holds: private-use characters, so that no
/// template looks at them.
constexpr std::string_view answer_mark = "\uE0A7answer\uE0A8";

}  // namespace

Result<std::vector<Token>> raw_prompt(const Model& model, std::string_view text, bool at_start) {
  auto tokens = model.tokenize(text, true);
  if (tokens && at_start) add_start(model, *tokens);
  return tokens;
}

Result<std::vector<Token>> chat_turn(const Model& model, std::string_view system,
                                     std::string_view text, bool at_start) {
  std::vector<ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", std::string(system)});
  if (!at_start) {
    messages.push_back({"user", "-"});
    messages.push_back({"assistant", std::string(answer_mark)});
  }
  messages.push_back({"user", std::string(text)});
  const auto parts = chat_prompt(model, messages);
  if (!parts) return tl::unexpected(parts.error());
  if (at_start) {
    auto tokens = tokenize(model, *parts);
    if (tokens) add_start(model, *tokens);
    return tokens;
  }
  const std::size_t answer = joined(*parts).find(answer_mark);
  if (answer == std::string::npos)
    return tl::unexpected(
        Error::fixed(Code::unsupported,
                     "The model's chat template does not write turns one after another; write the "
                     "prompt out and use TACET_PROMPT_RAW."));
  return tokenize(model, *parts, answer + answer_mark.size());
}

}  // namespace tacet::c_api
