#include "text/chat_template.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>

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

TEST(ChatTemplate, gives_tools_documents_and_variables) {
  const ChatTemplate chat = ChatTemplate::build(
      "{{ tools | tojson }}|{{ documents }}|{{ thinking }}|{{ bos_token }}|{{ "
      "add_generation_prompt "
      "}}|{{ strftime_now('%Y') | length }}",
      "<s>", "");
  EXPECT_EQ(chat.render({}).value(), "null|None||<s>|True|4");
  const ChatOptions options = {.answer = false,
                               .tools = R"([{"name": "f", "x": [1, 2.0, null, true, "é"]}])",
                               .documents = R"([{"b": 1, "a": 2, "b": 3}])",
                               .variables = R"({"thinking": false, "bos_token": "B"})"};
  EXPECT_EQ(
      chat.render({}, options).value(),
      R"([{"name": "f", "x": [1, 2.0, null, true, "é"]}]|[{'b': 3, 'a': 2}]|False|B|False|4)");
}

TEST(ChatTemplate, gives_the_fields_of_messages) {
  const ChatTemplate chat = ChatTemplate::build("{{ messages | tojson }}", "", "");
  const std::vector<ChatMessage> messages = {
      {"assistant", "", R"({"tool_calls": [{"id": "a"}], "content": null})"},
      {"user", "x", R"({"content": [{"type": "text", "text": "y"}]})"}};
  EXPECT_EQ(chat.render(messages).value(),
            R"([{"role": "assistant", "content": null, "tool_calls": [{"id": "a"}]}, )"
            R"({"role": "user", "content": [{"type": "text", "text": "y"}]}])");
}

TEST(ChatTemplate, shows_the_date_of_the_caller) {
  const ChatTemplate chat = ChatTemplate::build("{{ strftime_now('%d %b %Y %H:%M') }}", "", "");
  std::tm local{};
  local.tm_year = 126;
  local.tm_mday = 31;
  local.tm_hour = 23;
  local.tm_min = 59;
  local.tm_isdst = -1;
  const auto time = std::chrono::system_clock::from_time_t(std::mktime(&local));
  EXPECT_EQ(chat.render({}, {.time = time}).value(), "31 Jan 2026 23:59");
  EXPECT_EQ(chat.render({}, {.time = time + std::chrono::minutes(1)}).value(), "01 Feb 2026 00:00");
  const auto before = std::chrono::system_clock::from_time_t(0) - std::chrono::microseconds(1);
  EXPECT_EQ(ChatTemplate::build("{{ strftime_now('%f') }}", "", "").render({}, {.time = before}),
            "999999");
  for (const char* format : {"%9999999d", "' ~ 'x' * 300 ~ '", "\\0"}) {
    const auto odd =
        ChatTemplate::build(fmt::format("{{{{ strftime_now('{}') }}}}", format), "", "");
    EXPECT_EQ(odd.render({}).error().code(), Code::unsupported) << format;
  }
}

TEST(ChatTemplate, says_what_is_wrong_with_json) {
  const ChatTemplate chat = ChatTemplate::build("", "", "");
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const std::pair<ChatOptions, const char*> wrong[] = {
      {{.tools = "[1,"}, "The tools are not valid JSON at byte 3"},
      {{.tools = "{}"}, "The tools are not a JSON array"},
      {{.tools = "[] []"}, "The tools are not valid JSON"},
      {{.tools = "[\"\xC3(\"]"}, "The tools are not valid JSON"},
      {{.tools = "[NaN]"}, "The tools are not valid JSON"},
      {{.tools = "[9223372036854775808]"}, "more than 64 bits"},
      {{.tools = "[-9223372036854775809]"}, "more than 64 bits"},
      {{.documents = deep}, "The documents are nested more than 64 deep"},
      {{.documents = "null"}, "The documents are not a JSON array"},
      {{.variables = "[]"}, "The variables of the template are not a JSON object"},
      {{.variables = "x"}, "The variables of the template are not valid JSON at byte 0"}};
  for (const auto& [options, message] : wrong) {
    const auto text = chat.render(kMessages, options);
    ASSERT_FALSE(text.has_value()) << message;
    EXPECT_EQ(text.error().code(), Code::invalid_argument);
    EXPECT_NE(text.error().message().find(message), std::string_view::npos)
        << text.error().message();
  }
  const std::vector<ChatMessage> messages = {{"user", "x", "[]"}};
  EXPECT_NE(chat.render(messages).error().message().find("The fields of a message"),
            std::string_view::npos);
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
