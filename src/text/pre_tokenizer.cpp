#include "text/pre_tokenizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "formats/gguf/value.hpp"

namespace tacet {
namespace {

// White space is \p{WSpace}, Unicode's own property: PCRE2's \s has U+180E too, which tokenizers do
// not count.

/// `\s*[\r\n]+`, and spaces. A run of spaces up to its last line break is written without
/// backtracking.
constexpr std::string_view kLines =
    R"((?:[^\P{WSpace}\r\n]*+[\r\n]++)++|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";
constexpr std::string_view kContractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr std::string_view kWordsAndSigns = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
constexpr std::string_view kSigns = R"( ?[^\p{WSpace}\p{L}\p{N}]+[\r\n]*)";

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{WSpace}\p{L}\p{N}]+|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";

/// Words that end with small letters or, else, that begin with capitals.
constexpr std::string_view kCasedEnd =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)";
constexpr std::string_view kCasedStart =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)";
constexpr std::string_view kSignsAndSlashes = R"( ?[^\p{WSpace}\p{L}\p{N}]+[\r\n/]*)";

/// Letters of scripts with two cases, as the version of Unicode had them that DeepSeek's first
/// models were made with.
constexpr std::string_view kCasedLetters =
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
    R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})";
/// `\s+$`: the spaces before the end, found at their first one.
constexpr std::string_view kSpacesAtEnd = R"((?<!\p{WSpace})\p{WSpace}++\z)";
constexpr std::string_view kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)";

// Made anew for each model: a static one would need a destructor, which may run while other threads
// still work.
std::vector<PreTokenizerRule> rules() {
  // Each is the regular expressions of a model's tokenizer.json; models of the same form share one.
  const auto either = [](auto... parts) {
    return fmt::format("{}", fmt::join(std::array{parts...}, "|"));
  };
  const std::string qwen2 =
      either(kContractions, kWordsAndSigns, std::string_view(R"(\p{N})"), kSigns, kLines);
  const std::string llama3 =
      either(kContractions, kWordsAndSigns, std::string_view(R"(\p{N}{1,3})"), kSigns, kLines);
  const std::string gpt4o = fmt::format("{0}{2}?|{1}{2}?|{3}|{4}|{5}", kCasedEnd, kCasedStart,
                                        kContractions, R"(\p{N}{1,3})", kSignsAndSlashes, kLines);
  const std::string tekken =
      either(kCasedEnd, kCasedStart, std::string_view(R"(\p{N})"), kSignsAndSlashes, kLines);
  const std::vector<std::string> deepseek_llm = {
      R"([\r\n])",
      fmt::format(R"(\p{{WSpace}}?[{}]+)", kCasedLetters),
      R"(\p{WSpace}?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)",
      std::string(kSpacesAtEnd),
      R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)",
      R"(\p{N})"};
  const std::vector<std::string> deepseek_v3 = {
      R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
      either(kDeepseek3, kLines)};
  return {
      {.names = {"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat",
                 "a.x-4.0", "mellum", "modern-bert"},
       .patterns = {std::string(kGpt2)}},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
                 "lfm2"},
       .patterns = {llama3},
       .ignore_merges = true,
       .add_bos = true},
      {.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .patterns = {llama3}},
      {.names = {"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "kormo"}, .patterns = {qwen2}},
      {.names = {"gpt-4o", "llama4", "kanana2"}, .patterns = {gpt4o}},
      {.names = {"tekken"}, .patterns = {tekken}, .ignore_merges = true, .add_bos = true},
      {.names = {"deepseek-llm"}, .patterns = deepseek_llm},
      {.names = {"deepseek-v3", "hunyuan-dense"}, .patterns = deepseek_v3},
      {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
       .patterns = {R"(\p{N})", std::string(kGpt2)}},
  };
}

}  // namespace

std::string known_pre_tokenizers() {
  std::string names;
  for (const PreTokenizerRule& rule : rules()) {
    for (const std::string_view name : rule.names) {
      if (!names.empty()) names += ", ";
      names += name;
    }
  }
  return names;
}

Result<PreTokenizer> PreTokenizer::build(std::string_view name, bool jit) {
  for (const PreTokenizerRule& rule : rules()) {
    if (std::find(rule.names.begin(), rule.names.end(), name) == rule.names.end()) continue;
    std::vector<Pattern> patterns;
    for (const std::string& source : rule.patterns) {
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

Result<std::vector<std::string_view>> PreTokenizer::split(std::string_view text,
                                                          StopPoll& poll) const {
  std::vector<std::string_view> words;
  if (!text.empty()) words.push_back(text);
  for (const Pattern& pattern : patterns_) {
    std::vector<std::string_view> finer;
    for (const std::string_view word : words) {
      if (auto done = pattern.cut(word, poll, finer); !done) return fail(std::move(done));
    }
    words = std::move(finer);
  }
  return words;
}

}  // namespace tacet
