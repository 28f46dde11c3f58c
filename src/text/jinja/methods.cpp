#include <algorithm>
#include <array>

#include "text/jinja/interpreter.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

/// Argument `index` as text; raises if it is something else.
std::optional<std::string> text_argument(Interpreter& run, const Arguments& arguments,
                                         std::size_t index, std::string_view name) {
  const Value* found = arguments.find(index, name);
  if (found != nullptr && found->is(Value::Kind::string)) return found->as_string();
  run.raise(Code::corrupt, "a method of a string needs a string for \"{}\".", name);
  return std::nullopt;
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
  if (!run.spend_search(space ? 0 : text.size(), space ? 0 : characters.as_string().size()))
    return {};
  if (side != Side::right) {
    text = space ? strip_left(text) : strip_left(text, characters.as_string());
  }
  if (side != Side::left) {
    text = space ? strip_right(text) : strip_right(text, characters.as_string());
  }
  return run.text(std::string(text));
}

template <bool at_start>
bool has_affix(std::string_view text, const Value& affix) {
  if (!affix.is(Value::Kind::string)) return false;
  return at_start ? text.starts_with(affix.as_string()) : text.ends_with(affix.as_string());
}

template <bool at_start>
Value affix(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Value wanted = run.argument(arguments, 0, "prefix", Value());
  const std::string_view text = self.as_string();
  if (wanted.is(Value::Kind::tuple)) {
    if (!run.spend(wanted.items().size())) return {};
    return Value::boolean(
        std::any_of(wanted.items().begin(), wanted.items().end(),
                    [&](const Value& one) { return has_affix<at_start>(text, one); }));
  }
  if (!wanted.is(Value::Kind::string)) {
    return run.raise(Code::corrupt, "startswith and endswith need a string.");
  }
  return Value::boolean(run.spend(1 + wanted.as_string().size() / 64) &&
                        has_affix<at_start>(text, wanted));
}

template <bool at_start>
Value remove_affix(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto wanted = text_argument(run, arguments, 0, "prefix");
  if (!wanted) return {};
  const std::string& text = self.as_string();
  if (at_start && text.starts_with(*wanted)) return run.text(text.substr(wanted->size()));
  if (!at_start && text.ends_with(*wanted)) {
    return run.text(text.substr(0, text.size() - wanted->size()));
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
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    std::size_t behind = std::min(end + 1, rest.size());
    if (rest.substr(end).starts_with("\r\n")) ++behind;
    lines.push_back(run.text(std::string(rest.substr(0, keep ? behind : end))));
    rest.remove_prefix(behind);
  }
  return run.list(std::move(lines));
}

Value replace(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto before = text_argument(run, arguments, 0, "old");
  const auto after = text_argument(run, arguments, 1, "new");
  const Value count = run.argument(arguments, 2, "count", Value::integer(-1));
  if (!before || !after || !count.is_integral()) {
    return run.raise(Code::corrupt, "replace needs two strings and an integer.");
  }
  return replaced(self.as_string(), *before, *after, count.as_integer(), run);
}

template <bool last>
Value find(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto wanted = text_argument(run, arguments, 0, "sub");
  const std::string& text = self.as_string();
  if (!wanted || !run.spend_search(text.size(), wanted->size())) return {};
  const std::size_t found = last ? text.rfind(*wanted) : text.find(*wanted);
  if (found == std::string::npos) return Value::integer(-1);
  return Value::integer(static_cast<std::int64_t>(length(std::string_view(text).substr(0, found))));
}

Value count_text(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto wanted = text_argument(run, arguments, 0, "sub");
  const std::string& text = self.as_string();
  if (!wanted || !run.spend_search(text.size(), wanted->size())) return {};
  if (wanted->empty()) return Value::integer(static_cast<std::int64_t>(length(text)) + 1);
  std::int64_t count = 0;
  for (std::size_t at = text.find(*wanted); at != std::string::npos;
       at = text.find(*wanted, at + wanted->size())) {
    ++count;
  }
  return Value::integer(count);
}

Value is_digits(Interpreter& run, const Value& self, const Arguments&) {
  const std::string& text = self.as_string();
  if (!run.spend(1 + text.size() / 64)) return {};
  return Value::boolean(!text.empty() && std::all_of(text.begin(), text.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; }));
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

Value dict_items(Interpreter& run, const Value& self, const Arguments&) {
  return entries_of(self, run);
}

Value dict_keys(Interpreter& run, const Value& self, const Arguments&) {
  return run.list(iterate(self, run));
}

Value dict_values(Interpreter& run, const Value& self, const Arguments&) {
  if (!run.take(self.entries().size() * 64)) return {};
  std::vector<Value> values;
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
  for (std::size_t i = 0; i < self.items().size(); ++i) {
    if (equal(self.items()[i], wanted, run)) return Value::integer(static_cast<std::int64_t>(i));
  }
  return run.raise(Code::corrupt, "index does not find the value in the list.");
}

struct Entry {
  std::string_view name;
  Callable callable;
};

constexpr std::array<Entry, 21> kTextMethods = {{
    {"strip", strip<Side::both>},
    {"lstrip", strip<Side::left>},
    {"rstrip", strip<Side::right>},
    {"startswith", affix<true>},
    {"endswith", affix<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"upper", mapped<upper>},
    {"lower", mapped<lower>},
    {"capitalize", mapped<capitalize>},
    {"title", mapped<title>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"splitlines", split_lines},
    {"replace", replace},
    {"find", find<false>},
    {"rfind", find<true>},
    {"count", count_text},
    {"isdigit", is_digits},
    {"isdecimal", is_digits},
    {"join", join},
}};

constexpr std::array<Entry, 4> kDictMethods = {{
    {"items", dict_items},
    {"keys", dict_keys},
    {"values", dict_values},
    {"get", dict_get},
}};

constexpr std::array<Entry, 2> kListMethods = {{{"count", count_items}, {"index", index_of}}};

template <std::size_t size>
Callable find_in(const std::array<Entry, size>& entries, std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.callable;
  }
  return nullptr;
}

}  // namespace

Callable find_method(const Value& self, std::string_view name) noexcept {
  if (self.is(Value::Kind::string)) return find_in(kTextMethods, name);
  if (self.is(Value::Kind::dict)) return find_in(kDictMethods, name);
  if (self.is_sequence()) return find_in(kListMethods, name);
  return nullptr;
}

}  // namespace tacet::jinja
