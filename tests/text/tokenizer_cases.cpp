// Small vocabularies of every kind, with the ids that others make of hard texts (see
// make_tokenizer_cases.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.hpp"
#include "tokenizer_cases.hpp"

namespace tacet {
namespace {

using nlohmann::json;
using test::cases;
using Ids = std::vector<std::int32_t>;

class TokenizerCase : public testing::TestWithParam<const char*> {
 protected:
  const json& test() const { return test::tokenizer_case(GetParam()); }
  Tokenizer tokenizer() const {
    auto made = Tokenizer::build(test::vocabulary_of(test()));
    EXPECT_TRUE(made.has_value()) << made.error().message();
    return std::move(*made);
  }
};

TEST_P(TokenizerCase, gives_the_known_ids) {
  const Tokenizer made = tokenizer();
  const json& ids = test()["ids"];
  const json& texts = cases()["texts"];
  ASSERT_GT(ids.size(), 100U);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].is_null()) continue;  // several ways are as good
    const auto text = texts[i].get<std::string>();
    const auto found = made.encode(text, false);
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(*found, ids[i].get<Ids>()) << json(text);
  }
}

class MarkedCase : public TokenizerCase {};

TEST_P(MarkedCase, finds_control_tokens_when_asked) {
  const Tokenizer made = tokenizer();
  const json& texts = cases()["marked"];
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i].get<std::string>();
    const auto found = made.encode(text, true);
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(*found, test()["special"][i].get<Ids>()) << json(text);
  }
}

class LosslessCase : public TokenizerCase {};

TEST_P(LosslessCase, decodes_what_it_encodes) {
  const Tokenizer made = tokenizer();
  EXPECT_TRUE(made.piece_by_piece());
  for (const char* list : {"texts", "marked"}) {
    for (const json& text : cases()[list]) {
      for (const bool special : {false, true}) {
        const auto ids = made.encode(text.get<std::string>(), special);
        ASSERT_TRUE(ids.has_value()) << ids.error().message();
        std::string expected = text.get<std::string>();
        // U+2581 is how other vocabularies write a space.
        const bool marks = test()["vocabulary"] != "bytes";
        for (std::size_t at = 0; marks && (at = expected.find("\u2581", at)) != std::string::npos;)
          expected.replace(at, 3, " ");
        EXPECT_EQ(made.decode(*ids, true), expected) << text;
      }
    }
  }
}

class LossyCase : public TokenizerCase {};

TEST_P(LossyCase, says_so) {
  EXPECT_FALSE(tokenizer().piece_by_piece());
}

std::string test_name(const testing::TestParamInfo<const char*>& parameter) {
  std::string name = parameter.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr const char* kBytes[] = {"gpt-2",  "smollm", "llama-bpe",    "qwen2",
                                  "gpt-4o", "tekken", "deepseek-llm", "deepseek-v3"};
INSTANTIATE_TEST_SUITE_P(Bytes, TokenizerCase, testing::ValuesIn(kBytes), test_name);
INSTANTIATE_TEST_SUITE_P(Bytes, LosslessCase, testing::ValuesIn(kBytes), test_name);

constexpr const char* kLossless[] = {"gemma4", "llama", "gemma", "t5-bytes", "llama-unused"};
INSTANTIATE_TEST_SUITE_P(Pieces, TokenizerCase, testing::ValuesIn(kLossless), test_name);
INSTANTIATE_TEST_SUITE_P(Pieces, LosslessCase, testing::ValuesIn(kLossless), test_name);

constexpr const char* kLossy[] = {
    "t5",         "llama-unknown",      "llama-folding", "bert", "bert-own-form",
    "bert-cased", "bert-cased-own-form"};
INSTANTIATE_TEST_SUITE_P(Lossy, TokenizerCase, testing::ValuesIn(kLossy), test_name);
INSTANTIATE_TEST_SUITE_P(Lossy, LossyCase, testing::ValuesIn(kLossy), test_name);

INSTANTIATE_TEST_SUITE_P(LlamaCpp, MarkedCase,
                         testing::Values("gpt-2", "smollm", "llama-bpe", "qwen2", "gpt-4o",
                                         "tekken", "deepseek-v3", "gemma4", "llama", "gemma", "t5",
                                         "bert", "bert-cased"),
                         test_name);

TEST(TokenizerCases, are_all_run) {
  EXPECT_EQ(cases()["cases"].size(), 20U);
}

}  // namespace
}  // namespace tacet
