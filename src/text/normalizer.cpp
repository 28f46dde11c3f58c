#include "text/normalizer.hpp"

#include <cstdint>
#include <limits>

#include "text/sentence_pieces.hpp"
#include "text/utf8.hpp"

namespace tacet {

Result<Normalizer> Normalizer::build(const VocabularyData& data) {
  auto charsmap = Charsmap::read(data.charsmap);
  if (!charsmap) return fail(std::move(charsmap));
  Normalizer normalizer;
  normalizer.charsmap_ = std::move(*charsmap);
  normalizer.replaces_ = !data.charsmap.empty();
  normalizer.adds_space_ = data.add_space_prefix.value_or(true);
  normalizer.folds_spaces_ = data.remove_extra_whitespaces.value_or(false);
  return normalizer;
}

Result<std::string> Normalizer::apply(std::string_view text, StopPoll& poll) const {
  std::string out;
  if (text.empty()) return out;
  bool opened = !adds_space_;
  bool after_space = folds_spaces_;
  std::size_t position = 0;
  while (position < text.size() && !poll.fired()) {
    const std::size_t start = position;
    auto match = charsmap_.longest(text.substr(start));
    if (!match) return fail(std::move(match));
    std::string_view piece = match->replacement;
    if (match->size > 0) {
      position += match->size;
    } else {
      next_utf8(text, position);
      piece = text.substr(start, position - start);
    }
    while (after_space && piece.starts_with(' ')) piece.remove_prefix(1);
    if (!opened && (!piece.empty() || !folds_spaces_)) {
      out += kSpaceMark;
      opened = true;
    }
    for (const char c : piece) {
      if (c == ' ') {
        out += kSpaceMark;
      } else {
        out += c;
      }
    }
    if (!piece.empty()) after_space = folds_spaces_ && piece.ends_with(' ');
  }
  if (auto done = poll.result(); !done) return fail(std::move(done));
  while (folds_spaces_ && out.ends_with(kSpaceMark)) out.resize(out.size() - kSpaceMark.size());
  if (out.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return fail(Code::invalid_argument,
                "The text has {} bytes after it was normalised; give it in smaller parts.",
                out.size());
  }
  return out;
}

}  // namespace tacet
