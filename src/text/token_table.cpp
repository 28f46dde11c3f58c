#include "text/token_table.hpp"

#include <cmath>
#include <limits>

#include "text/utf8.hpp"

namespace tacet {
namespace {

Result<std::vector<TokenType>> checked_types(const VocabularyData& data) {
  std::vector<TokenType> types(data.tokens.size(), TokenType::normal);
  if (data.token_types.empty()) return types;
  if (data.token_types.size() != types.size()) {
    return fail(Code::corrupt,
                "The vocabulary has {} tokens but {} token types; convert the model again.",
                types.size(), data.token_types.size());
  }
  for (std::size_t id = 0; id < types.size(); ++id) {
    const std::int32_t type = data.token_types[id];
    if (type < 0 || type > 6) {
      return fail(Code::corrupt,
                  "Token {} of the vocabulary has the type {}, which does not exist; convert the "
                  "model again.",
                  id, type);
    }
    // 0 is "undefined": a token as any other.
    if (type > 0) types[id] = static_cast<TokenType>(type);
  }
  return types;
}

Result<PieceStore> checked_texts(const VocabularyData& data) {
  if (data.tokens.empty()) {
    return fail(Code::corrupt, "The vocabulary is empty; use a file with tokenizer.ggml.tokens.");
  }
  if (data.tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return fail(Code::corrupt,
                "The vocabulary has {} tokens, more than ids can count; convert the model again.",
                data.tokens.size());
  }
  PieceStore texts;
  for (std::size_t id = 0; id < data.tokens.size(); ++id) {
    const std::string& text = data.tokens[id];
    if (const std::size_t valid = valid_utf8_prefix(text); valid != text.size()) {
      return fail(Code::corrupt,
                  "Token {} of the vocabulary is not valid UTF-8 at byte {}; convert the model "
                  "again.",
                  id, valid);
    }
    texts.add(text);
  }
  return texts;
}

Result<void> check_scores(const VocabularyData& data) {
  if (data.scores.empty()) return {};
  if (data.scores.size() != data.tokens.size()) {
    return fail(Code::corrupt,
                "The vocabulary has {} tokens but {} scores; convert the model again.",
                data.tokens.size(), data.scores.size());
  }
  for (std::size_t id = 0; id < data.scores.size(); ++id) {
    if (std::isfinite(data.scores[id])) continue;
    return fail(Code::corrupt,
                "The score of token {} of the vocabulary is not a finite number; convert the model "
                "again.",
                id);
  }
  return {};
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

int named_byte(std::string_view text) noexcept {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::vector<std::int32_t> TokenTable::byte_tokens() const {
  std::vector<std::int32_t> ids(256, -1);
  for (std::size_t id = types.size(); id-- > 0;) {
    if (types[id] != TokenType::byte) continue;
    const int byte = named_byte(texts[id]);
    if (byte >= 0) ids[static_cast<std::size_t>(byte)] = static_cast<std::int32_t>(id);
  }
  return ids;
}

Result<TokenTable> TokenTable::build(const VocabularyData& data) {
  auto store = checked_texts(data);
  if (!store) return fail(std::move(store));
  auto types = checked_types(data);
  if (!types) return fail(std::move(types));
  if (auto checked = check_scores(data); !checked) return fail(std::move(checked));
  auto texts = PieceTable::build(std::move(*store));
  if (!texts) return fail(std::move(texts));
  TokenTable table{std::move(*texts), std::move(*types), data.scores, std::nullopt};
  for (std::size_t id = 0; id < table.types.size() && !table.unknown; ++id) {
    if (table.types[id] == TokenType::unknown) table.unknown = static_cast<std::int32_t>(id);
  }
  return table;
}

}  // namespace tacet
