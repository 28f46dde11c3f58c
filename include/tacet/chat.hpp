#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace tacet {

/// A turn of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant", "tool"
  std::string content;
  /// More fields, as a JSON object that the template sees as they are:
  /// `{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}`,
  /// `{"reasoning_content": "..."}`. A "content" here, such as a list of parts, takes the place of
  /// the one above. Control tokens that are spelled in here become tokens. Empty: none.
  std::string fields = {};
};

/// What else a chat template is given.
struct ChatOptions {
  bool answer = true;  ///< end where the assistant's answer starts (add_generation_prompt)
  /// The tools that the model may call, as a JSON array:
  /// `[{"type": "function", "function": {"name": "f", "parameters": {...}}}]`. Empty: none.
  std::string tools = {};
  std::string documents = {};  ///< texts to answer from, as a JSON array of objects; empty: none
  /// Other variables of the template, as a JSON object: `{"enable_thinking": false}`. Empty: none.
  std::string variables = {};
  /// What a template that asks for the date sees, in local time; none: the present.
  std::optional<std::chrono::system_clock::time_point> time = {};
};

}  // namespace tacet
