#include <algorithm>
#include <array>

#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"

namespace tacet::jinja::filters {
namespace {

using Kind = Value::Kind;

/// `item.a.0.b` for the attribute "a.0.b"; the item itself if there is no attribute.
Value pick(Interpreter& run, const Value& from, const Value& attribute) {
  if (attribute.is(Kind::none) || attribute.is(Kind::undefined)) return from;
  if (attribute.is_integral()) return item(from, attribute, run);
  Value value = from;
  const std::string path = to_text(attribute, run);
  for (std::size_t start = 0; start <= path.size() && !run.failed();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const std::string part = path.substr(start, end - start);
    const bool digits = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    if (digits) {
      value = item(value, Value::integer(std::stoll(part)), run);
    } else if (value.is(Kind::dict)) {
      value = item(value, Value::string(part), run);
    } else {
      value = run.attribute(value, part);
    }
    start = end + 1;
  }
  return value;
}

Value join(Interpreter& run, const Value& input, const Arguments& arguments) {
  const std::string separator = to_text(run.argument(arguments, 0, "d", Value()), run);
  const Value attribute = run.argument(arguments, 1, "attribute", Value::none());
  const std::vector<Value> items = iterate(input, run);
  std::string joined;
  for (std::size_t i = 0; i < items.size() && run.spend(); ++i) {
    if (i > 0 && run.take(separator.size())) joined += separator;
    append_text(pick(run, items[i], attribute), joined, run);
  }
  return run.text(std::move(joined));
}

/// The arguments behind the first `count`.
Arguments behind(Interpreter& run, const Arguments& arguments, std::size_t count) {
  const std::size_t dropped = std::min(count, arguments.positional.size());
  const std::size_t left = arguments.positional.size() - dropped + arguments.keywords.size();
  if (!run.take(left * 64)) return {};
  const auto first = arguments.positional.begin() + static_cast<std::ptrdiff_t>(dropped);
  return {{first, arguments.positional.end()}, arguments.keywords};
}

Value map(Interpreter& run, const Value& input, const Arguments& arguments) {
  // Behind the name of a filter, keywords are that filter's.
  const bool by_filter = !arguments.positional.empty();
  const Value* attribute = by_filter ? nullptr : arguments.find(0, "attribute");
  const Value missing = by_filter ? Value() : run.argument(arguments, 0, "default", Value());
  const std::size_t known = arguments.find(kAny, "default") != nullptr ? 2 : 1;
  if (!by_filter && (attribute == nullptr || arguments.keywords.size() > known)) {
    return run.raise(Code::corrupt, "map needs a filter, or an attribute and its default.");
  }
  const Arguments rest = behind(run, arguments, 1);
  std::vector<Value> items = iterate(input, run);
  for (Value& one : items) {
    if (!run.spend()) return {};
    if (attribute == nullptr) {
      one = run.filter(to_text(arguments.positional[0], run), one, rest);
      continue;
    }
    one = pick(run, one, *attribute);
    if (one.is(Kind::undefined) && !missing.is(Kind::none)) one = missing;
  }
  return run.list(std::move(items));
}

template <bool wanted, bool by_attribute>
Value select(Interpreter& run, const Value& input, const Arguments& arguments) {
  constexpr std::size_t kTest = by_attribute ? 1 : 0;
  if (by_attribute && arguments.positional.empty()) {
    return run.raise(Code::corrupt, "selectattr and rejectattr need an attribute.");
  }
  const bool has_test = arguments.positional.size() > kTest;
  const Arguments rest = behind(run, arguments, kTest + 1);
  std::vector<Value> kept;
  for (const Value& one : iterate(input, run)) {
    const Value value = by_attribute ? pick(run, one, arguments.positional[0]) : one;
    const bool passed =
        has_test ? run.test(to_text(arguments.positional[kTest], run), value, rest) : truthy(value);
    if (!run.spend()) return {};
    if (passed == wanted) kept.push_back(one);
  }
  return run.list(std::move(kept));
}

/// What an item is compared by: lower case unless `case_sensitive`.
Value key_of(Interpreter& run, const Value& one, const Value& attribute, bool case_sensitive) {
  Value value = pick(run, one, attribute);
  if (case_sensitive || !value.is(Kind::string)) return value;
  if (!run.spend(1 + value.as_string().size() / 8)) return {};
  return run.text(lower(value.as_string()));
}

struct Keyed {
  Value key;
  Value value;
};

std::vector<Keyed> keyed(Interpreter& run, const Value& input, const Value& attribute,
                         bool case_sensitive) {
  std::vector<Keyed> result;
  for (const Value& one : iterate(input, run)) {
    if (!run.spend()) return {};
    result.push_back({key_of(run, one, attribute, case_sensitive), one});
  }
  return result;
}

void sort_keyed(Interpreter& run, std::vector<Keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(b.key, a.key, run) : less(a.key, b.key, run);
  });
}

