#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tacet/model.hpp"

namespace tacet {

/// A part of a rendered conversation: written by the template, or by a person, whose control tokens
/// are only text.
struct PromptPart {
  std::string text;
  bool control = true;  ///< whether "<|im_end|>" means the token
};

/// The conversation as the model's template writes it, up to where its answer starts. It is cut
/// only where a message spells a control token, since cutting changes how text is tokenized. Fails
/// as Model::render_chat does.
Result<std::vector<PromptPart>> chat_prompt(const Model& model,
                                            std::span<const ChatMessage> messages,
                                            const ChatOptions& options = {});

/// Refuses, without tokenizing it, a text of `bytes` that is too long for `context` whatever its
/// tokens are. Error: context_full.
Result<void> check_length(const Model& model, std::size_t bytes, std::uint32_t context);

std::string joined(std::span<const PromptPart> parts);

/// The tokens of `parts` without their first `skip` bytes.
Result<std::vector<Token>> tokenize(const Model& model, std::span<const PromptPart> parts,
                                    std::size_t skip = 0);

/// Puts the token that the model wants at the start of a text in front of `tokens`, if it is not
/// there.
void add_start(const Model& model, std::vector<Token>& tokens);

}  // namespace tacet
