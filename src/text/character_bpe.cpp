#include "text/character_bpe.hpp"

#include "text/sentence_pieces.hpp"
#include "text/utf8.hpp"

namespace tacet {

CharacterBpe::CharacterBpe(std::shared_ptr<const TokenTable> tokens, Bpe bpe)
    : tokens_(std::move(tokens)), bpe_(std::move(bpe)), byte_ids_(tokens_->byte_tokens()) {}

Result<CharacterBpe> CharacterBpe::build(const VocabularyData& data,
                                         std::shared_ptr<const TokenTable> tokens) {
  auto bpe = Bpe::build(data.merges, *tokens);
  if (!bpe) return fail(std::move(bpe));
  return CharacterBpe(std::move(tokens), std::move(*bpe));
}

Result<void> CharacterBpe::encode(std::string_view text, StopPoll& poll,
                                  std::vector<std::int32_t>& ids) const {
  const UnknownWriter unknown(byte_ids_, tokens_->unknown, 0);
  std::vector<std::int32_t> characters;
  std::size_t position = 0;
  while (position < text.size() && !poll.fired()) {
    const std::size_t start = position;
    next_utf8(text, position);
    const std::string_view character = text.substr(start, position - start);
    const auto id = tokens_->texts.find(character == " " ? kSpaceMark : character);
    if (id && tokens_->ordinary(*id)) {
      characters.push_back(*id);
    } else if (auto done = unknown.write(character, characters); !done) {
      return done;
    }
  }
  Bpe::Scratch scratch;
  bpe_.encode(characters, scratch, poll, ids);
  return poll.result();
}

std::string CharacterBpe::bytes_of(std::string_view text, TokenType type) const {
  return sentence_piece_bytes(text, type);
}

TokenizerTraits CharacterBpe::traits() const noexcept {
  return {.marks_spaces = true, .piece_by_piece = unknown_is_bytes(byte_ids_)};
}

}  // namespace tacet
