#include <algorithm>

#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"

namespace tacet::jinja::filters {
namespace {

template <std::string (*map)(std::string_view)>
Value mapped(Interpreter& run, const Value& input) {
  const std::string text = to_text(input, run);
  if (!run.take(text.size() * 2) || !run.spend(1 + text.size() / 8)) return {};
  return run.text(map(text));
}

}  // namespace

Value trim(Interpreter& run, const Value& input, const Arguments& arguments) {
  const std::string text = to_text(input, run);
  const Value characters = run.argument(arguments, 0, "chars", Value::none());
  if (!characters.is(Value::Kind::string)) {
    return run.text(std::string(strip_left(strip_right(text))));
  }
  const std::string& drop = characters.as_string();
  if (!run.spend_search(text.size(), drop.size())) return {};
  return run.text(std::string(strip_left(strip_right(text, drop), drop)));
}

Value upper_case(Interpreter& run, const Value& input, const Arguments&) {
  return mapped<upper>(run, input);
}

Value lower_case(Interpreter& run, const Value& input, const Arguments&) {
  return mapped<lower>(run, input);
}

Value capital(Interpreter& run, const Value& input, const Arguments&) {
  return mapped<capitalize>(run, input);
}

Value titled(Interpreter& run, const Value& input, const Arguments&) {
  // Unlike str.title, words begin behind spaces and brackets only.
  const std::string text = to_text(input, run);
  if (!run.take(text.size() * 2) || !run.spend(1 + text.size() / 8)) return {};
  std::string result;
  std::size_t start = 0;
  const auto is_edge = [](char c) {
    return std::string_view("-([{<").find(c) != std::string_view::npos ||
           is_space(static_cast<unsigned char>(c));
  };
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_edge(text[i])) continue;
    result += capitalize(std::string_view(text).substr(start, i - start));
    if (i < text.size()) result += text[i];
    start = i + 1;
  }
  return run.text(std::move(result));
}

Value replace(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value before = run.argument(arguments, 0, "old", Value());
  const Value after = run.argument(arguments, 1, "new", Value());
  const Value count = run.argument(arguments, 2, "count", Value::none());
  const std::int64_t most = count.is_integral() ? count.as_integer() : -1;
  return replaced(to_text(input, run), to_text(before, run), to_text(after, run), most, run);
}

Value indent(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value width = run.argument(arguments, 0, "width", Value::integer(4));
  const bool first = truthy(run.argument(arguments, 1, "first", Value()));
  const bool blank = truthy(run.argument(arguments, 2, "blank", Value()));
  const std::int64_t count =
      width.is_integral() ? std::clamp<std::int64_t>(width.as_integer(), 0, 1024) : 0;
  const std::string margin = width.is(Value::Kind::string)
                                 ? width.as_string()
                                 : std::string(static_cast<std::size_t>(count), ' ');
  const std::string text = to_text(input, run);
  std::string result;
  std::string_view rest = text;
  for (bool is_first = true;; is_first = false) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const bool wanted = is_first ? first : blank || end > 0;
    if (!run.spend() || !run.take(margin.size() + end + 1)) return {};
    if (wanted) result += margin;
    result += rest.substr(0, end);
    if (end == rest.size()) break;
    result += '\n';
    rest.remove_prefix(end + 1);
  }
  return run.text(std::move(result));
}

Value escape(Interpreter& run, const Value& input, const Arguments&) {
  const std::string text = to_text(input, run);
  if (!run.take(text.size() * 5)) return {};
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '"':
        result += "&#34;";
        break;
      default:
        result += c;
    }
  }
  return run.text(std::move(result));
}

}  // namespace tacet::jinja::filters
