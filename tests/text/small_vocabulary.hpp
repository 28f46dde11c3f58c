#pragma once

#include <string>
#include <vector>

#include "text/byte_alphabet.hpp"
#include "text/vocabulary.hpp"

namespace tacet::test {

/// All 256 bytes as ids 0 to 255, then what the merges make of them (from 256 on), then
/// <|im_start|>, <|im_end|> (control) and <tool> (user-defined).
inline VocabularyData small_vocabulary(
    const std::vector<std::pair<std::string, std::string>>& merges) {
  VocabularyData data;
  data.model = "gpt2";
  data.pre = "qwen2";
  for (int byte = 0; byte < 256; ++byte) {
    data.tokens.push_back(to_byte_alphabet(std::string(1, static_cast<char>(byte))));
  }
  for (const auto& [left, right] : merges) {
    data.merges.push_back(to_byte_alphabet(left) + " " + to_byte_alphabet(right));
    data.tokens.push_back(to_byte_alphabet(left + right));
  }
  data.token_types.assign(data.tokens.size(), 1);
  for (const auto& [text, type] :
       {std::pair{"<|im_start|>", 3}, std::pair{"<|im_end|>", 3}, std::pair{"<tool>", 4}}) {
    data.tokens.emplace_back(text);
    data.token_types.push_back(type);
  }
  data.eos = static_cast<std::int64_t>(data.tokens.size()) - 2;
  return data;
}

}  // namespace tacet::test