Value values_of(Interpreter& run, const std::vector<Keyed>& items) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const Keyed& one : items) values.push_back(one.value);
  return run.list(std::move(values));
}

Value sort(Interpreter& run, const Value& input, const Arguments& arguments) {
  const bool reverse = truthy(run.argument(arguments, 0, "reverse", Value()));
  const bool sensitive = truthy(run.argument(arguments, 1, "case_sensitive", Value()));
  const Value attribute = run.argument(arguments, 2, "attribute", Value::none());
  std::vector<Keyed> items = keyed(run, input, attribute, sensitive);
  sort_keyed(run, items, reverse);
  return values_of(run, items);
}

Value dict_sort(Interpreter& run, const Value& input, const Arguments& arguments) {
  if (!input.is(Kind::dict)) return run.raise(Code::corrupt, "dictsort needs a dict.");
  const bool sensitive = truthy(run.argument(arguments, 0, "case_sensitive", Value()));
  const std::string by = to_text(run.argument(arguments, 1, "by", Value::string("key")), run);
  const bool reverse = truthy(run.argument(arguments, 2, "reverse", Value()));
  std::vector<Keyed> items;
  for (const auto& [key, value] : input.entries()) {
    if (!run.spend()) return {};
    const Value& chosen = by == "value" ? value : key;
    items.push_back({key_of(run, chosen, Value::none(), sensitive), run.tuple({key, value})});
  }
  sort_keyed(run, items, reverse);
  return values_of(run, items);
}

Value unique(Interpreter& run, const Value& input, const Arguments& arguments) {
  const bool sensitive = truthy(run.argument(arguments, 0, "case_sensitive", Value()));
  const Value attribute = run.argument(arguments, 1, "attribute", Value::none());
  std::vector<Keyed> kept;
  for (Keyed& one : keyed(run, input, attribute, sensitive)) {
    const bool seen = std::any_of(kept.begin(), kept.end(), [&](const Keyed& other) {
      return equal(other.key, one.key, run);
    });
    if (run.failed()) return {};
    if (!seen) kept.push_back(std::move(one));
  }
  return values_of(run, kept);
}

template <bool greatest>
Value extreme(Interpreter& run, const Value& input, const Arguments& arguments) {
  const bool sensitive = truthy(run.argument(arguments, 0, "case_sensitive", Value()));
  const Value attribute = run.argument(arguments, 1, "attribute", Value::none());
  const std::vector<Keyed> items = keyed(run, input, attribute, sensitive);
  if (items.empty()) return Value::undefined("min or max");
  const Keyed* best = &items[0];
  for (const Keyed& one : items) {
    const bool better = greatest ? less(best->key, one.key, run) : less(one.key, best->key, run);
    if (better) best = &one;
  }
  return best->value;
}

