#include "text/pre_tokenizer.hpp"

#include "formats/gguf/value.hpp"

namespace tacet {
namespace {

// White space is \p{WSpace}, Unicode's own property: PCRE2's \s has U+180E too, which tokenizers do
// not count. A run of spaces up to its last line break is written without backtracking:
// `\s*[\r\n]+` by another name.
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\p{WSpace}\p{L}\p{N}]+[\r\n]*|)"
    R"((?:[^\P{WSpace}\r\n]*+[\r\n]++)++|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\p{WSpace}\p{L}\p{N}]+[\r\n]*|)"
    R"((?:[^\P{WSpace}\r\n]*+[\r\n]++)++|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{WSpace}\p{L}\p{N}]+|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";

// Made anew for each model: a static one would need a destructor, which may run while other threads
// still work.
std::vector<PreTokenizerRule> rules() {
  return {
      {.name = "qwen2", .patterns = {kQwen2}},
      {.name = "deepseek-r1-qwen", .patterns = {kQwen2}},
      {.name = "llama-bpe", .patterns = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "llama3", .patterns = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "llama-v3", .patterns = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.name = "gpt-2", .patterns = {kGpt2}},
  };
}

}  // namespace

std::string known_pre_tokenizers() {
  std::string names;
  for (const PreTokenizerRule& rule : rules()) {
    if (!names.empty()) names += ", ";
    names += rule.name;
  }
  return names;
}

Result<PreTokenizer> PreTokenizer::build(std::string_view name, bool jit) {
  for (const PreTokenizerRule& rule : rules()) {
    if (rule.name != name) continue;
    std::vector<Pattern> patterns;
    for (const std::string_view source : rule.patterns) {
      auto pattern = Pattern::compile(source, jit);
      if (!pattern) return fail(std::move(pattern));
      patterns.push_back(std::move(*pattern));
    }
    return PreTokenizer(rule, std::move(patterns));
  }
  return fail(Code::unsupported,
              "The pre-tokenizer {} is not known; this build knows {}, so use a model with one "
              "of these.",
              quoted(name), known_pre_tokenizers());
}

Result<std::vector<std::string_view>> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> words;
  if (!text.empty()) words.push_back(text);
  for (const Pattern& pattern : patterns_) {
    std::vector<std::string_view> finer;
    for (const std::string_view word : words) {
      if (auto done = pattern.cut(word, finer); !done) return fail(std::move(done));
    }
    words = std::move(finer);
  }
  return words;
}

}  // namespace tacet
