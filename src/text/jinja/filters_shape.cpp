#include <algorithm>

#include "text/jinja/filters.hpp"
#include "text/jinja/format.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja::filters {
namespace {

using Kind = Value::Kind;

/// A count of at least 1, or 0 after an error.
std::size_t count_argument(Interpreter& run, const Arguments& arguments, std::string_view name) {
  const Value count = run.argument(arguments, 0, name, Value());
  if (count.is_integral() && count.as_integer() > 0) {
    return static_cast<std::size_t>(count.as_integer());
  }
  run.raise(Code::corrupt, "{} has to be an integer of at least 1.", name);
  return 0;
}

}  // namespace

Value batch(Interpreter& run, const Value& input, const Arguments& arguments) {
  const std::size_t count = count_argument(run, arguments, "linecount");
  const Value fill = run.argument(arguments, 1, "fill_with", Value::none());
  const std::vector<Value> items = iterate(input, run);
  std::vector<Value> rows;
  for (std::size_t begin = 0; begin < items.size() && run.spend(); begin += count) {
    const std::size_t end = begin + std::min(count, items.size() - begin);
    std::vector<Value> row(items.begin() + static_cast<std::ptrdiff_t>(begin),
                           items.begin() + static_cast<std::ptrdiff_t>(end));
    while (!fill.is(Kind::none) && row.size() < count && run.spend() && run.take(64)) {
      row.push_back(fill);
    }
    rows.push_back(run.list(std::move(row)));
    if (end == items.size()) break;
  }
  return run.list(std::move(rows));
}

Value slices(Interpreter& run, const Value& input, const Arguments& arguments) {
  const std::size_t count = count_argument(run, arguments, "slices");
  const Value fill = run.argument(arguments, 1, "fill_with", Value::none());
  const std::vector<Value> items = iterate(input, run);
  std::vector<Value> columns;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count && run.spend() && run.take(64); ++i) {
    const bool longer = i < items.size() % count;
    const std::size_t end = begin + items.size() / count + (longer ? 1 : 0);
    std::vector<Value> column(items.begin() + static_cast<std::ptrdiff_t>(begin),
                              items.begin() + static_cast<std::ptrdiff_t>(end));
    if (!fill.is(Kind::none) && !longer) column.push_back(fill);
    columns.push_back(run.list(std::move(column)));
    begin = end;
  }
  return run.list(std::move(columns));
}

Value format(Interpreter& run, const Value& input, const Arguments& arguments) {
  const std::string text = to_text(input, run);
  if (arguments.keywords.empty()) return formatted(text, run.tuple(arguments.positional), run);
  if (!arguments.positional.empty()) {
    return run.raise(Code::corrupt, "format takes values either by place or by name.");
  }
  std::vector<Value::Entry> entries;
  for (const auto& [key, value] : arguments.keywords) {
    entries.emplace_back(run.text(std::string(key)), value);
  }
  return formatted(text, run.dict(std::move(entries)), run);
}

Value truncate(Interpreter& run, const Value& input, const Arguments& arguments) {
  const std::string text = to_text(input, run);
  const Value size = run.argument(arguments, 0, "length", Value::integer(255));
  const bool kill_words = truthy(run.argument(arguments, 1, "killwords", Value()));
  const std::string end = to_text(run.argument(arguments, 2, "end", Value::string("...")), run);
  Value leeway = run.argument(arguments, 3, "leeway", Value::none());
  if (leeway.is(Kind::none)) leeway = Value::integer(5);
  if (!size.is_integral() || !leeway.is_integral() || leeway.as_integer() < 0 ||
      size.as_integer() < static_cast<std::int64_t>(length(end))) {
    return run.raise(Code::corrupt, "truncate needs a length that its end fits into.");
  }
  if (!run.spend(1 + text.size() / 16)) return {};
  const auto characters = static_cast<std::int64_t>(length(text));
  if (characters - leeway.as_integer() <= size.as_integer()) return run.text(text);
  const auto kept = static_cast<std::size_t>(size.as_integer()) - length(end);
  std::string result = text.substr(0, byte_of(text, kept));
  const std::size_t space = kill_words ? std::string::npos : result.rfind(' ');
  return run.text(result.substr(0, space) + end);
}

Value center(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value width = run.argument(arguments, 0, "width", Value::integer(80));
  if (!width.is_integral()) return run.raise(Code::corrupt, "center needs an integer.");
  return padded(run, to_text(input, run), width.as_integer(), " ", Side::both);
}

Value word_count(Interpreter& run, const Value& input, const Arguments&) {
  const std::string text = to_text(input, run);
  if (!run.spend(1 + text.size() / 8)) return {};
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t position = 0; position < text.size();) {
    const std::uint32_t c = next_utf8(text, position);
    const bool part = c == '_' || is_alphanumeric(c);
    words += part && !inside ? 1 : 0;
    inside = part;
  }
  return Value::integer(words);
}

Value padded(Interpreter& run, std::string_view text, std::int64_t width, std::string_view fill,
             Side side) {
  const auto size = static_cast<std::int64_t>(length(text));
  if (!run.spend(1 + text.size() / 16)) return {};
  if (width <= size) return run.text(std::string(text));
  const auto missing = static_cast<std::uint64_t>(width - size);
  if (!run.spend(missing / 8) || !run.take(missing * fill.size())) return {};
  std::uint64_t left = side == Side::left ? missing : 0;
  // Python's rule for where the odd one goes.
  if (side == Side::both) left = missing / 2 + (missing & static_cast<std::uint64_t>(width) & 1);
  std::string result;
  for (std::uint64_t i = 0; i < left; ++i) result += fill;
  result += text;
  for (std::uint64_t i = left; i < missing; ++i) result += fill;
  return run.text(std::move(result));
}

}  // namespace tacet::jinja::filters
