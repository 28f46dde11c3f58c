#include "tacet/conversation.hpp"

#include <algorithm>
#include <optional>

#include "base/result.hpp"
#include "tacet/console.hpp"

namespace tacet::cli {
namespace {

Answer refused(Error error, bool fits_alone) {
  Answer answer;
  answer.outcome.status = Status::failed;
  answer.outcome.error = std::move(error);
  answer.fits_alone = fits_alone;
  return answer;
}

}  // namespace

Result<Conversation> Conversation::start(const Model& model, const SessionOptions& options,
                                         std::string_view system) {
  Result<Session> session = model.new_session(options);
  if (!session) return fail(std::move(session));
  Conversation conversation(model, std::move(*session));
  if (!system.empty()) conversation.messages_.push_back({"system", std::string(system)});
  return conversation;
}

Result<Conversation> Conversation::restore(const Model& model, const std::string& path,
                                           std::uint32_t context, const StopToken& stop) {
  std::string note;
  Result<Session> session = model.restore_session(path, context, stop, &note);
  if (!session) return fail(std::move(session));
  Conversation conversation(model, std::move(*session));
  const Json kept = Json::parse(note, nullptr, false);
  const auto corrupt = [&] {
    return fail(
        Code::corrupt,
        "'{}' holds a session, but no conversation of tacet run; name a file that it wrote.", path);
  };
  if (!kept.is_object() || !kept.contains("messages") || !kept["messages"].is_array() ||
      !kept.contains("held") || !kept["held"].is_string())
    return corrupt();
  for (const Json& message : kept["messages"]) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string() ||
        !message.contains("content") || !message["content"].is_string())
      return corrupt();
    conversation.messages_.push_back({message["role"], message["content"]});
  }
  conversation.held_ = kept["held"];
  conversation.held_is_exact_ = kept.value("exact", Json(false)) == true;
  return conversation;
}

Result<void> Conversation::save(const std::string& path, const StopToken& stop) {
  Json messages = Json::array();
  for (const ChatMessage& message : messages_)
    messages.push_back({{"role", message.role}, {"content", message.content}});
  const Json note = {{"messages", messages}, {"held", held_}, {"exact", held_is_exact_}};
  return session_.save(path, stop, note.dump());
}

/// The tokens to evaluate next; the session is cut back to what the prompt shares with it.
Result<std::vector<Token>> Conversation::prepare(const std::vector<PromptPart>& parts) {
  const std::string text = joined(parts);
  if (held_is_exact_ && text.size() > held_.size() && text.starts_with(held_))
    return tokenize(model_, parts, held_.size());
  Result<std::vector<Token>> tokens = tokenize(model_, parts);
  if (!tokens) return tokens;
  add_start(model_, *tokens);
  held_is_exact_ = false;
  const std::span<const Token> old = session_.tokens();
  const auto [ours, theirs] = std::mismatch(tokens->begin(), tokens->end(), old.begin(), old.end());
  const auto common =
      std::min(ours - tokens->begin(), std::max<std::ptrdiff_t>(std::ssize(*tokens) - 1, 0));
  Result<void> cut_back = session_.truncate(static_cast<std::uint32_t>(common));
  if (!cut_back) return fail(std::move(cut_back));
  tokens->erase(tokens->begin(), tokens->begin() + common);
  return tokens;
}

Result<Answer> Conversation::ask(std::string_view text, const GenerateOptions& options,
                                 const TextFunction& on_text, const StopToken& stop) {
  std::size_t bytes = text.size();
  if (!options.shift)
    for (const ChatMessage& message : messages_) bytes += message.content.size();
  if (Result<void> fits = check_length(model_, bytes, session_.context()); !fits)
    return refused(std::move(fits.error()),
                   check_length(model_, text.size(), session_.context()).has_value());

  messages_.push_back({"user", std::string(text)});
  Result<std::vector<PromptPart>> parts = chat_prompt(model_, messages_);
  if (!parts) {
    messages_.pop_back();
    return fail(std::move(parts));
  }
  Result<std::vector<Token>> prompt = prepare(*parts);
  if (!prompt) {
    messages_.pop_back();
    return fail(std::move(prompt));
  }
  const auto before = static_cast<std::uint32_t>(session_.tokens().size());
  std::optional<Session> whole;  // as it was, if older tokens have to make room
  if (options.shift && before + prompt->size() > session_.context()) {
    Result<Session> copy = session_.fork();
    if (!copy) return fail(std::move(copy));
    whole = std::move(*copy);
  }
  Answer result = answer(*prompt, options, on_text, stop);
  if (result.text.empty() && !result.outcome.done()) {
    messages_.pop_back();
    if (whole) {
      session_ = std::move(*whole);
    } else if (Result<void> cut_back = session_.truncate(before); !cut_back) {
      return fail(std::move(cut_back));
    }
    return result;
  }
  held_ = joined(*parts) + result.text;
  held_is_exact_ = stands_for(result.answer_tokens, result.text);
  messages_.push_back({"assistant", result.text});
  return result;
}

