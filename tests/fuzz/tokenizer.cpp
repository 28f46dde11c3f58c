// A vocabulary and a text from the input: lines "TYPE TOKEN" up to an empty one, lines "LEFT RIGHT"
// up to an empty one, and the text. The first byte: its low bits choose the pre-tokenizer, bit 3
// leaves out the tokens of single bytes.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/byte_alphabet.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace {

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const unsigned flags = data[0];
  rest.remove_prefix(1);
  constexpr std::string_view kPres[] = {"qwen2", "llama-bpe", "gpt-2", "no such"};
  tacet::VocabularyData vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = kPres[flags % 4];
  const bool with_bytes = (flags & 8) == 0;
  for (int byte = 0; with_bytes && byte < 256; ++byte) {
    vocabulary.tokens.push_back(tacet::to_byte_alphabet(std::string(1, static_cast<char>(byte))));
    vocabulary.token_types.push_back(1);
  }
  bool literal_is_plain = true;
  for (std::string_view line = next_line(rest); !line.empty(); line = next_line(rest)) {
    const int type = line[0] - '0';
    vocabulary.tokens.emplace_back(line.substr(1));
    vocabulary.token_types.push_back(type);
    for (const char c : line.substr(1)) literal_is_plain = literal_is_plain && (c & 0x80) == 0;
  }
  for (std::string_view line = next_line(rest); !line.empty(); line = next_line(rest)) {
    vocabulary.merges.emplace_back(line);
  }
  vocabulary.eos = flags >> 4;
  const auto tokenizer = tacet::Tokenizer::build(vocabulary);
  if (!tokenizer) return 0;
  for (const bool special : {false, true}) {
    const auto ids = tokenizer->encode(rest, special);
    if (!ids) continue;
    for (const std::int32_t id : *ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= tokenizer->size()) std::abort();
    }
    // Tokens in other letters may stand for other bytes than their own, which only a hand-made file
    // does.
    if (with_bytes && literal_is_plain && tokenizer->decode(*ids, true) != rest) std::abort();
    tacet::Utf8Stream stream;
    std::string text = stream.feed(tokenizer->decode(*ids));
    text += stream.flush();
    if (!tacet::check_utf8(text)) std::abort();
  }
  return 0;
}
