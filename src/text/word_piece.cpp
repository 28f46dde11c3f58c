#include "text/word_piece.hpp"

#include <algorithm>

#include "text/bert_words.hpp"
#include "text/sentence_pieces.hpp"

namespace tacet {
namespace {

// Longer words are unknown, as in BERT's own tokenizer.
constexpr std::size_t kLongestWord = 100;
constexpr std::string_view kLaterMark = "##";

bool in_brackets(std::string_view text) noexcept {
  return text.starts_with('[') && text.ends_with(']');
}

std::size_t count_tokens(const TokenTable& tokens, bool (*wanted)(std::string_view)) {
  std::size_t count = 0;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view text = tokens.texts[id];
    if (!tokens.ordinary(static_cast<std::int32_t>(id)) || in_brackets(text)) continue;
    count += wanted(text) ? 1 : 0;
  }
  return count;
}

}  // namespace

WordPiece::WordPiece(const VocabularyData& data, std::shared_ptr<const TokenTable> tokens)
    : tokens_(std::move(tokens)), index_(*tokens_) {
  const auto firsts = [](std::string_view text) { return text.starts_with(kSpaceMark); };
  const auto laters = [](std::string_view text) { return text.starts_with(kLaterMark); };
  if (count_tokens(*tokens_, firsts) > count_tokens(*tokens_, laters)) {
    first_mark_ = kSpaceMark;
  } else {
    later_mark_ = kLaterMark;
  }
  // A vocabulary with capitals would never be reached by lower case.
  const bool capitals =
      count_tokens(*tokens_, [](std::string_view text) {
        return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
      }) > 0;
  lowercase_ = data.lowercase.value_or(!capitals);
  strip_accents_ = data.strip_accents.value_or(lowercase_);
}

Result<WordPiece> WordPiece::build(const VocabularyData& data,
                                   std::shared_ptr<const TokenTable> tokens) {
  if (!tokens->unknown) {
    return fail(Code::corrupt,
                "The vocabulary has no token for unknown words "
                "(tokenizer.ggml.unknown_token_id); convert the model again.");
  }
  return WordPiece(data, std::move(tokens));
}

void WordPiece::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::size_t start = ids.size();
  std::size_t position = 0;
  while (position < word.size()) {
    const std::string_view mark = position == 0 ? first_mark_ : later_mark_;
    PrefixIndex::Cursor cursor = index_.root();
    const auto advance = [&](char c) { return index_.advance(cursor, c); };
    // What begins with the mark of first pieces is none of the later ones, but for the mark itself.
    const bool mark_here =
        position > 0 && !first_mark_.empty() && word.substr(position).starts_with(first_mark_);
    const std::size_t limit = mark_here ? position + first_mark_.size() : word.size();
    bool fits = std::all_of(mark.begin(), mark.end(), advance);
    std::size_t best = position;
    std::int32_t id = -1;
    for (std::size_t end = position; fits && end < limit;) {
      fits = advance(word[end++]);
      const auto token = fits ? index_.token(cursor) : std::nullopt;
      if (!token) continue;
      best = end;
      id = *token;
    }
    if (id < 0) {
      ids.resize(start);
      ids.push_back(*tokens_->unknown);
      return;
    }
    ids.push_back(id);
    position = best;
  }
}

Result<void> WordPiece::encode(std::string_view text, StopPoll& poll,
                               std::vector<std::int32_t>& ids) const {
  for (const BertWord& word : bert_words(text, {lowercase_, strip_accents_}, poll)) {
    if (poll.fired(word.characters)) break;
    if (word.characters > kLongestWord) {
      ids.push_back(*tokens_->unknown);
    } else {
      encode_word(word.text, ids);
    }
  }
  return poll.result();
}

std::string WordPiece::bytes_of(std::string_view text, TokenType) const {
  if (!first_mark_.empty()) {
    if (!text.starts_with(first_mark_)) return std::string(text);
    text.remove_prefix(first_mark_.size());
  } else if (text.starts_with(later_mark_)) {
    return std::string(text.substr(later_mark_.size()));
  }
  return ' ' + std::string(text);
}

}  // namespace tacet