Value sum(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value attribute = run.argument(arguments, 0, "attribute", Value::none());
  Value total = run.argument(arguments, 1, "start", Value::integer(0));
  for (const Value& one : iterate(input, run)) {
    total = arithmetic(Operator::add, total, pick(run, one, attribute), run);
    if (run.failed()) return {};
  }
  return total;
}

Value reverse(Interpreter& run, const Value& input, const Arguments&) {
  std::vector<Value> items = iterate(input, run);
  std::reverse(items.begin(), items.end());
  if (!input.is(Kind::string)) return run.list(std::move(items));
  std::string text;
  for (const Value& one : items) text += one.as_string();
  return run.text(std::move(text));
}

/// The items of each key, by key.
Value group_by(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value attribute = run.argument(arguments, 0, "attribute", Value::none());
  const Value missing = run.argument(arguments, 1, "default", Value::none());
  const bool sensitive = truthy(run.argument(arguments, 2, "case_sensitive", Value()));
  const auto key = [&](const Value& one) {
    const Value picked = pick(run, one, attribute);
    return picked.is(Kind::undefined) && !missing.is(Kind::none) ? missing : picked;
  };
  std::vector<Keyed> items;
  for (const Value& one : iterate(input, run)) {
    if (!run.spend()) return {};
    items.push_back({key_of(run, key(one), Value::none(), sensitive), one});
  }
  sort_keyed(run, items, false);
  std::vector<Value> groups;
  for (std::size_t begin = 0; begin < items.size() && !run.failed();) {
    std::vector<Value> values;
    std::size_t end = begin;
    do {
      values.push_back(items[end++].value);
    } while (end < items.size() && equal(items[end].key, items[begin].key, run));
    Value name = sensitive ? items[begin].key : key(items[begin].value);
    groups.push_back(run.group(std::move(name), run.list(std::move(values))));
    begin = end;
  }
  return run.list(std::move(groups));
}

constexpr std::array<Builtin, 31> kFilters = {{
    {"join", join, 0, 2, "d attribute"},
    {"map", map, 0, kAny, "*"},
    {"select", select<true, false>, 0, kAny, "*"},
    {"reject", select<false, false>, 0, kAny, "*"},
    {"selectattr", select<true, true>, 0, kAny, "*"},
    {"rejectattr", select<false, true>, 0, kAny, "*"},
    {"sort", sort, 0, 3, "reverse case_sensitive attribute"},
    {"dictsort", dict_sort, 0, 3, "case_sensitive by reverse"},
    {"unique", unique, 0, 2, "case_sensitive attribute"},
    {"min", extreme<false>, 0, 2, "case_sensitive attribute"},
    {"max", extreme<true>, 0, 2, "case_sensitive attribute"},
    {"sum", sum, 0, 2, "attribute start"},
    {"reverse", reverse},
    {"batch", batch, 1, 2, "linecount fill_with"},
    {"slice", slices, 1, 2, "slices fill_with"},
    {"center", center, 0, 1, "width"},
    {"format", format, 0, kAny, "*"},
    {"truncate", truncate, 0, 4, "length killwords end leeway"},
    {"wordcount", word_count},
    {"indent", indent, 0, 3, "width first blank"},
    {"escape", escape},
    {"e", escape},
    {"forceescape", escape},
    {"striptags", strip_tags},
    {"urlencode", url_encode},
    {"urlize", urlize, 0, 5, "trim_url_limit nofollow target rel extra_schemes"},
    {"xmlattr", xml_attributes, 0, 1, "autospace"},
    {"groupby", group_by, 1, 3, "attribute default case_sensitive"},
    {"wordwrap", word_wrap, 0, 4, "width break_long_words wrapstring break_on_hyphens"},
    {"pprint", pretty},
    {"filesizeformat", file_size, 0, 1, "binary"},
}};

}  // namespace

const Builtin* find_list_filter(std::string_view name) noexcept {
  for (const Builtin& entry : kFilters) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tacet::jinja::filters
