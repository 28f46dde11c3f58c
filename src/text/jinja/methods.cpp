#include <algorithm>
#include <array>
#include <optional>

#include "text/jinja/filters.hpp"
#include "text/jinja/format.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

/// Argument `index` as text; raises if it is something else.
const std::string* text_argument(Interpreter& run, const Arguments& arguments, std::size_t index,
                                 std::string_view name) {
  const Value* found = arguments.find(index, name);
  if (found != nullptr && found->is(Value::Kind::string)) return &found->as_string();
  run.raise(Code::corrupt, "a method of a string needs a string for '{}'.", name);
  return nullptr;
}

/// A bound of a slice; `missing` for none.
std::optional<std::int64_t> bound(Interpreter& run, const Arguments& arguments, std::size_t index,
                                  std::int64_t missing) {
  const Value* found = arguments.find(index, {});
  if (found == nullptr || found->is(Value::Kind::none)) return missing;
  if (found->is_integral()) return found->as_integer();
  run.raise(Code::corrupt, "a range of a text or list needs integers, not {}.",
            name(found->kind()));
  return std::nullopt;
}

struct Range {
  std::size_t first;
  std::size_t last;  ///< behind the last one
};

/// Arguments 1 and 2 as a range of `size` things; none if it is upside down, or after an error.
std::optional<Range> range_argument(Interpreter& run, const Arguments& arguments,
                                    std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const auto start = bound(run, arguments, 1, 0);
  const auto stop = bound(run, arguments, 2, count);
  if (!start || !stop) return std::nullopt;
  const auto from_end = [&](std::int64_t index) {
    return index < 0 ? std::max(index, -count) + count : index;
  };
  const std::int64_t first = from_end(*start);
  const std::int64_t last = std::min(from_end(*stop), count);
  if (first > last) return std::nullopt;
  return Range{static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

/// The part of a text that arguments 1 and 2 name, and the characters before it.
struct Window {
  std::string_view text;
  std::size_t before;
};

std::optional<Window> window_argument(Interpreter& run, const Arguments& arguments,
                                      std::string_view text) {
  if (arguments.positional.size() < 2) return Window{text, 0};
  if (!run.spend(1 + text.size() / 16)) return std::nullopt;
  const auto range = range_argument(run, arguments, length(text));
  if (!range) return std::nullopt;
  const std::string_view rest = text.substr(byte_of(text, range->first));
  return Window{rest.substr(0, byte_of(rest, range->last - range->first)), range->first};
}

enum class Side { left, right, both };

template <Side side>
Value strip(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value characters = run.argument(arguments, 0, "chars", Value::none());
  const bool space = characters.is(Value::Kind::none);
  if (!space && !characters.is(Value::Kind::string)) {
    return run.raise(Code::corrupt, "strip needs a string.");
  }
  std::string_view text = self.as_string();
  if (!run.spend(1 + text.size() / 16)) return {};
  if (!space && !run.spend_search(text.size(), characters.as_string().size())) return {};
  if (side != Side::right) {
    text = space ? strip_left(text) : strip_left(text, characters.as_string());
  }
  if (side != Side::left) {
    text = space ? strip_right(text) : strip_right(text, characters.as_string());
  }
  return run.text(std::string(text));
}

template <bool at_start>
bool has_affix(Interpreter& run, std::string_view text, const Value& affix) {
  if (!affix.is(Value::Kind::string)) {
    run.raise(Code::corrupt, "startswith and endswith need strings, not {}.", name(affix.kind()));
    return false;
  }
  if (!run.spend(1 + affix.as_string().size() / 64)) return false;
  return at_start ? text.starts_with(affix.as_string()) : text.ends_with(affix.as_string());
}

template <bool at_start>
Value affix(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value wanted = run.argument(arguments, 0, {}, Value());
  const auto window = window_argument(run, arguments, self.as_string());
  if (!window) return Value::boolean(false);
  if (!wanted.is(Value::Kind::tuple)) {
    return Value::boolean(has_affix<at_start>(run, window->text, wanted));
  }
  return Value::boolean(
      std::any_of(wanted.items().begin(), wanted.items().end(),
                  [&](const Value& one) { return has_affix<at_start>(run, window->text, one); }));
}

template <bool at_start>
Value remove_affix(Interpreter& run, const Value& self, const Arguments& arguments) {
  const std::string* wanted = text_argument(run, arguments, 0, "prefix");
  if (wanted == nullptr || !run.spend(1 + wanted->size() / 64)) return {};
  const std::string_view text = self.as_string();
  if (at_start && text.starts_with(*wanted)) {
    return run.text(std::string(text.substr(wanted->size())));
  }
  if (!at_start && text.ends_with(*wanted)) {
    return run.text(std::string(text.substr(0, text.size() - wanted->size())));
  }
  return self;
}

template <std::string (*map)(std::string_view)>
Value mapped(Interpreter& run, const Value& self, const Arguments&) {
  if (!run.take(self.as_string().size() * 2) || !run.spend(self.as_string().size() / 8)) return {};
  return run.text(map(self.as_string()));
}

template <bool from_right>
Value split(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value separator = run.argument(arguments, 0, "sep", Value::none());
  const Value limit = run.argument(arguments, 1, "maxsplit", Value::integer(-1));
  if (!limit.is_integral()) return run.raise(Code::corrupt, "split needs an integer as its limit.");
  if (separator.is(Value::Kind::none)) {
    return split_space(self.as_string(), limit.as_integer(), from_right, run);
  }
  if (!separator.is(Value::Kind::string) || separator.as_string().empty()) {
    return run.raise(Code::corrupt, "split needs a separator that is not empty.");
  }
  return split_text(self.as_string(), separator.as_string(), limit.as_integer(), from_right, run);
}

Value split_lines(Interpreter& run, const Value& self, const Arguments& arguments) {
  const bool keep = truthy(run.argument(arguments, 0, "keepends", Value()));
  std::vector<Value> lines;
  std::string_view rest = self.as_string();
  while (!rest.empty() && run.spend()) {
    const Line line = first_line(rest);
    lines.push_back(run.text(std::string(keep ? rest.substr(0, line.size) : line.text)));
    rest.remove_prefix(line.size);
  }
  return run.list(std::move(lines));
}

Value replace(Interpreter& run, const Value& self, const Arguments& arguments) {
  const std::string* before = text_argument(run, arguments, 0, "old");
  const std::string* after = text_argument(run, arguments, 1, "new");
  const Value count = run.argument(arguments, 2, "count", Value::integer(-1));
  if (before == nullptr || after == nullptr || !count.is_integral()) {
    return run.raise(Code::corrupt, "replace needs two strings and an integer.");
  }
  return replaced(self.as_string(), *before, *after, count.as_integer(), run);
}

template <bool last>
Value find(Interpreter& run, const Value& self, const Arguments& arguments) {
  const std::string* wanted = text_argument(run, arguments, 0, "sub");
  const std::string_view text = self.as_string();
  if (wanted == nullptr || !run.spend_search(text.size(), wanted->size())) return {};
  const auto window = window_argument(run, arguments, text);
  if (!window) return Value::integer(-1);
  const std::size_t found = last ? window->text.rfind(*wanted) : window->text.find(*wanted);
  if (found == std::string::npos) return Value::integer(-1);
  return Value::integer(
      static_cast<std::int64_t>(window->before + length(window->text.substr(0, found))));
}

Value count_text(Interpreter& run, const Value& self, const Arguments& arguments) {
  const std::string* wanted = text_argument(run, arguments, 0, "sub");
  const std::string_view whole = self.as_string();
  if (wanted == nullptr || !run.spend_search(whole.size(), wanted->size())) return {};
  const auto window = window_argument(run, arguments, whole);
  if (!window) return Value::integer(0);
  const std::string_view text = window->text;
  if (wanted->empty()) return Value::integer(static_cast<std::int64_t>(length(text)) + 1);
  std::int64_t count = 0;
  for (std::size_t at = text.find(*wanted); at != std::string::npos;
       at = text.find(*wanted, at + wanted->size())) {
    ++count;
  }
  return Value::integer(count);
}

template <bool (*is_wanted)(std::uint32_t)>
Value all_are(Interpreter& run, const Value& self, const Arguments&) {
  const std::string& text = self.as_string();
  if (!run.spend(1 + text.size() / 16)) return {};
  std::size_t position = 0;
  while (position < text.size()) {
    if (!is_wanted(next_utf8(text, position))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

Value join(Interpreter& run, const Value& self, const Arguments& arguments) {
  std::string joined;
  const std::vector<Value> items = iterate(run.argument(arguments, 0, "iterable", Value()), run);
  for (std::size_t i = 0; i < items.size() && run.spend(); ++i) {
    if (!items[i].is(Value::Kind::string)) {
      return run.raise(Code::corrupt, "join needs strings, not {}.", name(items[i].kind()));
    }
    if (i > 0) append_text(self, joined, run);
    append_text(items[i], joined, run);
  }
  return run.text(std::move(joined));
}

/// str.isupper and str.islower.
template <std::string (*map)(std::string_view), std::string (*other)(std::string_view)>
Value is_cased(Interpreter& run, const Value& self, const Arguments&) {
  const std::string& text = self.as_string();
  if (!run.take(text.size() * 2) || !run.spend(1 + text.size() / 4)) return {};
  return Value::boolean(map(text) == text && other(text) != text);
}

std::string swap_case(std::string_view text) {
  std::string result;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t start = position;
    next_utf8(text, position);
    const std::string_view one = text.substr(start, position - start);
    const std::string other = upper(one);
    result += other == one ? lower(one) : other;
  }
  return result;
}

/// str.ljust, str.rjust and str.center.
template <filters::Side side>
Value justify(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value width = run.argument(arguments, 0, {}, Value());
  const Value fill = run.argument(arguments, 1, {}, Value::string(" "));
  if (!width.is_integral() || !fill.is(Value::Kind::string) || length(fill.as_string()) != 1) {
    return run.raise(Code::corrupt, "justifying needs a width and one character.");
  }
  return filters::padded(run, self.as_string(), width.as_integer(), fill.as_string(), side);
}

Value zero_fill(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value width = run.argument(arguments, 0, {}, Value());
  if (!width.is_integral()) return run.raise(Code::corrupt, "zfill needs an integer.");
  const std::string& text = self.as_string();
  const bool with_sign = text.starts_with('-') || text.starts_with('+');
  if (!with_sign) {
    return filters::padded(run, text, width.as_integer(), "0", filters::Side::left);
  }
  const std::int64_t rest = std::max<std::int64_t>(width.as_integer(), 1) - 1;
  const Value filled = filters::padded(run, text.substr(1), rest, "0", filters::Side::left);
  return run.failed() ? Value() : run.text(text[0] + filled.as_string());
}

/// str.index and str.rindex.
template <bool last>
Value must_find(Interpreter& run, const Value& self, const Arguments& arguments) {
  Value found = find<last>(run, self, arguments);
  if (run.failed() || found.as_integer() >= 0) return found;
  return run.raise(Code::corrupt, "index does not find the text.");
}

/// str.partition and str.rpartition.
template <bool last>
Value partition(Interpreter& run, const Value& self, const Arguments& arguments) {
  const std::string* separator = text_argument(run, arguments, 0, "sep");
  const std::string& text = self.as_string();
  if (separator == nullptr || !run.spend_search(text.size(), separator->size())) return {};
  if (separator->empty()) return run.raise(Code::corrupt, "partition needs a separator.");
  const std::size_t at = last ? text.rfind(*separator) : text.find(*separator);
  const Value nothing = Value::string({});
  if (at == std::string::npos) {
    return last ? run.tuple({nothing, nothing, self}) : run.tuple({self, nothing, nothing});
  }
  return run.tuple({run.text(text.substr(0, at)), Value::string(*separator),
                    run.text(text.substr(at + separator->size()))});
}

Value same(Interpreter&, const Value& self, const Arguments&) {
  return self;
}

Value dict_items(Interpreter& run, const Value& self, const Arguments&) {
  return entries_of(self, run);
}

Value dict_keys(Interpreter& run, const Value& self, const Arguments&) {
  return run.list(iterate(self, run));
}

Value dict_values(Interpreter& run, const Value& self, const Arguments&) {
  if (!run.take(self.entries().size() * 64)) return {};
  std::vector<Value> values;
  values.reserve(self.entries().size());
  for (const Value::Entry& entry : self.entries()) values.push_back(entry.second);
  return run.list(std::move(values));
}

Value dict_get(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value* found = lookup(self, run.argument(arguments, 0, "key", Value()), run);
  return found != nullptr ? *found : run.argument(arguments, 1, "default", Value::none());
}

Value count_items(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value wanted = run.argument(arguments, 0, "value", Value());
  return Value::integer(std::count_if(self.items().begin(), self.items().end(),
                                      [&](const Value& item) { return equal(item, wanted, run); }));
}

Value index_of(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value wanted = run.argument(arguments, 0, "value", Value());
  const Range range = range_argument(run, arguments, self.items().size()).value_or(Range{0, 0});
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (equal(self.items()[i], wanted, run)) return Value::integer(static_cast<std::int64_t>(i));
  }
  return run.raise(Code::corrupt, "index does not find the value in the list.");
}

constexpr std::array<Builtin, 36> kTextMethods = {{
    {"strip", strip<Side::both>, 0, 1},
    {"lstrip", strip<Side::left>, 0, 1},
    {"rstrip", strip<Side::right>, 0, 1},
    {"startswith", affix<true>, 1, 3},
    {"endswith", affix<false>, 1, 3},
    {"removeprefix", remove_affix<true>, 1, 1},
    {"removesuffix", remove_affix<false>, 1, 1},
    {"upper", mapped<upper>},
    {"lower", mapped<lower>},
    {"capitalize", mapped<capitalize>},
    {"title", mapped<title>},
    {"split", split<false>, 0, 2, "sep maxsplit"},
    {"rsplit", split<true>, 0, 2, "sep maxsplit"},
    {"splitlines", split_lines, 0, 1, "keepends"},
    {"replace", replace, 2, 3},
    {"find", find<false>, 1, 3},
    {"rfind", find<true>, 1, 3},
    {"count", count_text, 1, 3},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"join", join, 1, 1},
    {"format", format_method, 0, kAny, "*"},
    {"isalpha", all_are<is_alphabetic>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isspace", all_are<is_space>},
    {"isupper", is_cased<upper, lower>},
    {"islower", is_cased<lower, upper>},
    {"swapcase", mapped<swap_case>},
    {"ljust", justify<filters::Side::right>, 1, 2},
    {"rjust", justify<filters::Side::left>, 1, 2},
    {"center", justify<filters::Side::both>, 1, 2},
    {"zfill", zero_fill, 1, 1},
    {"index", must_find<false>, 1, 3},
    {"rindex", must_find<true>, 1, 3},
    {"partition", partition<false>, 1, 1},
    {"rpartition", partition<true>, 1, 1},
}};

constexpr std::array<Builtin, 5> kDictMethods = {{
    {"items", dict_items},
    {"keys", dict_keys},
    {"values", dict_values},
    {"get", dict_get, 1, 2},
    {"copy", same},
}};

constexpr std::array<Builtin, 3> kListMethods = {{
    {"count", count_items, 1, 1},
    {"index", index_of, 1, 3},
    {"copy", same},
}};

template <std::size_t size>
const Builtin* find_in(const std::array<Builtin, size>& entries, std::string_view name) {
  for (const Builtin& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace

const Builtin* find_method(const Value& self, std::string_view name) noexcept {
  if (self.is(Value::Kind::string)) return find_in(kTextMethods, name);
  if (self.is(Value::Kind::dict)) return find_in(kDictMethods, name);
  if (self.is_sequence()) return find_in(kListMethods, name);
  return nullptr;
}

}  // namespace tacet::jinja
