#include "models/synth_vocabulary.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

namespace tacet {
namespace {

// GGUF's numbers of token types.
constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUnused = 5;

constexpr std::string_view kSpace = "\u0120";  // how byte-level BPE spells a space

constexpr std::string_view kTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ "
    "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% "
    "endif %}";

std::string utf8(std::uint32_t point) {
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xC0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3F))};
}

/// The 256 bytes as byte-level BPE spells them: printable ones as themselves, the others from
/// U+0100 on.
void add_bytes(std::vector<std::string>& tokens) {
  const auto printable = [](std::uint32_t byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
  };
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (printable(byte)) tokens.push_back(utf8(byte));
  }
  const std::size_t others = 256 - tokens.size();
  for (std::uint32_t i = 0; i < others; ++i) tokens.push_back(utf8(0x100 + i));
}

/// A made-up word of three syllables; no two numbers below 614,125 give the same.
std::string word(std::uint32_t number) {
  constexpr std::string_view kConsonants = "bcdfghjklmnprstvz";
  constexpr std::string_view kVowels = "aeiou";
  constexpr std::uint32_t kSyllables = 85;
  // A prime to the number of words, so that neighbours do not look alike.
  std::uint64_t rest = std::uint64_t{number} * 104729 % (kSyllables * kSyllables * kSyllables);
  std::string text(kSpace);
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t syllable = rest % kSyllables;
    text += kConsonants[syllable / kVowels.size()];
    text += kVowels[syllable % kVowels.size()];
    rest /= kSyllables;
  }
  return text;
}

}  // namespace

void add_synth_vocabulary(GgufWriter& writer, std::uint32_t size, std::uint32_t first_special,
                          std::string_view pre_tokenizer) {
  const std::array<std::array<std::string, 2>, 8> pairs = {{
      {std::string(kSpace), "t"},
      {"h", "e"},
      {std::string(kSpace) + "t", "he"},
      {"i", "n"},
      {std::string(kSpace), "a"},
      {"e", "r"},
      {"o", "n"},
      {"r", "e"},
  }};
  std::vector<std::string> tokens;
  tokens.reserve(size);
  add_bytes(tokens);
  std::vector<std::string> merges;
  for (const auto& [left, right] : pairs) {
    merges.push_back(fmt::format("{} {}", left, right));
    tokens.push_back(left + right);
  }
  for (std::uint32_t i = 0; tokens.size() < first_special; ++i) tokens.push_back(word(i));
  std::vector<std::int32_t> types(tokens.size(), kNormal);
  for (const char* special : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(special);
    types.push_back(kControl);
  }
  for (std::uint32_t i = 0; tokens.size() < size; ++i) {
    tokens.push_back(fmt::format("<|unused_{}|>", i));
    types.push_back(kUnused);
  }

  writer.add("tokenizer.ggml.model", "gpt2");
  writer.add("tokenizer.ggml.pre", pre_tokenizer);
  writer.add("tokenizer.ggml.tokens", tokens);
  writer.add("tokenizer.ggml.token_type", types);
  writer.add("tokenizer.ggml.merges", merges);
  writer.add("tokenizer.ggml.bos_token_id", first_special);
  writer.add("tokenizer.ggml.eos_token_id", first_special + 2);
  writer.add("tokenizer.ggml.padding_token_id", first_special);
  writer.add("tokenizer.ggml.add_bos_token", false);
  writer.add("tokenizer.chat_template", kTemplate);
}

}  // namespace tacet
