// Real vocabularies with known ids, from the folder beside the project; and the embedded model's.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <sstream>

#include "formats/gguf/reader.hpp"
#include "shared_folder.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace tacet {
namespace {

using test::data_file;
using test::read_text;
using test::shared_file;

Tokenizer load(const std::filesystem::path& path) {
  const std::string bytes = read_text(path);
  const auto file = read_gguf(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(file.has_value()) << file.error().message();
  const auto data = vocabulary_from_gguf(*file);
  EXPECT_TRUE(data.has_value()) << data.error().message();
  auto tokenizer = Tokenizer::build(*data);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message();
  return std::move(tokenizer.value());
}

class RealVocabulary : public testing::TestWithParam<const char*> {};

TEST_P(RealVocabulary, gives_the_known_ids) {
  const std::string name = std::string("vocab/") + GetParam();
  const auto path = shared_file(name + ".gguf");
  if (path.empty())
    GTEST_SKIP() << name << ".gguf is not there; set TACET_SHARED to the folder that has it";
  const Tokenizer tokenizer = load(path);
  const std::string texts = read_text(shared_file(name + ".inp"));
  std::istringstream lines(read_text(shared_file(name + ".out")));
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::size_t start = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_LE(start, texts.size());
    const std::size_t end = std::min(texts.find(separator, start), texts.size());
    const std::string text = texts.substr(start, end - start);
    std::istringstream numbers(line);
    const std::vector<std::int32_t> expected((std::istream_iterator<std::int32_t>(numbers)), {});
    const auto ids = tokenizer.encode(text, false);
    ASSERT_TRUE(ids.has_value()) << ids.error().message();
    EXPECT_EQ(*ids, expected) << text;
    EXPECT_EQ(tokenizer.decode(*ids), text);
    start = end + separator.size();
  }
  EXPECT_EQ(count, 46);
}

TEST_P(RealVocabulary, decodes_random_text) {
  const std::string name = std::string("vocab/") + GetParam();
  const auto path = shared_file(name + ".gguf");
  if (path.empty())
    GTEST_SKIP() << name << ".gguf is not there; set TACET_SHARED to the folder that has it";
  const Tokenizer tokenizer = load(path);
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      const std::uint_fast32_t range = random() % 8 == 0 ? 0x110000 : 0x180;
      append_utf8(static_cast<std::uint32_t>(random() % range), text);
    }
    const auto ids = tokenizer.encode(text, false);
    ASSERT_TRUE(ids.has_value()) << ids.error().message();
    ASSERT_EQ(tokenizer.decode(*ids), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, RealVocabulary,
                         testing::Values("qwen2", "llama-bpe", "gpt-2", "deepseek-llm",
                                         "llama-spm"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(EmbeddedModel, has_a_tokenizer_and_a_template) {
  const Tokenizer tokenizer = load(data_file("models/tiny-chat-Q8_0.gguf"));
  EXPECT_EQ(tokenizer.size(), 1024U);
  EXPECT_EQ(tokenizer.eos(), 1023);
  EXPECT_TRUE(tokenizer.is_end(1023));
  EXPECT_FALSE(tokenizer.add_bos());
  const ChatTemplate chat = ChatTemplate::build(tokenizer);
  const std::vector<ChatMessage> messages = {{"user", "What is 17 + 25?"}};
  const auto prompt = chat.render(messages);
  ASSERT_TRUE(prompt.has_value()) << prompt.error().message();
  EXPECT_EQ(*prompt, "<|im_start|>user\nWhat is 17 + 25?<|im_end|>\n<|im_start|>assistant\n");
  const std::vector<std::int32_t> expected = {1022, 291, 198, 320, 317,  220, 16,   22,  415,
                                              220,  17,  20,  30,  1023, 198, 1022, 292, 198};
  EXPECT_EQ(tokenizer.encode(*prompt, true).value(), expected);
}

TEST(TinyChat, gives_the_reference_tokens) {
  const auto path = shared_file("models/reference/tiny-chat-f16.jsonl");
  if (path.empty())
    GTEST_SKIP() << "models/reference is not there; set TACET_SHARED to the folder that has it";
  const Tokenizer tokenizer = load(shared_file("models/tiny-chat-f16.gguf"));
  std::istringstream lines(read_text(path));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto row = nlohmann::json::parse(line);
    const auto ids = tokenizer.encode(row["prompt"].get<std::string>(), true);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(*ids, row["tokens"].get<std::vector<std::int32_t>>());
    EXPECT_EQ(tokenizer.decode(row["greedy"].get<std::vector<std::int32_t>>()),
              row["text"].get<std::string>());
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace tacet
