// The public doors of text: Model::tokenize, detokenize and render_chat.

#include <gtest/gtest.h>

#include <string>

#include "data_file.hpp"
#include "tacet/engine.hpp"
#include "tacet/model.hpp"

namespace tacet {
namespace {

Model load() {
  auto engine = Engine::create({.threads = 1, .log = [](LogLevel, std::string_view) {}});
  EXPECT_TRUE(engine.has_value()) << engine.error().message();
  auto model = engine->load(test::data_file("models/tiny-chat-Q8_0.gguf"));
  EXPECT_TRUE(model.has_value()) << model.error().message();
  return *model;
}

TEST(ModelText, TokenizingStops) {
  const Model model = load();
  StopSource source;
  const auto tokens = model.tokenize("What is 17 + 25?", false, source.token()).value();
  EXPECT_EQ(tokens, model.tokenize("What is 17 + 25?").value());
  EXPECT_EQ(model.detokenize(tokens).value(), "What is 17 + 25?");
  source.request_stop();
  const auto stopped = model.tokenize("What is 17 + 25?", false, source.token());
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code(), Code::stopped);
}

TEST(ModelText, ChatsTakeOptions) {
  const Model model = load();
  const ChatMessage messages[] = {{"user", "Hi"}};
  const std::string open = model.render_chat(messages).value();
  EXPECT_EQ(open, model.render_chat(messages, ChatOptions{}).value());
  EXPECT_EQ(model.render_chat(messages, false).value(),
            model.render_chat(messages, {.answer = false}).value());
  EXPECT_LT(model.render_chat(messages, false).value().size(), open.size());
  EXPECT_EQ(model.render_chat(messages, {.tools = "{"}).error().code(), Code::invalid_argument);
  EXPECT_EQ(model.render_chat(messages, {.variables = R"({"messages": []})"}).value(),
            model.render_chat({}).value());
}

}  // namespace
}  // namespace tacet
