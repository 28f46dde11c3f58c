#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tacet/chat.hpp"

namespace tacet {

class Tokenizer;

/// Makes one prompt of a conversation, as the model was trained to see it. Immutable; any number of
/// threads may use one; cheap to copy.
class ChatTemplate {
 public:
  /// Reads a Jinja template; an empty one means ChatML. `bos` and `eos` are the texts of these
  /// tokens, or empty. Fails with corrupt (and the line) for one that is not Jinja, with
  /// unsupported for what is not known here.
  static Result<ChatTemplate> build(std::string_view source, std::string bos, std::string eos);
  /// The template of a vocabulary, with its tokens.
  static Result<ChatTemplate> build(const Tokenizer& tokenizer);

  /// The prompt. `add_generation_prompt`: with the opening of the assistant's next turn. Encode it
  /// with `parse_special`. Fails with invalid_argument if the template refuses the conversation,
  /// and if it needs more than its share of steps or memory.
  Result<std::string> render(std::span<const ChatMessage> messages,
                             bool add_generation_prompt) const;

  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(const ChatTemplate&);
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

 private:
  struct Impl;
  explicit ChatTemplate(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tacet
