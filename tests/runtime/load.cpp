// What a model says when it is loaded, and what a chat template that is no use leaves working.

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "formats/temporary_folder.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

using Lines = std::vector<std::string>;

/// tiny-chat with all of `from` written as `to`, which is as long.
ModelPointer patched(const std::vector<std::pair<std::string, std::string>>& changes,
                     Lines& warnings) {
  std::ifstream in(model_path("tiny-chat-Q8_0.gguf"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (const auto& [from, to] : changes) {
    EXPECT_EQ(from.size(), to.size());
    EXPECT_NE(bytes.find(from), std::string::npos) << from;
    for (std::size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at)) {
      bytes.replace(at, to.size(), to);
    }
  }
  const TemporaryFolder folder;
  std::ofstream(folder / "m.gguf", std::ios::binary) << bytes;
  auto model = try_load(make_fake_device().value(), folder / "m.gguf",
                        [&](LogLevel level, std::string_view line) {
                          if (level >= LogLevel::warning) warnings.emplace_back(line);
                        });
  EXPECT_TRUE(model.has_value()) << model.error().message();
  return model.value_or(nullptr);
}

const std::vector<ChatMessage> kQuestion = {{"user", "Hi"}};

TEST(Load, SaysNothingOfAGoodModel) {
  Lines warnings;
  const ModelPointer model = patched({}, warnings);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(warnings, Lines{});
  EXPECT_TRUE(model->chat_template().render(kQuestion).has_value());
}

TEST(Load, ABadTemplateLeavesPromptsWithoutOne) {
  Lines warnings;
  const ModelPointer model = patched({{"{% for message", "{% far message"}}, warnings);
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("--raw"), std::string::npos) << warnings[0];
  EXPECT_FALSE(model->chat_template().render(kQuestion).has_value());
  const auto session = new_session(model);
  EXPECT_FALSE(question(model).empty());
}

TEST(Load, WarnsWhereChatMlIsNoFormOfTheModel) {
  Lines warnings;
  const ModelPointer model = patched(
      {{"tokenizer.chat_template", "tokenizer.chat_templatX"}, {"<|im_start|>", "<|no_start|>"}},
      warnings);
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("no chat template"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace tacet
