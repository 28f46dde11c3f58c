#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "shared_folder.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/template.hpp"

namespace tacet::jinja {
namespace {

using Json = nlohmann::ordered_json;

Value to_value(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return Value::integer(json.get<std::int64_t>());
    case Json::value_t::number_float:
      return Value::number(json.get<double>());
    case Json::value_t::string:
      return Value::string(json.get<std::string>());
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(to_value(item));
      return Value::list(std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<std::string, Value>> entries;
      for (const auto& [key, item] : json.items()) entries.emplace_back(key, to_value(item));
      return Value::dict(std::move(entries));
    }
    default:
      return Value::none();
  }
}

Result<std::string> render(std::string_view source,
                           const Value& context = Value::dict(std::vector<Value::Entry>{}),
                           const Limits& limits = {}) {
  const auto parsed = Template::parse(source);
  if (!parsed) return tl::unexpected(parsed.error());
  // 4 March 2026, 15:06:07.000089 wherever this runs, as in make_jinja_cases.py.
  std::tm local{};
  local.tm_year = 126;
  local.tm_mon = 2;
  local.tm_mday = 4;
  local.tm_hour = 15;
  local.tm_min = 6;
  local.tm_sec = 7;
  local.tm_isdst = -1;
  const auto now = std::chrono::system_clock::from_time_t(std::mktime(&local));
  return parsed->render(context, limits, now + std::chrono::microseconds(89));
}

TEST(Jinja, renders_what_python_renders) {
  const Json file =
      Json::parse(test::read_text(test::data_file("tests/text/data/jinja_cases.json")));
  const Value variables = to_value(file["variables"]);
  int rendered = 0;
  int failed = 0;
  for (const Json& row : file["cases"]) {
    const std::string name = row["name"];
    const auto text = render(row["template"].get<std::string>(),
                             row.contains("context") ? to_value(row["context"]) : variables);
    if (row["expected"].is_null()) {
      EXPECT_FALSE(text.has_value()) << name << " gives " << *text;
      ++failed;
    } else {
      ASSERT_TRUE(text.has_value() || !text.error().message().empty());
      EXPECT_EQ(
          text.value_or(text.has_value() ? "" : "ERROR: " + std::string(text.error().message())),
          row["expected"].get<std::string>())
          << name;
      ++rendered;
    }
  }
  EXPECT_GT(rendered, 300);
  EXPECT_GT(failed, 40);
}

TEST(Jinja, errors_name_the_line) {
  const auto parse = Template::parse("a\nb\n{% if %}");
  ASSERT_FALSE(parse.has_value());
  EXPECT_EQ(parse.error().code(), Code::corrupt);
  EXPECT_NE(parse.error().message().find("line 3"), std::string_view::npos)
      << parse.error().message();
  const auto run = render("a\n\n{{ missing.x }}");
  ASSERT_FALSE(run.has_value());
  EXPECT_NE(run.error().message().find("line 3"), std::string_view::npos) << run.error().message();
  EXPECT_NE(run.error().message().find("'missing' is undefined"), std::string_view::npos);
  const auto refused = render("{{ raise_exception('only users') }}");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message().find("only users"), std::string_view::npos);
}

/// Fails within its limits, quickly and in little memory.
void expect_bounded(std::string_view source) {
  const auto text = render(source, Value::dict(std::vector<Value::Entry>{}),
                           {.steps = 1'000'000, .memory = 32 << 20, .output = 1 << 20});
  ASSERT_FALSE(text.has_value()) << source.substr(0, 80);
  EXPECT_EQ(text.error().code(), Code::unsupported) << text.error().message();
}

TEST(Jinja, what_is_unknown_is_unsupported) {
  for (const std::string_view source :
       {"{{ 'abc'.isidentifier() }}", "{{ [1].append(2) }}", "{{ {}.update({}) }}",
        "{{ 1 | nofilter }}", "{{ 1 is notest }}"}) {
    const auto text = render(source);
    ASSERT_FALSE(text.has_value()) << source;
    EXPECT_EQ(text.error().code(), Code::unsupported) << text.error().message();
    EXPECT_NE(text.error().message().find("not supported"), std::string_view::npos)
        << text.error().message();
  }
}

