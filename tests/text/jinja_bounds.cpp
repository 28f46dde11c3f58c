// What a template may cost. Each runs in a process of its own, whose time and memory are measured.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "support/sanitizers.hpp"
#include "text/jinja/template.hpp"

namespace tacet::jinja {
namespace {

constexpr int kSlower = test::sanitizer_slowdown;
constexpr rlim_t kSeconds = 6 * kSlower;
constexpr long kKibibytes = (640L << 10) * kSlower;

std::string repeat(std::string_view text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

/// `before`, the numbers below `count` and `after` around each, joined.
std::string numbered(std::string_view before, std::size_t count, std::string_view after) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) {
    result.append(before).append(std::to_string(i)).append(after);
  }
  return result;
}

/// 0 if the template ends with a text, or an error that says what it lacks.
int render(const std::string& source) {
  const auto parsed = Template::parse(source);
  const auto code = [](const Error& error) {
    return error.code() == Code::unsupported || error.code() == Code::corrupt ? 0 : 1;
  };
  if (!parsed) return code(parsed.error());
  const Value context = Value::dict({{"words", Value::list({Value::string("à Å"), Value()})}});
  const auto text = parsed->render(context, {.steps = 2'000'000});
  return text ? 0 : code(text.error());
}

void expect_cheap(const std::string& source) {
  SCOPED_TRACE(source.substr(0, 120));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit time{kSeconds, kSeconds};
    setrlimit(RLIMIT_CPU, &time);
    std::_Exit(render(source));
  }
  int status = 0;
  rusage usage{};
  ASSERT_EQ(wait4(child, &status, 0, &usage), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_LT(usage.ru_maxrss, kKibibytes);
}

const std::string kLoop = "{% for i in range(100000) %}";
const std::string kSpaces = "{% set s = ' ' * 1000000 %}{% set r = ' ' ~ s[1:] %}" + kLoop;

TEST(JinjaBounds, filters_that_call_filters) {
  expect_cheap("{{ 'a' | map(" + repeat("'map',", 22000) + "'upper') | list }}");
  expect_cheap("{{ 'a' | map(" + repeat("'map',", 200) + "'upper') | list }}");
  expect_cheap("{{ range(3000) | map(" + repeat("'map',", 10000) + "'upper') | list }}");
  expect_cheap("{{ ['a'] | select('in', " + repeat("1,", 60000) + "2) | list }}");
}

TEST(JinjaBounds, long_texts) {
  for (const char* expression : {"s.strip()",
                                 "s.lstrip('x ')",
                                 "s | trim",
                                 "s.split()",
                                 "s.rsplit(none, 1)",
                                 "s.startswith((r, s))",
                                 "s.endswith((r, s) * 100)",
                                 "s.removeprefix(r ~ 'x')",
                                 "s.isdigit()",
                                 "s.find('a', 5)",
                                 "s.count('a', 1)",
                                 "s.splitlines()",
                                 "{}[s] is defined",
                                 "{s: 1}[r]",
                                 "s | length",
                                 "s == r",
                                 "[s] | sort",
                                 "s.startswith('a', 9999999)",
                                 "s | indent",
                                 "s | title",
                                 "s | wordwrap",
                                 "s | pprint",
                                 "s | striptags",
                                 "s | urlencode",
                                 "[{'a': s}, {'a': r}] | groupby('a')",
                                 "'{:>9}{0:{1}}'.format(s, 5)",
                                 "namespace({s: 1})[r]"}) {
    expect_cheap(kSpaces + "{% set x = " + expression + " %}{% endfor %}");
  }
}

TEST(JinjaBounds, many_names) {
  expect_cheap(kLoop + numbered("{%set a", 30000, "=1%}") + "{% endfor %}");
  expect_cheap(kLoop + "{% set n = namespace() %}" + numbered("{%set n.a", 25000, "=1%}") +
               "{% endfor %}");
  expect_cheap(kLoop + "{% set n = namespace(" + numbered("a", 40000, "=1,") +
               "b=1) %}{% endfor %}");
  expect_cheap("{% set n = namespace(" + numbered("a", 40000, "=1,") + "b=1) %}" + kLoop +
               "{% set x = n.b %}{% endfor %}");
  expect_cheap("{% macro f(" + numbered("a", 15000, ",") + "b) %}{% endmacro %}" + kLoop + "{{ f(" +
               numbered("a", 15000, "=1,") + "b=1) }}{% endfor %}");
  const std::string name(100000, 'a');
  expect_cheap("{% set " + name + "b = 1 %}{% set " + name + "c = 1 %}" + kLoop +
               "{% set x = " + name + "c %}{% endfor %}");
}

TEST(JinjaBounds, hostile_layouts) {
  const std::pair<const char*, const char*> cases[] = {
      {"<>", "s | striptags"},    {"&a", "s | striptags"},  {"a--b", "s | wordwrap"},
      {"\\'", "s | pprint"},      {"a ", "s | pprint"},     {"{0:{0}}", "s.format(1)"},
      {"()", "(s ~ s) | urlize"}, {"a.com ", "s | urlize"},
  };
  for (const auto& [text, expression] : cases)
    expect_cheap(std::string("{% set s = '") + text + "' * 500000 %}" + kLoop +
                 "{% set x = " + expression + " %}{% endfor %}");
  for (const char* expression :
       {"'{:.999f}'.format(1e300)", "'%.999f' % 1e300", "'%999d' % 1", "'{:0999,}'.format(1)",
        "'{:é>999}'.format('')", "1e300 | filesizeformat"})
    expect_cheap(kLoop + "{% set x = " + expression + " %}{% endfor %}");
  expect_cheap("{% set n = namespace(a=[]) %}" + kLoop +
               "{% set n.a = [n.a, 'a' * 50] %}{% endfor %}");
  expect_cheap(
      "{% set n = namespace(a=['a' * 90]) %}{% for i in range(60) %}{% set n.a = [n.a] * 2 "
      "%}{% endfor %}{{ n.a | pprint }}");
}

TEST(JinjaBounds, unpacked_arguments) {
  const std::string dict = "{% set d = {" + numbered("'a", 20000, "': 1,") + "} %}";
  const std::string list = "{% set l = range(100000) | list %}";
  expect_cheap(dict + kLoop + "{{ dict(**d) }}{% endfor %}");
  expect_cheap(dict + kLoop + "{{ namespace(**d).a }}{% endfor %}");
  expect_cheap(dict + kLoop + "{{ dict(a=1, b=2, **d) }}{% endfor %}");
  expect_cheap(dict + "{% macro f() %}{{ kwargs | length }}{% endmacro %}" + kLoop +
               "{{ f(**d) }}{% endfor %}");
  expect_cheap(dict + "{% macro f(" + numbered("a", 15000, ",") + "b) %}{% endmacro %}" + kLoop +
               "{{ f(**d) }}{% endfor %}");
  expect_cheap(list + "{% macro f() %}{{ varargs | length }}{% endmacro %}" + kLoop +
               "{{ f(*l) }}{% endfor %}");
  expect_cheap("{% macro f() %}{{ f(*varargs, **kwargs) }}{% endmacro %}{{ f(1, a=2) }}");
  expect_cheap(list + kLoop + "{{ cycler(*l).next() }}{{ joiner(l)() }}{% endfor %}");
  expect_cheap(numbered("{% block a", 20000, " %}{% endblock %}"));
  expect_cheap(numbered("{% block a", 200, " %}") + repeat("{% endblock %}", 200));
}

TEST(JinjaBounds, long_sources) {
  expect_cheap(repeat("{{a}}", 800000));
  constexpr std::size_t kMost = 512 << 10;
  expect_cheap(repeat("{{a}}", kMost / 5));
  expect_cheap("{{ [" + repeat("1,", kMost / 2 - 10) + "] }}");
  expect_cheap("{{ f(" + numbered("a", 60000, "=1,") + "a1=1) }}");
  expect_cheap(repeat("{%if a%}{%endif%}", kMost / 17));
}

}  // namespace
}  // namespace tacet::jinja
