#include "text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <thread>

#include "small_vocabulary.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/utf8.hpp"

namespace tacet {
namespace {

using test::small_vocabulary;
using Ids = std::vector<std::int32_t>;

Tokenizer make(const VocabularyData& data) {
  auto tokenizer = Tokenizer::build(data);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message();
  return std::move(tokenizer.value());
}

void expect_error(const VocabularyData& data, Code code, std::string_view part) {
  const auto tokenizer = Tokenizer::build(data);
  ASSERT_FALSE(tokenizer.has_value()) << part;
  EXPECT_EQ(tokenizer.error().code(), code);
  const std::string_view message = tokenizer.error().message();
  EXPECT_NE(message.find(part), std::string_view::npos) << message;
  EXPECT_NE(message.find("; "), std::string_view::npos) << "no remedy in: " << message;
  EXPECT_LT(message.size(), 700U);
  EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
    return c >= ' ' && c <= '~';
  })) << message;
}

TEST(Tokenizer, merges_by_rank_and_leftmost_first) {
  const Tokenizer tokenizer =
      make(small_vocabulary({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "a"}}));
  EXPECT_EQ(tokenizer.encode("abc", false).value(), (Ids{'a', 256})) << "bc comes before ab";
  EXPECT_EQ(tokenizer.encode("ab", false).value(), (Ids{257}));
  EXPECT_EQ(tokenizer.encode("aaaaa", false).value(), (Ids{258, 259})) << "aa aa a, then aa aaa";
}

TEST(Tokenizer, finds_special_tokens) {
  const Tokenizer tokenizer = make(small_vocabulary({{"<", "|"}}));
  const std::int32_t start = tokenizer.find("<|im_start|>").value();
  const std::int32_t tool = tokenizer.find("<tool>").value();
  const Ids with = tokenizer.encode("x<|im_start|><tool>y", true).value();
  EXPECT_EQ(with, (Ids{tokenizer.find("x").value(), start, tool, tokenizer.find("y").value()}));
  const Ids without = tokenizer.encode("<|im_start|><tool>", false).value();
  EXPECT_EQ(without.front(), 256);
  EXPECT_EQ(without.back(), tool) << "user-defined tokens are always found";
  EXPECT_EQ(std::count(without.begin(), without.end(), start), 0);
}

TEST(Tokenizer, takes_the_longest_special_token) {
  VocabularyData data = small_vocabulary({});
  for (const char* text : {"<a", "<ab>", "<abc>", "<abz"}) {
    data.tokens.emplace_back(text);
    data.token_types.push_back(4);
  }
  const Tokenizer tokenizer = make(data);
  const auto id = [&](std::string_view text) { return tokenizer.find(text).value(); };
  EXPECT_EQ(tokenizer.encode("<abc><ab><abd", false).value(),
            (Ids{id("<abc>"), id("<ab>"), id("<a"), id("b"), id("d")}));
}

TEST(Tokenizer, gives_the_bytes_of_tokens) {
  const Tokenizer tokenizer = make(small_vocabulary({{" ", "w"}, {"\xC3", "\xA9"}}));
  EXPECT_EQ(tokenizer.piece(256), " w");
  EXPECT_EQ(tokenizer.token_text(256), "Ġw");
  EXPECT_EQ(tokenizer.piece(257), "é");
  EXPECT_EQ(tokenizer.piece(0), std::string_view("\0", 1));
  EXPECT_EQ(tokenizer.piece(258), "") << "a control token is no text";
  EXPECT_EQ(tokenizer.piece(258, true), "<|im_start|>");
  EXPECT_EQ(tokenizer.piece(260), "<tool>");
  EXPECT_EQ(tokenizer.piece(-1), "");
  EXPECT_EQ(tokenizer.piece(261), "");
  const Ids ids = {256, 258, 257};
  EXPECT_EQ(tokenizer.decode(ids), " wé");
  EXPECT_EQ(tokenizer.decode(ids, true), " w<|im_start|>é");
}

TEST(Tokenizer, knows_the_ends) {
  VocabularyData data = small_vocabulary({});
  data.eos = 5;
  data.eot = 7;
  const Tokenizer tokenizer = make(data);
  EXPECT_EQ(tokenizer.end_tokens(), (Ids{5, 7, 257})) << "<|im_end|> is known by name";
  EXPECT_TRUE(tokenizer.is_end(257));
  EXPECT_FALSE(tokenizer.is_end(256));
  EXPECT_FALSE(tokenizer.add_bos());
  data.add_bos = true;
  EXPECT_FALSE(make(data).add_bos()) << "there is no BOS";
  data.bos = 1;
  EXPECT_TRUE(make(data).add_bos());
}

