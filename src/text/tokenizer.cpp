#include "text/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "formats/gguf/value.hpp"
#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace tacet {
namespace {

// Tokens that end a turn or a text in one family of models or another, whatever their type says.
constexpr std::array<std::string_view, 19> kEndTexts = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "<EOT>",
    "_<EOT>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_turn|>",
    "<｜end▁of▁sentence｜>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "</s>",
};

bool is_special(TokenType type) {
  return type == TokenType::control || type == TokenType::unknown;
}

Result<std::vector<TokenType>> token_types(const VocabularyData& data) {
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

Result<std::optional<std::int32_t>> checked_id(std::optional<std::int64_t> id, std::size_t count,
                                               std::string_view what) {
  if (!id) return std::nullopt;
  if (*id < 0 || static_cast<std::uint64_t>(*id) >= count) {
    return fail(Code::corrupt,
                "The {} token is {}, but the vocabulary has {} tokens; convert the model again.",
                what, *id, count);
  }
  return static_cast<std::int32_t>(*id);
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

}  // namespace

Result<Tokenizer> Tokenizer::build(const VocabularyData& data) {
  if (data.model != "gpt2") {
    return fail(Code::unsupported,
                "The tokenizer model {} is not known; use a model with gpt2 (byte-level BPE).",
                quoted(data.model));
  }
  auto pre = PreTokenizer::build(data.pre);
  if (!pre) return fail(std::move(pre));
  auto store = checked_texts(data);
  if (!store) return fail(std::move(store));
  auto types = token_types(data);
  if (!types) return fail(std::move(types));
  auto texts = PieceTable::build(std::move(*store));
  if (!texts) return fail(std::move(texts));
  auto bpe = ByteBpe::build(data.merges, *texts);
  if (!bpe) return fail(std::move(bpe));

  Tokenizer result(std::move(*texts), std::move(*pre), std::move(*bpe));
  result.types_ = std::move(*types);
  const auto take = [&](std::optional<std::int64_t> id, std::string_view what,
                        std::optional<std::int32_t>& target) -> Result<void> {
    auto checked = checked_id(id, data.tokens.size(), what);
    if (!checked) return fail(std::move(checked));
    target = *checked;
    return {};
  };
  if (auto done = take(data.bos, "BOS", result.bos_); !done) return fail(std::move(done));
  if (auto done = take(data.eos, "EOS", result.eos_); !done) return fail(std::move(done));
  if (auto done = take(data.eot, "EOT", result.eot_); !done) return fail(std::move(done));
  if (auto done = take(data.padding, "padding", result.padding_); !done)
    return fail(std::move(done));
  result.add_bos_ = data.add_bos.value_or(result.pre_.rule().add_bos) && result.bos_.has_value();
  result.add_eos_ = data.add_eos.value_or(false) && result.eos_.has_value();
  result.chat_template_ = data.chat_template;
  result.add_pieces();
  result.add_ends();
  return result;
}

void Tokenizer::add_pieces() {
  std::vector<std::pair<std::string, std::int32_t>> always;
  std::vector<std::pair<std::string, std::int32_t>> special;
  for (std::size_t id = 0; id < types_.size(); ++id) {
    const std::string_view text = texts_[id];
    const TokenType type = types_[id];
    const bool literal = type == TokenType::user_defined || is_special(type);
    if (literal) {
      bytes_.add(text);
      special.emplace_back(text, static_cast<std::int32_t>(id));
    } else {
      bytes_.add(from_byte_alphabet(text));
    }
    if (type == TokenType::user_defined) always.emplace_back(text, static_cast<std::int32_t>(id));
  }
  always_ = SpecialTokens(std::move(always));
  special_ = SpecialTokens(std::move(special));
}

void Tokenizer::add_ends() {
  for (const std::string_view text : kEndTexts) {
    const auto id = texts_.find(text);
    // A vocabulary may hold "</s>" as an ordinary piece of HTML.
    if (id && (text != "</s>" || is_special(type(*id)))) ends_.push_back(*id);
  }
  if (eos_) ends_.push_back(*eos_);
  if (eot_) ends_.push_back(*eot_);
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
}

bool Tokenizer::is_end(std::int32_t id) const noexcept {
  return std::binary_search(ends_.begin(), ends_.end(), id);
}

TokenType Tokenizer::type(std::int32_t id) const noexcept {
  return valid(id) ? types_[static_cast<std::size_t>(id)] : TokenType::unused;
}

std::string_view Tokenizer::token_text(std::int32_t id) const noexcept {
  return valid(id) ? texts_[static_cast<std::size_t>(id)] : std::string_view();
}

std::optional<std::int32_t> Tokenizer::find(std::string_view text) const noexcept {
  return texts_.find(text);
}

std::string_view Tokenizer::piece(std::int32_t id, bool special) const noexcept {
  if (!valid(id)) return {};
  const TokenType kind = types_[static_cast<std::size_t>(id)];
  if (!special && (is_special(kind) || kind == TokenType::unused)) return {};
  return bytes_[static_cast<std::size_t>(id)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool special) const {
  std::string text;
  for (const std::int32_t id : ids) text += piece(id, special);
  return text;
}

Result<void> Tokenizer::encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  auto words = pre_.split(text);
  if (!words) return fail(std::move(words));
  ByteBpe::Scratch scratch;
  for (const std::string_view word : *words) {
    if (pre_.rule().ignore_merges) {
      // Only an ordinary token: text must not turn into a control token unasked.
      const auto whole = texts_.find(to_byte_alphabet(word));
      if (whole && type(*whole) == TokenType::normal) {
        ids.push_back(*whole);
        continue;
      }
    }
    if (auto done = bpe_.encode_word(word, scratch, ids); !done) return done;
  }
  return {};
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text,
                                                    bool parse_special) const {
  if (auto valid = check_utf8(text); !valid) return fail(std::move(valid));
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return fail(Code::invalid_argument, "The text has {} bytes; give at most 2 GiB at a time.",
                text.size());
  }
  const SpecialTokens& wanted = parse_special ? special_ : always_;
  std::vector<std::int32_t> ids;
  std::size_t position = 0;
  while (position < text.size()) {
    const SpecialTokens::Match match = wanted.find(text, position);
    if (auto done = encode_plain(text.substr(position, match.offset - position), ids); !done) {
      return fail(std::move(done));
    }
    if (match.size > 0) ids.push_back(match.id);
    position = match.offset + match.size;
  }
  return ids;
}

}  // namespace tacet
