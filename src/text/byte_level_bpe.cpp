#include "text/byte_level_bpe.hpp"

#include "text/byte_alphabet.hpp"

namespace tacet {

ByteLevelBpe::ByteLevelBpe(std::shared_ptr<const TokenTable> tokens, PreTokenizer pre, Bpe bpe)
    : tokens_(std::move(tokens)), pre_(std::move(pre)), bpe_(std::move(bpe)) {
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char raw = static_cast<char>(byte);
    const auto id = tokens_->texts.find(to_byte_alphabet({&raw, 1}));
    byte_ids_[byte] = id && tokens_->ordinary(*id) ? *id : -1;
  }
}

Result<ByteLevelBpe> ByteLevelBpe::build(const VocabularyData& data,
                                         std::shared_ptr<const TokenTable> tokens) {
  auto pre = PreTokenizer::build(data.pre);
  if (!pre) return fail(std::move(pre));
  auto bpe = Bpe::build(data.merges, *tokens);
  if (!bpe) return fail(std::move(bpe));
  return ByteLevelBpe(std::move(tokens), std::move(*pre), std::move(*bpe));
}

Result<void> ByteLevelBpe::encode(std::string_view text, StopPoll& poll,
                                  std::vector<std::int32_t>& ids) const {
  auto words = pre_.split(text, poll);
  if (!words) return fail(std::move(words));
  Bpe::Scratch scratch;
  std::vector<std::int32_t> bytes;
  for (const std::string_view word : *words) {
    if (pre_.rule().ignore_merges) {
      // Only an ordinary token: text must not turn into a control token unasked.
      const auto whole = tokens_->texts.find(to_byte_alphabet(word));
      if (whole && tokens_->types[static_cast<std::size_t>(*whole)] == TokenType::normal) {
        ids.push_back(*whole);
        continue;
      }
    }
    bytes.clear();
    for (const char c : word) {
      const auto byte = static_cast<std::uint8_t>(c);
      if (byte_ids_[byte] < 0) {
        return fail(Code::unsupported,
                    "The vocabulary has no token for the byte 0x{:02X}; leave that character out.",
                    byte);
      }
      bytes.push_back(byte_ids_[byte]);
    }
    if (poll.fired(word.size())) break;
    bpe_.encode(bytes, scratch, poll, ids);
  }
  return poll.result();
}

std::string ByteLevelBpe::bytes_of(std::string_view text, TokenType) const {
  return from_byte_alphabet(text);
}

}  // namespace tacet
