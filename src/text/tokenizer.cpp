#include "text/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

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

/// Whether it stands apart from the text around it.
bool is_whole(TokenType type) {
  return type == TokenType::control || type == TokenType::user_defined;
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

}  // namespace

Result<Tokenizer> Tokenizer::build(const VocabularyData& data) {
  auto table = TokenTable::build(data);
  if (!table) return fail(std::move(table));
  std::optional<std::int32_t> bos, eos, eot, padding, classifier, separator;
  std::optional<std::int32_t> unknown = table->unknown;
  const std::tuple<std::optional<std::int64_t>, std::string_view, std::optional<std::int32_t>*>
      ids[] = {{data.bos, "BOS", &bos},
               {data.eos, "EOS", &eos},
               {data.eot, "EOT", &eot},
               {data.padding, "padding", &padding},
               {data.unknown, "unknown", &unknown},
               {data.classifier, "CLS", &classifier},
               {data.separator, "SEP", &separator}};
  for (const auto& [given, what, target] : ids) {
    auto checked = checked_id(given, data.tokens.size(), what);
    if (!checked) return fail(std::move(checked));
    if (*checked) *target = *checked;
  }
  table->unknown = unknown;
  const auto tokens = std::make_shared<const TokenTable>(std::move(*table));
  auto model = make_tokenizer_model(data, tokens);
  if (!model) return fail(std::move(model));

  const TokenizerTraits traits = (*model)->traits();
  Tokenizer result(tokens, std::move(*model));
  // BERT's texts stand between [CLS] and [SEP].
  const bool bert = data.model == "bert";
  result.bos_ = bert && classifier ? classifier : bos;
  result.eos_ = bert && separator ? separator : eos;
  result.eot_ = eot;
  result.padding_ = padding;
  result.add_bos_ = data.add_bos.value_or(traits.add_bos) && result.bos_.has_value();
  result.add_eos_ = data.add_eos.value_or(traits.add_eos) && result.eos_.has_value();
  result.chat_template_ = data.chat_template;
  result.add_pieces();
  result.add_ends();
  return result;
}

void Tokenizer::add_pieces() {
  std::vector<std::pair<std::string, std::int32_t>> always;
  std::vector<std::pair<std::string, std::int32_t>> special;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const std::string_view text = tokens_->texts[i];
    const TokenType type = tokens_->types[i];
    if (!is_whole(type) && type != TokenType::unknown) {
      bytes_.add(model_->bytes_of(text, type));
      continue;
    }
    // What a person wrote has spaces.
    const bool marked = type == TokenType::user_defined && model_->traits().marks_spaces;
    const std::string found = marked ? model_->bytes_of(text, type) : std::string(text);
    bytes_.add(found);
    special.emplace_back(found, id);
    if (type == TokenType::user_defined) always.emplace_back(found, id);
  }
  always_ = SpecialTokens(std::move(always));
  special_ = SpecialTokens(std::move(special));
}

void Tokenizer::add_ends() {
  for (const std::string_view text : kEndTexts) {
    const auto id = tokens_->texts.find(text);
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
  return valid(id) ? tokens_->types[static_cast<std::size_t>(id)] : TokenType::unused;
}

std::string_view Tokenizer::token_text(std::int32_t id) const noexcept {
  return valid(id) ? tokens_->texts[static_cast<std::size_t>(id)] : std::string_view();
}

std::optional<std::int32_t> Tokenizer::find(std::string_view text) const noexcept {
  return tokens_->texts.find(text);
}

std::string_view Tokenizer::piece(std::int32_t id, bool special) const noexcept {
  if (!valid(id)) return {};
  const TokenType kind = tokens_->types[static_cast<std::size_t>(id)];
  if (!special && (is_special(kind) || kind == TokenType::unused)) return {};
  return bytes_[static_cast<std::size_t>(id)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool special) const {
  const TokenizerTraits traits = model_->traits();
  std::string text;
  bool fresh = traits.adds_space;
  for (const std::int32_t id : ids) {
    std::string_view bytes = piece(id, special);
    // Where unknown characters are bytes, "<unk>" was written out.
    const bool written = traits.piece_by_piece && type(id) == TokenType::unknown;
    const bool whole = written || is_whole(type(id));
    if (fresh && !whole && bytes.starts_with(' ')) bytes.remove_prefix(1);
    fresh = whole ? traits.adds_space : fresh && piece(id, special).empty();
    text += bytes;
  }
  return text;
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text, bool parse_special,
                                                    const StopToken& stop) const {
  if (auto valid = check_utf8(text); !valid) return fail(std::move(valid));
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return fail(Code::invalid_argument, "The text has {} bytes; give at most 2 GiB at a time.",
                text.size());
  }
  const SpecialTokens& wanted = parse_special ? special_ : always_;
  StopPoll poll(stop);
  std::vector<std::int32_t> ids;
  std::size_t position = 0;
  while (position < text.size()) {
    if (poll.fired()) return fail(poll.result());
    const SpecialTokens::Match match = wanted.find(text, position);
    const std::string_view between = text.substr(position, match.offset - position);
    if (!between.empty()) {
      if (auto done = model_->encode(between, poll, ids); !done) return fail(std::move(done));
    }
    if (match.size > 0) ids.push_back(match.id);
    position = match.offset + match.size;
  }
  return ids;
}

}  // namespace tacet