TEST(Tokenizer, takes_whole_words_where_the_models_do) {
  VocabularyData data = small_vocabulary({{"b", "c"}});
  data.tokens.emplace_back("abc");
  data.token_types.push_back(1);
  EXPECT_EQ(make(data).encode("abc", false).value().size(), 2U);
  data.pre = "llama-bpe";
  EXPECT_EQ(make(data).encode("abc", false).value(), (Ids{260}));
  data.token_types.back() = 3;
  EXPECT_EQ(make(data).encode("abc", false).value().size(), 2U)
      << "text must not become a control token";
}

TEST(Tokenizer, merges_to_nothing_that_text_may_not_become) {
  VocabularyData data = small_vocabulary({{"a", "b"}, {"ab", "c"}});
  EXPECT_EQ(make(data).encode("ab abc", false).value().size(), 3U);
  const auto set = [&](const char* text, std::int32_t type) {
    const auto found = std::find(data.tokens.begin(), data.tokens.end(), text);
    data.token_types[static_cast<std::size_t>(found - data.tokens.begin())] = type;
  };
  for (const std::int32_t type : {2, 3, 5}) {  // unknown, control, unused
    set("ab", type);
    const Tokenizer tokenizer = make(data);
    const Ids ids = tokenizer.encode("ab abc", false).value();
    EXPECT_EQ(ids.size(), 6U) << type;
    EXPECT_EQ(tokenizer.decode(ids), "ab abc") << type;
  }
  set("ab", 1);
  set("a", 3);
  EXPECT_FALSE(make(data).encode("a", false)) << "no token is left for it";
}

TEST(Tokenizer, first_of_equal_tokens_wins) {
  VocabularyData data = small_vocabulary({{"a", "b"}});
  data.tokens.emplace_back("ab");
  data.token_types.push_back(1);
  EXPECT_EQ(make(data).encode("ab", false).value(), (Ids{256}));
}

TEST(Tokenizer, refuses_vocabularies_that_contradict_themselves) {
  const VocabularyData good = small_vocabulary({{"a", "b"}});
  VocabularyData data = good;
  data.model = "rwkv";
  expect_error(data, Code::unsupported, "gpt2");
  data = good;
  data.pre = "klingon";
  expect_error(data, Code::unsupported, "qwen2");
  data = good;
  data.tokens.clear();
  data.token_types.clear();
  expect_error(data, Code::corrupt, "empty");
  data = good;
  data.token_types.pop_back();
  expect_error(data, Code::corrupt, "token types");
  data = good;
  data.token_types[3] = 9;
  expect_error(data, Code::corrupt, "Token 3");
  data = good;
  data.merges.emplace_back("a zz");
  expect_error(data, Code::corrupt, "'zz'");
  data = good;
  data.merges.emplace_back("b a");
  expect_error(data, Code::corrupt, "'ba'");
  data = good;
  data.merges.emplace_back("ab");
  expect_error(data, Code::corrupt, "not two pieces");
  data = good;
  data.eos = 100000;
  expect_error(data, Code::corrupt, "EOS token is 100000");
  data = good;
  data.bos = -3;
  expect_error(data, Code::corrupt, "BOS");
  data = good;
  data.tokens[9] = "\xFF";
  expect_error(data, Code::corrupt, "Token 9");
  // What a file says is shown neither raw nor whole.
  const std::string odd = "\x1b[31m\xFF\n" + std::string(100000, 'x');
  data = good;
  data.merges.push_back(odd);
  expect_error(data, Code::corrupt, "not two pieces");
  data.merges.back() += " b";
  expect_error(data, Code::corrupt, "not a token");
  data = good;
  data.model = odd;
  expect_error(data, Code::unsupported, "tokenizer model");
  data = good;
  data.pre = odd;
  expect_error(data, Code::unsupported, "pre-tokenizer");
}

TEST(Tokenizer, refuses_what_it_can_not_encode) {
  VocabularyData data = small_vocabulary({});
  const auto invalid = make(data).encode("ab\xFFz", false);
  ASSERT_FALSE(invalid.has_value());
  EXPECT_EQ(invalid.error().code(), Code::invalid_argument);
  EXPECT_NE(invalid.error().message().find("byte 2"), std::string_view::npos);
  data.tokens['z'] = "unused";
  ASSERT_EQ(make(data).find("z"), std::nullopt);
  const auto missing = make(data).encode("az", false);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message().find("0x7A"), std::string_view::npos);
}

/// Random text of letters, marks, digits, spaces and signs of many scripts.
std::string random_text(std::mt19937& random, std::size_t characters) {
  constexpr std::uint32_t kStarts[] = {0,      0x20,   0x41,   0xA0,   0x300,   0x400,   0x900,
                                       0x2000, 0x3000, 0x4E00, 0xE000, 0x1F600, 0x10FF00};
  std::string text;
  for (std::size_t i = 0; i < characters; ++i) {
    append_utf8(kStarts[random() % std::size(kStarts)] + static_cast<std::uint32_t>(random() % 64),
                text);
  }
  return text;
}

