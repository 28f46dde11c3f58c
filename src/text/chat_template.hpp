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
  /// tokens, or empty. A template that can not be used does no harm until something is rendered.
  static ChatTemplate build(std::string_view source, std::string bos, std::string eos);
  /// The template of a vocabulary, with its tokens.
  static ChatTemplate build(const Tokenizer& tokenizer);

  /// What a person should know before the first chat: that the template can not be used, or that
  /// there is none and ChatML is no form that the vocabulary knows. Empty: nothing.
  std::string_view warning() const noexcept;

  /// The prompt. Encode it with `parse_special`. Fails with invalid_argument if the template
  /// refuses the conversation and for texts that are not UTF-8 or not the JSON that they should be,
  /// with corrupt (and the line) if the template is not Jinja, and with unsupported for what is not
  /// known here and if it needs more than its share of steps or memory.
  Result<std::string> render(std::span<const ChatMessage> messages,
                             const ChatOptions& options = {}) const;

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
