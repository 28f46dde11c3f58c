#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/stop_poll.hpp"

namespace tacet {

/// How BERT's models see letters.
struct BertLetters {
  bool lowercase = true;
  bool strip_accents = true;
};

/// A word and how many characters it has.
struct BertWord {
  std::string text;
  std::size_t characters = 0;
};

/// The words of `text`, which must be valid UTF-8: control characters left out, cut at white space,
/// each punctuation mark and Chinese character a word of its own, letters changed as asked for.
/// Ends early if `poll` fired.
std::vector<BertWord> bert_words(std::string_view text, BertLetters letters, StopPoll& poll);

}  // namespace tacet