TEST(Jinja, errors_show_no_raw_bytes) {
  for (const std::string& source : std::vector<std::string>{
           "{{ x.\u00e9\u001b }}", "{{ 1 | \u00e9t\u00e9 }}", "{{ 1 is \u00e9t\u00e9 }}",
           "{{ \u00e9.a }}", "{{ \u00e9() }}", "{{ 'a'.\u00e9() }}", "{% \u00e9 %}",
           "{{ a \u00e9 }}", "{% set \u00e9.a = 1 %}", "{{ 'a' | upper(\u00e9=1) }}",
           "{{ raise_exception('\u00e9\\x1b[31m\n' * 1000) }}", "{{ f(\u00e9=1, \u00e9=2) }}",
           "{% macro \u00e9() %}{% endmacro %}{{ \u00e9(1) }}", "{{ {}['\u00e9' * 1000].x }}"}) {
    const auto text = render(source);
    ASSERT_FALSE(text.has_value()) << source;
    const std::string_view message = text.error().message();
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return c >= ' ' && c <= '~';
    })) << message;
    EXPECT_LT(message.size(), 2300U) << source;
  }
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(Jinja, hostile_templates_end) {
  expect_bounded(
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}");
  expect_bounded("{{ range(1000000000000) | length }}");
  expect_bounded("{{ 'a' * 1000000000000 }}");
  expect_bounded("{{ [0] * 1000000000000 }}");
  expect_bounded(
      "{% set ns = namespace(x='a') %}{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}{% "
      "endfor %}");
  expect_bounded(
      "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor "
      "%}");
  expect_bounded(
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}{{ ns.x }}");
  expect_bounded(
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}{{ ns.x == ns.x }}");
  expect_bounded(
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}{{ ns.x | tojson }}");
  expect_bounded("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}");
  expect_bounded("{% set a = 'a' * 1000000 %}{{ a.replace('a', a) }}");
  expect_bounded("{% set a = 'a' * 1000000 %}{{ a.find('a' * 500000 ~ 'b') }}");
  expect_bounded("{% for a in range(30) %}{{ 'a' * 100000 }}{% endfor %}");
  expect_bounded("{{ 9223372036854775807 + 1 }}");
  expect_bounded("{{ (-9223372036854775807 - 1) // -1 }}");
  expect_bounded("{{ 10 ** 30 }}");
}

TEST(Jinja, deep_sources_end) {
  expect_bounded("{{ " + repeat("(", 100000) + "1" + repeat(")", 100000) + " }}");
  expect_bounded("{{ " + repeat("[", 100000) + repeat("]", 100000) + " }}");
  expect_bounded("{{ " + repeat("-", 100000) + "1 }}");
  expect_bounded("{{ " + repeat("not ", 100000) + "1 }}");
  expect_bounded("{{ 1" + repeat(" + 1", 100000) + " }}");
  expect_bounded("{{ 1" + repeat(" | abs", 100000) + " }}");
  expect_bounded("{{ x" + repeat(".x", 100000) + " }}");
  expect_bounded("{{ 1" + repeat(" if 1 else 1", 100000) + " }}");
  expect_bounded(repeat("{% if 1 %}", 100000) + repeat("{% endif %}", 100000));
  expect_bounded(repeat("a", (512 << 10) + 1));
  EXPECT_FALSE(Template::parse("{% for " + repeat("(", 100000) + "a").has_value());
  EXPECT_FALSE(Template::parse("{% raw %}" + repeat("{%", 200000)).has_value());
  // Long but flat is no problem.
  EXPECT_EQ(render("{{ 1" + repeat(" ~ 1", 5000) + " }}").value().size(), 5001U);
  EXPECT_EQ(render("{% if 0 %}" + repeat("{% elif 0 %}", 5000) + "{% else %}x{% endif %}").value(),
            "x");
}

TEST(Jinja, namespaces_may_hold_themselves) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns.me }}").value(),
            "[<Namespace>]");
}

TEST(Jinja, templates_are_shared_by_threads_and_copies) {
  const Template first = Template::parse("{% for i in range(3) %}{{ i }}{% endfor %}").value();
  const Template second = first;
  EXPECT_EQ(second.render(Value::dict(std::vector<Value::Entry>{})).value(), "012");
  EXPECT_FALSE(first.render(Value::integer(1)).has_value());
}

TEST(Jinja, numbers_print_as_in_python) {
  for (const auto& [number, text] :
       std::vector<std::pair<double, std::string>>{{0.0, "0.0"},
                                                   {-0.0, "-0.0"},
                                                   {1.0, "1.0"},
                                                   {0.1, "0.1"},
                                                   {1e16, "1e+16"},
                                                   {1e15, "1000000000000000.0"},
                                                   {0.0001, "0.0001"},
                                                   {0.00001, "1e-05"},
                                                   {1.5e300, "1.5e+300"},
                                                   {123456.789, "123456.789"},
                                                   {5e-324, "5e-324"}}) {
    EXPECT_EQ(number_text(number), text);
  }
}

}  // namespace
}  // namespace tacet::jinja
