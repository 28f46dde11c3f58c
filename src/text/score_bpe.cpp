#include "text/score_bpe.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "text/sentence_pieces.hpp"
#include "text/utf8.hpp"

namespace tacet {
namespace {

struct Symbol {
  std::int32_t id;  ///< -1 if its text is no token
  std::int32_t begin;
  std::int32_t size;  ///< 0: merged into the one before
  std::int32_t previous;
  std::int32_t next;
};

struct Candidate {
  float score;
  std::int32_t left;  ///< index of the left symbol
  std::int32_t size;  ///< of both together: it is stale if that changed
  std::int32_t id;
};

/// Whether U+2581 stands in it behind something else.
bool crosses_words(std::string_view piece) noexcept {
  std::size_t at = 0;
  while (piece.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
  return piece.find(kSpaceMark, at) != std::string_view::npos;
}

/// The spaces and the word that `text` begins with.
std::string_view first_word(std::string_view text) noexcept {
  std::size_t at = 0;
  while (text.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
  return text.substr(0, text.find(kSpaceMark, at));
}

/// Orders a heap so that the best score is on top, and of equal ones the leftmost.
bool worse(const Candidate& a, const Candidate& b) noexcept {
  return a.score != b.score ? a.score < b.score : a.left > b.left;
}

}  // namespace

ScoreBpe::ScoreBpe(std::shared_ptr<const TokenTable> tokens, Normalizer normalizer)
    : tokens_(std::move(tokens)),
      normalizer_(std::move(normalizer)),
      byte_ids_(tokens_->byte_tokens()) {
  for (std::size_t id = 0; id < tokens_->size(); ++id) {
    longest_ = std::max(longest_, tokens_->texts[id].size());
    by_words_ = by_words_ && !crosses_words(tokens_->texts[id]);
  }
}

Result<ScoreBpe> ScoreBpe::build(const VocabularyData& data,
                                 std::shared_ptr<const TokenTable> tokens) {
  if (tokens->scores.empty()) {
    return fail(Code::corrupt,
                "The vocabulary has no scores (tokenizer.ggml.scores); convert the model again.");
  }
  auto normalizer = Normalizer::build(data);
  if (!normalizer) return fail(std::move(normalizer));
  return ScoreBpe(std::move(tokens), std::move(*normalizer));
}

/// Merges one text after the other.
class ScoreBpe::Merger {
 public:
  explicit Merger(const ScoreBpe& model) : model_(model) {}

  Result<void> run(std::string_view text, const UnknownWriter& unknown, StopPoll& poll,
                   std::vector<std::int32_t>& ids) {
    text_ = text;
    symbols_.clear();
    heap_.clear();
    halves_.clear();
    split(poll);
    for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) push(static_cast<std::int32_t>(i));
    while (!heap_.empty() && !poll.fired()) {
      const Candidate best = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), worse);
      heap_.pop_back();
      merge(best);
    }
    if (auto done = poll.result(); !done) return done;
    for (std::int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = at(i).next) {
      if (auto done = write(at(i), unknown, ids); !done) return done;
    }
    return {};
  }

 private:
  struct Part {
    std::int32_t begin;
    std::int32_t size;
    std::int32_t id;
  };

  Symbol& at(std::int32_t index) { return symbols_[static_cast<std::size_t>(index)]; }

  std::string_view text(std::int32_t begin, std::int32_t size) const {
    return text_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
  }

  /// The token that merging may make of a text: an ordinary or an unused one.
  std::optional<std::int32_t> find(std::string_view piece) const {
    if (piece.size() > model_.longest_) return std::nullopt;
    const auto id = model_.tokens_->texts.find(piece);
    if (!id) return std::nullopt;
    return model_.tokens_->ordinary(*id) || unused(*id) ? id : std::nullopt;
  }

  bool unused(std::int32_t id) const {
    return id >= 0 && model_.tokens_->types[static_cast<std::size_t>(id)] == TokenType::unused;
  }

  void split(StopPoll& poll) {
    std::size_t position = 0;
    while (position < text_.size() && !poll.fired()) {
      const auto begin = static_cast<std::int32_t>(position);
      next_utf8(text_, position);
      const std::int32_t size = static_cast<std::int32_t>(position) - begin;
      const auto index = static_cast<std::int32_t>(symbols_.size());
      symbols_.push_back({find(text(begin, size)).value_or(-1), begin, size, index - 1,
                          position < text_.size() ? index + 1 : -1});
    }
  }

  void push(std::int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    const Symbol& first = at(left);
    const std::int32_t size = first.size + at(first.next).size;
    const auto id = find(text(first.begin, size));
    if (!id) return;
    heap_.push_back({model_.tokens_->scores[static_cast<std::size_t>(*id)], left, size, *id});
    std::push_heap(heap_.begin(), heap_.end(), worse);
    // An unused token takes part in merging, but is written as what it was made of.
    if (unused(*id)) halves_[*id] = {first.size, first.id, at(first.next).id};
  }

  void merge(const Candidate& best) {
    Symbol& left = at(best.left);
    if (left.size == 0 || left.next < 0) return;
    Symbol& right = at(left.next);
    if (left.size + right.size != best.size) return;
    left.id = best.id;
    left.size = best.size;
    right.size = 0;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = best.left;
    push(left.previous);
    push(best.left);
  }

  Result<void> write(const Symbol& symbol, const UnknownWriter& unknown,
                     std::vector<std::int32_t>& ids) {
    parts_.push_back({symbol.begin, symbol.size, symbol.id});
    while (!parts_.empty()) {
      const Part part = parts_.back();
      parts_.pop_back();
      const auto half = unused(part.id) ? halves_.find(part.id) : halves_.end();
      if (half != halves_.end()) {
        const auto& [size, left, right] = half->second;
        parts_.push_back({part.begin + size, part.size - size, right});
        parts_.push_back({part.begin, size, left});
      } else if (part.id >= 0) {
        ids.push_back(part.id);
      } else if (auto done = unknown.write(text(part.begin, part.size), ids); !done) {
        return done;
      }
    }
    return {};
  }

  struct Halves {
    std::int32_t size;  ///< of the left one
    std::int32_t left;
    std::int32_t right;
  };

  const ScoreBpe& model_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  std::vector<Part> parts_;
  std::unordered_map<std::int32_t, Halves> halves_;  ///< of unused tokens
};

Result<void> ScoreBpe::encode(std::string_view text, StopPoll& poll,
                              std::vector<std::int32_t>& ids) const {
  auto normal = normalizer_.apply(text, poll);
  if (!normal) return fail(std::move(normal));
  const UnknownWriter unknown(byte_ids_, tokens_->unknown, ids.size());
  Merger merger(*this);
  for (std::string_view rest = *normal; !rest.empty();) {
    const std::string_view word = by_words_ ? first_word(rest) : rest;
    if (auto done = merger.run(word, unknown, poll, ids); !done) return done;
    rest.remove_prefix(word.size());
  }
  return {};
}

std::string ScoreBpe::bytes_of(std::string_view text, TokenType type) const {
  return sentence_piece_bytes(text, type);
}

TokenizerTraits ScoreBpe::traits() const noexcept {
  return {.add_bos = true,
          .marks_spaces = true,
          .adds_space = normalizer_.adds_space(),
          .piece_by_piece = !normalizer_.folds() && unknown_is_bytes(byte_ids_)};
}

}  // namespace tacet
