#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat_prompt.hpp"
#include "tacet/model.hpp"

namespace tacet::cli {

/// What came of one question.
struct Answer {
  Outcome outcome;                  ///< of the prompt if that was not done, else of the answer
  std::string text;                 ///< what was delivered, whole or in part
  std::uint32_t prompt_tokens = 0;  ///< evaluated for this question
  std::uint32_t answer_tokens = 0;  ///< delivered
  std::vector<Token> token_ids;     ///< of the answer
  bool fits_alone = true;  ///< false: the context is too small for the question without its past
  std::chrono::nanoseconds prompt_time{};
  std::chrono::nanoseconds answer_time{};
};

/// A chat with a model: the messages, and a session that holds them. One thread.
class Conversation {
 public:
  static Result<Conversation> start(const Model& model, const SessionOptions& options,
                                    std::string_view system = {});
  /// One that was saved. `context`: as of Model::restore_session.
  static Result<Conversation> restore(const Model& model, const std::string& path,
                                      std::uint32_t context, const StopToken& stop = {});
  Result<void> save(const std::string& path, const StopToken& stop = {});

  /// Asks, and streams the answer to `on_text`. Only what is new is evaluated. An answer that was
  /// stopped stays in the conversation as far as it got; a question whose answer has not begun is
  /// taken back. With a shift in `options`, a prompt that does not fit makes room for itself. A
  /// prompt that is far too long fails before it is tokenized. Errors: `text` is not UTF-8, the
  /// template refuses it.
  Result<Answer> ask(std::string_view text, const GenerateOptions& options,
                     const TextFunction& on_text, const StopToken& stop = {});
  /// Continues a text as it is, without the template. For a conversation with no messages.
  Result<Answer> complete(std::string_view text, const GenerateOptions& options,
                          const TextFunction& on_text, const StopToken& stop = {});
  /// Goes on with an answer that was stopped.
  Answer resume(const GenerateOptions& options, const TextFunction& on_text,
                const StopToken& stop = {});

  /// Forgets everything but the system message.
  Result<void> clear();

  /// Whether it holds a text without the template.
  bool raw() const noexcept { return messages_.empty() && !session_.tokens().empty(); }
  const Session& session() const noexcept { return session_; }

 private:
  Conversation(Model model, Session session) noexcept
      : model_(std::move(model)), session_(std::move(session)) {}

  Result<std::vector<Token>> prepare(const std::vector<PromptPart>& parts);
  bool stands_for(std::size_t count, std::string_view text) const;
  Outcome make_room(std::size_t tokens, const ContextShift& shift, const StopToken& stop);
  Answer answer(std::span<const Token> prompt, const GenerateOptions& options,
                const TextFunction& on_text, const StopToken& stop);
  void generate(Answer& answer, const GenerateOptions& options, const TextFunction& on_text,
                const StopToken& stop);

  Model model_;
  Session session_;
  std::vector<ChatMessage> messages_;
  std::string held_;           ///< the text that the session's tokens stand for
  bool held_is_exact_ = true;  ///< false where the session holds more than was delivered
};

}  // namespace tacet::cli