TEST(Tokenizer, decodes_what_it_encodes) {
  const Tokenizer tokenizer =
      make(small_vocabulary({{"a", "b"}, {" ", " "}, {"\xE2", "\x80"}, {"ab", "ab"}}));
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const std::string text = random_text(random, random() % 60);
    for (const bool special : {false, true}) {
      const auto ids = tokenizer.encode(text, special);
      ASSERT_TRUE(ids.has_value()) << ids.error().message();
      ASSERT_EQ(tokenizer.decode(*ids, true), text);
    }
  }
}

TEST(Tokenizer, long_words_take_no_quadratic_time) {
  VocabularyData data = small_vocabulary({{"a", "a"}, {"aa", "aa"}, {" ", " "}, {"  ", "  "}});
  const Tokenizer tokenizer = make(data);
  for (const std::string& unit :
       {std::string("a"), std::string(" "), std::string("\n "), std::string("?")}) {
    std::string text;
    while (text.size() < (1U << 20)) text += unit;
    const std::clock_t begin = std::clock();
    const auto ids = tokenizer.encode(text, true);
    const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    ASSERT_TRUE(ids.has_value()) << ids.error().message();
    EXPECT_EQ(tokenizer.decode(*ids), text);
    // Seconds of this process; quadratic would be hours, and sanitizers need some.
    EXPECT_LT(taken, 60.0);
  }
}

TEST(Tokenizer, may_be_shared_and_moved) {
  Tokenizer first = make(small_vocabulary({{"a", "b"}, {"ab", "c"}}));
  const Tokenizer tokenizer = std::move(first);
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcabcab <tool> abc ";
  const Ids expected = tokenizer.encode(text, true).value();
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) right[t] += tokenizer.encode(text, true) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 200));
}

const StopToken kNoStop;

Result<std::vector<std::string_view>> split(const PreTokenizer& cutter, std::string_view text) {
  StopPoll poll(kNoStop);
  return cutter.split(text, poll);
}

TEST(PreTokenizer, cuts_words_as_the_models_do) {
  const auto words = [](std::string_view name, std::string_view text) {
    const PreTokenizer cutter = PreTokenizer::build(name).value();
    const std::vector<std::string_view> views = split(cutter, text).value();
    std::vector<std::string> result(views.begin(), views.end());
    return result;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("qwen2", "It's 123  x\n\n y"),
            (Words{"It", "'s", " ", "1", "2", "3", " ", " x", "\n\n", " y"}));
  EXPECT_EQ(words("llama-bpe", "1234567"), (Words{"123", "456", "7"}));
  EXPECT_EQ(words("gpt-2", "It'S 123\n\n y"), (Words{"It", "'", "S", " 123", "\n\n", " y"}));
  EXPECT_EQ(words("qwen2", " \n \n x"), (Words{" \n \n", " x"}));
  EXPECT_EQ(words("qwen2", "?\u180E?"), (Words{"?\u180E?"})) << "U+180E is no white space";
  EXPECT_EQ(words("qwen2", ""), Words{});
}

TEST(PreTokenizer, cuts_the_same_without_jit) {
  std::mt19937 random(5);
  for (const char* name : {"qwen2", "llama-bpe", "gpt-2", "gpt-4o", "tekken", "deepseek-llm",
                           "deepseek-v3", "smollm"}) {
    const PreTokenizer compiled = PreTokenizer::build(name).value();
    const PreTokenizer interpreted = PreTokenizer::build(name, false).value();
    for (int round = 0; round < 200; ++round) {
      const std::string text = random_text(random, 80);
      ASSERT_EQ(split(compiled, text).value(), split(interpreted, text).value()) << text;
    }
    for (const char* unit : {"a", " ", "\n ", "?", " \u00A0", "1"}) {
      std::string text;
      while (text.size() < (1U << 18)) text += unit;
      text += "\u4E2D";
      const auto words = split(interpreted, text);
      ASSERT_TRUE(words.has_value()) << words.error().message();
      EXPECT_EQ(*words, split(compiled, text).value());
    }
  }
}

TEST(Pattern, gives_up_on_what_runs_away) {
  const std::string text = std::string(40, 'a') + "b";
  for (const bool jit : {false, true}) {
    // Exponential: every way to divide the letters is tried.
    const Pattern pattern = Pattern::compile("(?:a|aa)+c|(?:a+)+$", jit).value();
    std::vector<std::string_view> pieces;
    StopPoll poll(kNoStop);
    const auto done = pattern.cut(text, poll, pieces);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code(), Code::unsupported);
  }
  EXPECT_EQ(Pattern::compile("(").error().code(), Code::internal);
}

}  // namespace
}  // namespace tacet
