#include "text/chat_template.hpp"

#include <gtest/gtest.h>

namespace tacet {
namespace {

const std::vector<ChatMessage> kMessages = {{"system", "Be kind."}, {"user", "Hi"}};

TEST(ChatTemplate, is_chatml_if_the_file_has_none) {
  const ChatTemplate chat = ChatTemplate::build("", "", "").value();
  EXPECT_EQ(chat.render(kMessages, false).value(),
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
  EXPECT_EQ(chat.render({}, true).value(), "<|im_start|>assistant\n");
}

TEST(ChatTemplate, gives_roles_contents_and_tokens) {
  const auto chat = ChatTemplate::build(
      "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}:{{ m.content }}]{{ eos_token }}{% "
      "endfor %}"
      "{{ add_generation_prompt }}{{ tools is defined }}",
      "<s>", "</s>");
  const ChatTemplate copy = chat.value();
  EXPECT_EQ(copy.render(kMessages, true).value(), "<s>[system:Be kind.]</s>[user:Hi]</s>TrueFalse");
}

TEST(ChatTemplate, says_what_is_wrong) {
  const auto bad = ChatTemplate::build("{% for %}", "", "");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code(), Code::corrupt);
  EXPECT_EQ(ChatTemplate::build("\xFF", "", "").error().code(), Code::corrupt);
  EXPECT_EQ(ChatTemplate::build("{% include 'x' %}", "", "").error().code(), Code::unsupported);
  const ChatTemplate chat =
      ChatTemplate::build("{{ raise_exception('no system role') }}", "", "").value();
  const auto refused = chat.render(kMessages, true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message().find("no system role"), std::string_view::npos);
  const std::vector<ChatMessage> invalid = {{"user", "\xC3("}};
  const auto not_text = ChatTemplate::build("", "", "").value().render(invalid, true);
  ASSERT_FALSE(not_text.has_value());
  EXPECT_EQ(not_text.error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace tacet
