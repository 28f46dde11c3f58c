#include <algorithm>

#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"
#include "text/utf8.hpp"

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
  if (!run.spend(1 + text.size() / 16)) return {};
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
  bool in_word = false;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t start = position;
    const std::uint32_t c = next_utf8(text, position);
    const std::string_view piece = std::string_view(text).substr(start, position - start);
    result += in_word ? lower(piece) : upper(piece);
    in_word = !is_space(c) && (c >= 0x80 || std::string_view("-([{<").find(static_cast<char>(c)) ==
                                                std::string_view::npos);
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
  if (!input.is(Value::Kind::string)) {
    return run.raise(Code::corrupt, "indent needs a string, not {}.", name(input.kind()));
  }
  std::string_view rest = input.as_string();
  std::string result;
  for (bool is_first = true; is_first || !rest.empty(); is_first = false) {
    const Line line = first_line(rest);
    const bool wanted = is_first ? first : blank || !line.text.empty();
    if (!run.spend() || !run.take(margin.size() + line.size + 1)) return {};
    if (wanted) result += margin;
    result += line.text;
    rest.remove_prefix(line.size);
    // Every line end but a missing one becomes "\n", as jinja2 does it.
    if (line.size > line.text.size()) result += '\n';
    if (line.size > line.text.size() && rest.empty() && blank) result += margin;
  }
  return run.text(std::move(result));
}

}  // namespace tacet::jinja::filters
