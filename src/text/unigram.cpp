#include "text/unigram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/sentence_pieces.hpp"
#include "text/utf8.hpp"

namespace tacet {
namespace {

// How much worse than the worst token an unknown character is, as SentencePiece has it.
constexpr double kUnknownPenalty = 10;

/// The best way to a place in the text.
struct Step {
  double score = -std::numeric_limits<double>::infinity();
  std::int32_t begin = -1;  ///< of its last token
  std::int32_t id = -1;     ///< -1: an unknown character
};

}  // namespace

Unigram::Unigram(std::shared_ptr<const TokenTable> tokens, Normalizer normalizer)
    : tokens_(std::move(tokens)),
      normalizer_(std::move(normalizer)),
      index_(*tokens_),
      byte_ids_(tokens_->byte_tokens()) {
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t id = 0; id < tokens_->size(); ++id) {
    if (tokens_->types[id] != TokenType::normal) continue;
    worst = std::min(worst, double{tokens_->scores[id]});
  }
  if (std::isfinite(worst)) unknown_score_ = worst - kUnknownPenalty;
}

Result<Unigram> Unigram::build(const VocabularyData& data,
                               std::shared_ptr<const TokenTable> tokens) {
  if (tokens->scores.empty()) {
    return fail(Code::corrupt,
                "The vocabulary has no scores (tokenizer.ggml.scores); convert the model again.");
  }
  auto normalizer = Normalizer::build(data);
  if (!normalizer) return fail(std::move(normalizer));
  return Unigram(std::move(tokens), std::move(*normalizer));
}

Result<void> Unigram::encode(std::string_view text, StopPoll& poll,
                             std::vector<std::int32_t>& ids) const {
  auto normal = normalizer_.apply(text, poll);
  if (!normal) return fail(std::move(normal));
  const std::string_view all = *normal;
  std::vector<Step> steps(all.size() + 1);
  steps[0].score = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t behind = begin;  // the first character
    next_utf8(all, behind);
    const auto offer = [&](std::size_t end, double score, std::int32_t id) {
      const double sum = steps[begin].score + score;
      if (sum > steps[end].score) steps[end] = {sum, static_cast<std::int32_t>(begin), id};
    };
    bool known = false;
    PrefixIndex::Cursor cursor = index_.root();
    for (std::size_t end = begin; end < all.size() && index_.advance(cursor, all[end]);) {
      const auto id = index_.token(cursor);
      ++end;
      if (!id) continue;
      offer(end, tokens_->scores[static_cast<std::size_t>(*id)], *id);
      known = known || end == behind;
    }
    if (!known) offer(behind, unknown_score_, -1);
    if (poll.fired(cursor.depth)) return poll.result();
    begin = behind;
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = all.size(); end > 0; end = static_cast<std::size_t>(steps[end].begin)) {
    ends.push_back(end);
  }
  const UnknownWriter unknown(byte_ids_, tokens_->unknown, ids.size());
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const Step& step = steps[*end];
    const auto begin = static_cast<std::size_t>(step.begin);
    if (step.id >= 0) {
      ids.push_back(step.id);
    } else if (auto done = unknown.write(all.substr(begin, *end - begin), ids); !done) {
      return done;
    }
  }
  return {};
}

std::string Unigram::bytes_of(std::string_view text, TokenType type) const {
  return sentence_piece_bytes(text, type);
}

TokenizerTraits Unigram::traits() const noexcept {
  return {.add_eos = true,
          .marks_spaces = true,
          .adds_space = normalizer_.adds_space(),
          .piece_by_piece = !normalizer_.folds() && unknown_is_bytes(byte_ids_)};
}

}  // namespace tacet
