#pragma once

#include <string>

namespace tacet {

/// A turn of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
};

}  // namespace tacet