/// Whether the session's last `count` tokens, or as many of them as there still are, are just
/// `text`, or its end: what a stop string or a cut character withholds is not.
bool Conversation::stands_for(std::size_t count, std::string_view text) const {
  const std::span<const Token> tokens = session_.tokens();
  const auto held = model_.detokenize(tokens.last(std::min(count, tokens.size())));
  return held && (count <= tokens.size() ? *held == text : text.ends_with(*held));
}

/// Forgets what is oldest behind the tokens that are kept, so that `tokens` more fit.
Outcome Conversation::make_room(std::size_t tokens, const ContextShift& shift,
                                const StopToken& stop) {
  const std::size_t held = session_.tokens().size(), context = session_.context();
  if (held + tokens <= context || shift.keep + tokens > context) return {};
  const std::size_t needed = held + tokens - context;
  const std::size_t forgotten = std::max(needed, (held - shift.keep) / 2);
  return session_.remove(shift.keep, static_cast<std::uint32_t>(shift.keep + forgotten), true,
                         stop);
}

Result<Answer> Conversation::complete(std::string_view text, const GenerateOptions& options,
                                      const TextFunction& on_text, const StopToken& stop) {
  if (Result<void> fits = check_length(model_, text.size(), session_.context()); !fits)
    return refused(std::move(fits.error()), false);
  Result<std::vector<Token>> prompt = model_.tokenize(text, true);
  if (!prompt) return fail(std::move(prompt));
  if (session_.tokens().empty()) add_start(model_, *prompt);
  return answer(*prompt, options, on_text, stop);
}

Answer Conversation::answer(std::span<const Token> prompt, const GenerateOptions& options,
                            const TextFunction& on_text, const StopToken& stop) {
  Answer result;
  result.fits_alone = prompt.size() <= session_.context();
  const Clock::time_point start = Clock::now();
  if (options.shift) result.outcome = make_room(prompt.size(), *options.shift, stop);
  if (!result.outcome.done()) return result;
  result.outcome = session_.evaluate(prompt, stop);
  result.prompt_time = Clock::now() - start;
  result.prompt_tokens = result.outcome.tokens;
  if (result.outcome.done()) generate(result, options, on_text, stop);
  const std::span<const Token> held = session_.tokens();
  const auto delivered = held.last(std::min<std::size_t>(result.answer_tokens, held.size()));
  result.token_ids.assign(delivered.begin(), delivered.end());
  return result;
}

void Conversation::generate(Answer& answer, const GenerateOptions& options,
                            const TextFunction& on_text, const StopToken& stop) {
  const Clock::time_point start = Clock::now();
  answer.outcome = session_.generate(
      options,
      [&](std::string_view text) {
        answer.text += text;
        on_text(text);
      },
      stop);
  answer.answer_time = Clock::now() - start;
  answer.answer_tokens = answer.outcome.tokens;
}

Answer Conversation::resume(const GenerateOptions& options, const TextFunction& on_text,
                            const StopToken& stop) {
  Answer result;
  generate(result, options, on_text, stop);
  held_ += result.text;
  held_is_exact_ = held_is_exact_ && stands_for(result.answer_tokens, result.text);
  if (!messages_.empty()) messages_.back().content += result.text;
  return result;
}

Result<void> Conversation::clear() {
  std::erase_if(messages_, [](const ChatMessage& message) { return message.role != "system"; });
  held_.clear();
  held_is_exact_ = true;
  return session_.truncate(0);
}

}  // namespace tacet::cli
