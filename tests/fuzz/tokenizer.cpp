// A vocabulary and a text from the input: lines "TYPE SCORE TOKEN" up to an empty one, lines "LEFT
// RIGHT" up to an empty one, and the text; for a model with a charsmap, two bytes of its size and
// its bytes come first. The first byte chooses the tokenizer model and the pre-tokenizer, the
// second has flags.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/byte_alphabet.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace {

using tacet::TokenType;

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

void add(tacet::VocabularyData& data, std::string text, int type, float score) {
  data.tokens.push_back(std::move(text));
  data.token_types.push_back(type);
  data.scores.push_back(score);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  const unsigned choice = bytes[0];
  const unsigned flags = bytes[1];
  rest.remove_prefix(2);
  constexpr std::string_view kModels[] = {"gpt2", "gemma4", "llama", "t5", "bert"};
  constexpr std::string_view kPres[] = {"qwen2",       "llama-bpe",    "gpt-2",  "gpt-4o",
                                        "deepseek-v3", "deepseek-llm", "smollm", "tekken"};
  tacet::VocabularyData vocabulary;
  vocabulary.model = kModels[choice % 5];
  vocabulary.pre = kPres[choice / 5 % 8];
  const bool byte_level = vocabulary.model == "gpt2";
  if ((flags & 1) != 0 && rest.size() > 2) {
    const std::size_t wanted = bytes[2] + 256U * bytes[3];
    rest.remove_prefix(2);
    vocabulary.charsmap = rest.substr(0, wanted);
    rest.remove_prefix(std::min(wanted, rest.size()));
  }
  const bool with_bytes = (flags & 2) == 0;
  for (int byte = 0; with_bytes && byte < 256; ++byte) {
    if (byte_level) {
      add(vocabulary, tacet::to_byte_alphabet(std::string(1, static_cast<char>(byte))), 1, 0);
    } else {
      add(vocabulary, fmt::format("<0x{:02X}>", byte), 6, 0);
    }
  }
  if ((flags & 4) != 0) vocabulary.unknown = flags >> 4;
  if ((flags & 8) != 0) vocabulary.remove_extra_whitespaces = true;
  vocabulary.add_space_prefix = (flags & 16) == 0;
  bool plain = true;
  for (std::string_view line = next_line(rest); line.size() >= 2; line = next_line(rest)) {
    add(vocabulary, std::string(line.substr(2)), line[0] - '0', static_cast<float>('0' - line[1]));
    // Tokens in other letters may stand for other bytes than their own, a byte be named twice, a
    // space in front be part of a token that is taken whole: only a hand-made file does that.
    for (const char c : line.substr(2)) plain = plain && (!byte_level || (c & 0x80) == 0);
    plain = plain && line[0] != '6' && !(line[0] == '4' && line.substr(2).starts_with("\u2581"));
  }
  for (std::string_view line = next_line(rest); !line.empty(); line = next_line(rest)) {
    vocabulary.merges.emplace_back(line);
  }
  vocabulary.eos = flags >> 5;
  const auto tokenizer = tacet::Tokenizer::build(vocabulary);
  if (!tokenizer) return 0;
  for (const bool special : {false, true}) {
    const auto ids = tokenizer->encode(rest, special);
    if (!ids) continue;
    for (const std::int32_t id : *ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= tokenizer->size()) std::abort();
      const TokenType type = tokenizer->type(id);
      if (!special && type == TokenType::control && id != vocabulary.unknown) std::abort();
    }
    const auto space = tokenizer->find("\u2581");
    const bool spaces = byte_level || (space && tokenizer->type(*space) == TokenType::normal);
    const bool whole = plain && spaces && with_bytes && tokenizer->piece_by_piece();
    const bool mark = rest.find("\u2581") != std::string_view::npos && !byte_level;
    if (whole && !mark && tokenizer->decode(*ids, true) != rest) std::abort();
    tacet::Utf8Stream stream;
    std::string text = stream.feed(tokenizer->decode(*ids));
    text += stream.flush();
    if (!tacet::check_utf8(text)) std::abort();
  }
  return 0;
}
