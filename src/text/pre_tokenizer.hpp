#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "text/pattern.hpp"

namespace tacet {

/// How the models of one pre-tokenizer cut text, and what else they have in common.
struct PreTokenizerRule {
  std::vector<std::string_view> names;  ///< as `tokenizer.ggml.pre` gives them
  std::vector<std::string> patterns;    ///< PCRE2, each applied to the pieces of the one before
  bool ignore_merges = false;           ///< a word that is a token is taken whole, without merging
  bool add_bos = false;                 ///< unless the file says otherwise
};

/// Cuts text into the words that are then merged each on its own. Immutable; any number of threads
/// may use one.
class PreTokenizer {
 public:
  /// Fails with unsupported, and lists the known names, if `name` is not one of them. `jit`: see
  /// Pattern.
  static Result<PreTokenizer> build(std::string_view name, bool jit = true);

  /// The words of `text` in order; together they are all of it. `text` must be valid UTF-8. Fails
  /// with unsupported if a match needs more steps or memory than is granted; the time is bounded.
  /// Ends early if `poll` fired.
  Result<std::vector<std::string_view>> split(std::string_view text, StopPoll& poll) const;

  const PreTokenizerRule& rule() const noexcept { return rule_; }

 private:
  PreTokenizer(PreTokenizerRule rule, std::vector<Pattern> patterns)
      : rule_(std::move(rule)), patterns_(std::move(patterns)) {}

  PreTokenizerRule rule_;
  std::vector<Pattern> patterns_;
};

/// The names that `PreTokenizer::build` knows, "a, b, c".
std::string known_pre_tokenizers();

}  // namespace tacet
