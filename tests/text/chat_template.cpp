#include "text/chat_template.hpp"

#include <gtest/gtest.h>

#include "small_vocabulary.hpp"
#include "text/tokenizer.hpp"

namespace tacet {
namespace {

const std::vector<ChatMessage> kMessages = {{"system", "Be kind."}, {"user", "Hi"}};

TEST(ChatTemplate, is_chatml_if_the_file_has_none) {
  const ChatTemplate chat = ChatTemplate::build("", "", "");
  EXPECT_EQ(chat.render(kMessages, {.answer = false}).value(),
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
  EXPECT_EQ(chat.render({}).value(), "<|im_start|>assistant\n");
}

TEST(ChatTemplate, gives_roles_contents_and_tokens) {
  const auto chat = ChatTemplate::build(
      "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}:{{ m.content }}]{{ eos_token }}{% "
      "endfor %}"
      "{{ add_generation_prompt }}{{ tools is defined }}",
      "<s>", "</s>");
  const ChatTemplate copy = chat;
  EXPECT_EQ(copy.render(kMessages).value(), "<s>[system:Be kind.]</s>[user:Hi]</s>TrueTrue");
}

TEST(ChatTemplate, says_what_is_wrong) {
  const auto code = [](std::string_view source) {
    const auto text = ChatTemplate::build(source, "", "").render(kMessages);
    EXPECT_FALSE(text.has_value()) << source;
    const std::string_view message = text.error().message();
    EXPECT_NE(message.find("can not be used (The template"), std::string_view::npos) << message;
    EXPECT_NE(message.find("--raw"), std::string_view::npos) << message;
    return text.error().code();
  };
  EXPECT_EQ(code("{% for %}"), Code::corrupt);
  EXPECT_EQ(code("{% for"), Code::corrupt);
  EXPECT_EQ(code("\xFF"), Code::corrupt);
  EXPECT_EQ(code("{% include 'x' %}"), Code::unsupported);
  EXPECT_NE(ChatTemplate::build("{% for", "", "").warning().find("--raw"), std::string_view::npos);
  EXPECT_EQ(ChatTemplate::build("", "", "").warning(), "");
  const auto fails = ChatTemplate::build("{{ a.b }}", "", "").render(kMessages);
  ASSERT_FALSE(fails.has_value());
  EXPECT_NE(fails.error().message().find("'a' is undefined"), std::string_view::npos);
  EXPECT_NE(fails.error().message().find("--raw"), std::string_view::npos);
  const ChatTemplate chat = ChatTemplate::build("{{ raise_exception('no system role') }}", "", "");
  const auto refused = chat.render(kMessages);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message().find("no system role"), std::string_view::npos);
  const std::vector<ChatMessage> invalid = {{"user", "\xC3("}};
  const auto not_text = ChatTemplate::build("", "", "").render(invalid);
  ASSERT_FALSE(not_text.has_value());
  EXPECT_EQ(not_text.error().code(), Code::invalid_argument);
}

TEST(ChatTemplate, warns_where_chatml_stands_in_for_nothing) {
  VocabularyData data = test::small_vocabulary({});
  const auto warning = [&] {
    return std::string(ChatTemplate::build(Tokenizer::build(data).value()).warning());
  };
  EXPECT_EQ(warning(), "");
  data.tokens[256] = "<other>";
  EXPECT_NE(warning().find("no chat template"), std::string::npos) << warning();
  data.chat_template = "{{ messages[0].content }}";
  EXPECT_EQ(warning(), "");
  data.chat_template = "{% for";
  EXPECT_NE(warning().find("never ends"), std::string::npos) << warning();
}

}  // namespace
}  // namespace tacet
