// Small vocabularies of every kind, with the ids that others make of hard texts (see
// make_tokenizer_cases.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared_folder.hpp"
#include "text/tokenizer.hpp"

namespace tacet {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

const json& cases() {
  static const json* all = new json(json::parse(test::read_text(
      std::filesystem::path(TACET_TEST_DATA) / "../text/data/tokenizer_cases.json")));
  return *all;
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFFU);
  }
  return bytes;
}

template <typename T>
void read(const json& from, const char* key, std::optional<T>& to) {
  if (from.contains(key)) to = from[key].get<T>();
}

VocabularyData vocabulary_of(const json& test) {
  const json& from = cases()["vocabularies"][test["vocabulary"].get<std::string>()];
  VocabularyData data;
  data.model = from["model"];
  data.pre = test["pre"];
  data.tokens = from["tokens"].get<std::vector<std::string>>();
  data.token_types = from["types"].get<std::vector<std::int32_t>>();
  if (from.contains("scores")) data.scores = from["scores"].get<std::vector<float>>();
  if (from.contains("merges")) data.merges = from["merges"].get<std::vector<std::string>>();
  if (from.contains("charsmap")) data.charsmap = from_base64(from["charsmap"].get<std::string>());
  const json& keys = from["keys"];
  read(keys, "bos_token_id", data.bos);
  read(keys, "unknown_token_id", data.unknown);
  read(keys, "seperator_token_id", data.separator);
  read(keys, "add_space_prefix", data.add_space_prefix);
  read(keys, "remove_extra_whitespaces", data.remove_extra_whitespaces);
  read(keys, "normalizer.lowercase", data.lowercase);
  return data;
}

class TokenizerCase : public testing::TestWithParam<const char*> {
 protected:
  const json& test() const {
    const json& all = cases()["cases"];
    return *std::find_if(all.begin(), all.end(),
                         [](const json& one) { return one["name"] == GetParam(); });
  }
  Tokenizer tokenizer() const {
    auto made = Tokenizer::build(vocabulary_of(test()));
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

TEST_P(TokenizerCase, finds_control_tokens_when_asked) {
  if (!test().contains("special")) GTEST_SKIP() << "nobody else's ids are there for this form";
  const Tokenizer made = tokenizer();
  const json& texts = cases()["marked"];
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i].get<std::string>();
    const auto found = made.encode(text, true);
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(*found, test()["special"][i].get<Ids>()) << json(text);
  }
}

TEST_P(TokenizerCase, decodes_what_loses_nothing) {
  const Tokenizer made = tokenizer();
  if (!made.piece_by_piece()) GTEST_SKIP() << "this form folds characters";
  for (const char* list : {"texts", "marked"}) {
    for (const json& text : cases()[list]) {
      for (const bool special : {false, true}) {
        const auto ids = made.encode(text.get<std::string>(), special);
        ASSERT_TRUE(ids.has_value()) << ids.error().message();
        std::string expected = text.get<std::string>();
        // U+2581 is how other vocabularies write a space.
        if (test()["vocabulary"] != "bytes") {
          for (std::size_t at = 0; (at = expected.find("\u2581", at)) != std::string::npos;)
            expected.replace(at, 3, " ");
        }
        EXPECT_EQ(made.decode(*ids, true), expected) << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, TokenizerCase,
                         testing::Values("gpt-2", "smollm", "llama-bpe", "qwen2", "gpt-4o",
                                         "tekken", "deepseek-llm", "deepseek-v3", "gemma4", "llama",
                                         "gemma", "t5", "llama-unknown", "llama-folding",
                                         "t5-bytes", "llama-unused", "bert", "bert-own-form",
                                         "bert-cased", "bert-cased-own-form"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TokenizerCases, are_all_run) {
  EXPECT_EQ(cases()["cases"].size(), 20U);
}

}  // namespace
}  // namespace tacet
