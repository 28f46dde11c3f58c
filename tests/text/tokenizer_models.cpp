// What the ids of texts do not show: bounds, stops, errors, and what tokens stand for.

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "support/sanitizers.hpp"
#include "text/charsmap.hpp"
#include "text/prefix_index.hpp"
#include "text/tokenizer.hpp"
#include "tokenizer_cases.hpp"

namespace tacet {
namespace {

using Ids = std::vector<std::int32_t>;

// One of each algorithm.
constexpr const char* kModels[] = {"qwen2", "gpt-4o", "deepseek-llm", "deepseek-v3", "gemma4",
                                   "llama", "t5",     "t5-bytes",     "bert"};

Tokenizer make(const VocabularyData& data) {
  auto tokenizer = Tokenizer::build(data);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message();
  return std::move(tokenizer.value());
}

VocabularyData named(const char* name) {
  return test::vocabulary_of(test::tokenizer_case(name));
}

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

TEST(TokenizerModels, long_words_take_no_quadratic_time) {
  constexpr std::size_t kWhole = std::size_t{1} << 20;
  const std::pair<const char*, std::size_t> units[] = {
      {"a", kWhole},     {" ", kWhole},           {"灯", kWhole},      {"A", kWhole / 8},
      {"1", kWhole / 8}, {"e\u0301", kWhole / 8}, {"\n ", kWhole / 8}, {"'", kWhole / 8},
      {"▁", kWhole / 8}, {"\u0301", kWhole / 8},  {" 中", kWhole / 8}};
  for (const char* name : kModels) {
    const Tokenizer tokenizer = make(named(name));
    for (const auto& [unit, size] : units) {
      // Something stands behind a run of spaces, so that it is not the end of the text.
      const std::string text = "x" + repeated(unit, size) + "中";
      const std::clock_t begin = std::clock();
      const auto ids = tokenizer.encode(text, true);
      const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      ASSERT_TRUE(ids.has_value()) << name << ": " << ids.error().message();
      EXPECT_LT(taken, 6 * test::sanitizer_slowdown) << name << " " << unit;
    }
  }
}

TEST(TokenizerModels, tokens_that_begin_each_other_cost_their_length_only) {
  // The bound of Unigram and SentencePiece BPE: characters times the bytes of tokens that fit.
  VocabularyData data = named("t5-bytes");
  for (std::size_t size = 2; size <= 400; ++size) {
    data.tokens.emplace_back(size, 'q');
    data.token_types.push_back(1);
    data.scores.push_back(-static_cast<float>(size));
  }
  for (const char* model : {"t5", "llama"}) {
    data.model = model;
    const Tokenizer tokenizer = make(data);
    const std::string text = repeated("q", 1U << 16);
    const std::clock_t begin = std::clock();
    const auto ids = tokenizer.encode(text, true);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(tokenizer.decode(*ids), text);
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC,
              4 * test::sanitizer_slowdown);
  }
}

TEST(TokenizerModels, stop_when_asked) {
  const std::string text = repeated("lighthouse keeper 灯 12 ", 24U << 20);
  for (const char* name : kModels) {
    const Tokenizer tokenizer = make(named(name));
    StopSource source;
    source.request_stop();
    const auto refused = tokenizer.encode("some text", true, source.token());
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_EQ(refused.error().code(), Code::stopped);
    const auto begin = Clock::now();
    const auto stopped =
        tokenizer.encode(text, true, StopToken::after(std::chrono::milliseconds(60)));
    const std::chrono::duration<double> taken = Clock::now() - begin;
    ASSERT_FALSE(stopped.has_value()) << name << " " << taken.count();
    EXPECT_EQ(stopped.error().code(), Code::stopped) << stopped.error().message();
    EXPECT_NE(stopped.error().message().find("deadline"), std::string_view::npos);
    EXPECT_LT(taken.count(), 0.5 * test::sanitizer_slowdown) << name;
  }
}

TEST(TokenizerModels, one_long_word_stops_too) {
  const std::string text = repeated("light", 8U << 20);
  for (const char* name : {"qwen2", "gemma4", "llama", "t5"}) {
    const Tokenizer tokenizer = make(named(name));
    const auto stopped =
        tokenizer.encode(text, true, StopToken::after(std::chrono::milliseconds(100)));
    ASSERT_FALSE(stopped.has_value()) << name;
    EXPECT_EQ(stopped.error().code(), Code::stopped);
  }
}

TEST(TokenizerModels, a_token_that_never_fires_changes_nothing) {
  StopSource source;
  for (const char* name : kModels) {
    const Tokenizer tokenizer = make(named(name));
    for (const auto& text : test::cases()["texts"]) {
      const auto string = text.get<std::string>();
      EXPECT_EQ(tokenizer.encode(string, true).value(),
                tokenizer.encode(string, true, source.token()).value());
    }
  }
}

TEST(TokenizerModels, unknown_characters_are_worse_than_the_worst_token) {
  VocabularyData data;
  data.model = "t5";
  data.tokens = {"<unk>", "▁", "pq", "p", "qr", "w"};
  data.token_types = {2, 1, 1, 1, 1, 1};
  // An unknown "r" is 10 below the worst token, -40: with "pq" -41.
  data.scores = {0, -1, -1, -22, -22, -30};
  EXPECT_EQ(make(data).encode("pqr", false).value(), (Ids{1, 2, 0}));
  EXPECT_EQ(make(data).encode("rr", false).value(), (Ids{1, 0})) << "one for all in a row";
  data.scores = {0, -1, -1, -20, -20, -30};
  EXPECT_EQ(make(data).encode("pqr", false).value(), (Ids{1, 3, 4}));
}

TEST(TokenizerModels, words_may_be_merged_together) {
  // A token that goes from one word into the next changes the way, not what comes out.
  VocabularyData data = named("llama");
  const Tokenizer by_words = make(data);
  data.tokens.emplace_back("qqz▁qqz");
  data.token_types.push_back(1);
  data.scores.push_back(0);
  const Tokenizer whole = make(data);
  for (const auto& text : test::cases()["texts"]) {
    const auto string = text.get<std::string>();
    EXPECT_EQ(whole.encode(string, false).value(), by_words.encode(string, false).value()) << text;
  }
  data.tokens.back() = "a▁a";
  const std::int32_t across = static_cast<std::int32_t>(data.tokens.size()) - 1;
  data.tokens.emplace_back("a▁");
  data.token_types.push_back(1);
  data.scores.push_back(1);
  const Ids ids = make(data).encode("a a", false).value();
  EXPECT_EQ(ids.back(), across);
}

TEST(TokenizerModels, spaces_in_front_are_taken_away_once) {
  const Tokenizer llama = make(named("llama"));
  const auto id = [&](std::string_view text) { return llama.find(text).value(); };
  EXPECT_EQ(llama.piece(id("▁word")), " word");
  EXPECT_EQ(llama.decode(Ids{id("▁word")}), "word");
  EXPECT_EQ(llama.decode(Ids{id("▁word"), id("▁word")}), "word word");
  EXPECT_EQ(llama.decode(Ids{id("▁word"), id("<tool>"), id("▁word")}), "word<tool>word");
  EXPECT_EQ(llama.decode(Ids{id("<ctrl>"), id("▁word")}, false), "word");
  EXPECT_EQ(llama.decode(Ids{id("<unk>"), id("▁word")}, false), "word");
  EXPECT_EQ(llama.piece(id("<0x0A>")), "\n");
  EXPECT_EQ(llama.piece(id("<0xE7>")), "\xE7");
  const Tokenizer gemma = make(named("gemma"));
  EXPECT_EQ(gemma.decode(Ids{gemma.find("▁word").value()}), " word") << "this one adds no space";
}

TEST(TokenizerModels, words_of_bert_are_parted_by_spaces) {
  for (const char* name : {"bert", "bert-own-form"}) {
    const Tokenizer bert = make(named(name));
    EXPECT_EQ(bert.decode(bert.encode("The lighthouse keeper 99", false).value()),
              "the lighthouse keeper")
        << name;
  }
}

TEST(TokenizerModels, bert_opens_and_closes_texts) {
  VocabularyData data = named("bert");
  Tokenizer bert = make(data);
  EXPECT_EQ(bert.bos(), 2);
  EXPECT_EQ(bert.eos(), 3);
  EXPECT_TRUE(bert.add_bos());
  EXPECT_TRUE(bert.add_eos());
  data.bos.reset();
  EXPECT_FALSE(make(data).add_bos()) << "there is no [CLS]";
  data.classifier = 2;
  data.add_eos = false;
  bert = make(data);
  EXPECT_EQ(bert.bos(), 2);
  EXPECT_FALSE(bert.add_eos());
}

TEST(TokenizerModels, text_is_never_a_token_that_is_none) {
  // An unused, a byte and a control token whose texts could be merged from ordinary ones.
  for (const char* name : {"llama", "t5-bytes", "gemma4", "bert-own-form"}) {
    VocabularyData data = named(name);
    const std::string_view texts[] = {"the", "e", "th", "h"};
    for (std::size_t i = 0; i < std::size(texts); ++i) {
      const auto found = std::find(data.tokens.begin(), data.tokens.end(), texts[i]);
      if (found != data.tokens.end())
        data.token_types[static_cast<std::size_t>(found - data.tokens.begin())] =
            i % 2 == 0 ? 3 : 6;
    }
    const Tokenizer tokenizer = make(data);
    for (const std::int32_t id : tokenizer.encode("the thee eth h", false).value_or(Ids{})) {
      for (const std::string_view text : texts) EXPECT_NE(tokenizer.token_text(id), text) << name;
    }
  }
}

void expect_error(const VocabularyData& data, Code code, std::string_view part) {
  const auto tokenizer = Tokenizer::build(data);
  ASSERT_FALSE(tokenizer.has_value()) << part;
  EXPECT_EQ(tokenizer.error().code(), code);
  EXPECT_NE(tokenizer.error().message().find(part), std::string_view::npos)
      << tokenizer.error().message();
}

TEST(TokenizerModels, refuse_vocabularies_without_what_they_need) {
  for (const char* name : {"llama", "t5"}) {
    VocabularyData data = named(name);
    data.scores.pop_back();
    expect_error(data, Code::corrupt, "scores");
    data.scores.clear();
    expect_error(data, Code::corrupt, "no scores");
    data = named(name);
    data.scores[5] = std::numeric_limits<float>::quiet_NaN();
    expect_error(data, Code::corrupt, "token 5");
    data = named(name);
    data.charsmap = "abc";
    expect_error(data, Code::corrupt, "header");
    data.charsmap = std::string("\xFF\0\0\0abcd", 8);
    expect_error(data, Code::corrupt, "trie");
    data.unknown = 1'000'000;
    expect_error(data, Code::corrupt, "unknown token is 1000000");
  }
  VocabularyData data = named("bert");
  data.unknown.reset();
  data.token_types[1] = 3;
  expect_error(data, Code::corrupt, "unknown words");
  data = named("gemma4");
  data.merges.emplace_back("no such");
  expect_error(data, Code::corrupt, "not a token");
}

TEST(TokenizerModels, say_which_character_can_not_be_written) {
  VocabularyData data = named("llama-unknown");
  data.unknown.reset();
  for (auto& type : data.token_types) type = type == 2 ? 3 : type;
  const auto ids = make(data).encode("a\u2603", false);
  ASSERT_FALSE(ids.has_value());
  EXPECT_EQ(ids.error().code(), Code::unsupported);
  EXPECT_NE(ids.error().message().find("\\xe2\\x98\\x83"), std::string_view::npos)
      << ids.error().message();
}

std::string unit(std::uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

/// A trie of one entry: 'a' is replaced by what stands at `value`.
std::string trie_of_a(std::uint32_t value, std::string_view replacements) {
  std::string units;
  // The root's children are at 0 ^ 256; 'a' has a value, at its own place ^ 1.
  for (std::uint32_t i = 0; i < 512; ++i) {
    const std::uint32_t root = 256U << 10;
    const std::uint32_t leaf = (1U << 10) | (1U << 8) | 'a';
    units += unit(i == 0                   ? root
                  : i == (256U ^ 'a')      ? leaf
                  : i == (256U ^ 'a' ^ 1U) ? value | 1U << 31
                                           : 0);
  }
  return unit(static_cast<std::uint32_t>(units.size())) + units + std::string(replacements);
}

TEST(Charsmap, replaces_the_longest) {
  const Charsmap map = Charsmap::read(trie_of_a(2, std::string("x\0yz\0", 5))).value();
  EXPECT_EQ(map.longest("ab").value().size, 1U);
  EXPECT_EQ(map.longest("ab").value().replacement, "yz");
  EXPECT_EQ(map.longest("b").value().size, 0U);
  EXPECT_EQ(map.longest("").value().size, 0U);
  EXPECT_EQ(Charsmap().longest("a").value().size, 0U);
}

TEST(Charsmap, refuses_what_points_outside) {
  EXPECT_EQ(Charsmap::read(trie_of_a(0, "\xFF")).error().code(), Code::corrupt);
  for (const auto& [value, text] : {std::pair<std::uint32_t, std::string>{0, ""},
                                    {0, "no end"},
                                    {99, std::string("x\0", 2)},
                                    {1, std::string("é\0", 3)},
                                    {0, std::string(300, 'x') + '\0'}}) {
    const Charsmap map = Charsmap::read(trie_of_a(value, text)).value();
    const auto match = map.longest("a");
    ASSERT_FALSE(match.has_value()) << value;
    EXPECT_EQ(match.error().code(), Code::corrupt);
  }
  // The root alone, whose children lie behind the end.
  const Charsmap map = Charsmap::read(unit(4) + unit(1U << 20)).value();
  EXPECT_EQ(map.longest("a").error().code(), Code::corrupt);
}

TEST(PrefixIndex, finds_all_prefixes) {
  VocabularyData data;
  data.tokens = {"a", "ab", "", "abc", "b", "ab", "ac", "\xC3\xA9", "abd"};
  data.token_types = {1, 1, 1, 1, 1, 1, 3, 1, 5};
  const TokenTable table = TokenTable::build(data).value();
  const PrefixIndex index(table);
  const auto found = [&](std::string_view text) {
    Ids ids;
    PrefixIndex::Cursor cursor = index.root();
    for (const char c : text) {
      if (!index.advance(cursor, c)) break;
      ids.push_back(index.token(cursor).value_or(-1));
    }
    return ids;
  };
  EXPECT_EQ(found("abcd"), (Ids{0, 1, 3}));
  EXPECT_EQ(found("abd"), (Ids{0, 1})) << "unused";
  EXPECT_EQ(found("ac"), (Ids{0})) << "control";
  EXPECT_EQ(found("b"), (Ids{4}));
  EXPECT_EQ(found("\xC3\xA9"), (Ids{-1, 7}));
  EXPECT_EQ(found("x"), Ids{});
}

}  // namespace
}  // namespace tacet
