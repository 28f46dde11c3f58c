#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "text/charsmap.hpp"
#include "text/stop_poll.hpp"
#include "text/vocabulary.hpp"

namespace tacet {

/// Writes text as SentencePiece's models see it: characters replaced, white space folded where the
/// file says so, a space put in front, and spaces as U+2581. Immutable.
class Normalizer {
 public:
  /// Fails with corrupt if the table of replacements is.
  static Result<Normalizer> build(const VocabularyData& data);

  /// `text` must be valid UTF-8, and so is the result, which is at most 256
  /// times as long. Fails with invalid_argument if that is more than 2^31 - 1 bytes.
  Result<std::string> apply(std::string_view text, StopPoll& poll) const;

  bool adds_space() const noexcept { return adds_space_; }
  /// Whether characters may vanish.
  bool folds() const noexcept { return folds_spaces_ || replaces_; }

 private:
  Charsmap charsmap_;
  bool replaces_ = false;
  bool adds_space_ = true;
  bool folds_spaces_ = false;
};

}  // namespace tacet
