#include <algorithm>
#include <array>
#include <cmath>

#include "formats/gguf/value.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja::filters {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kWidth = 80;

/// Python's pprint.pformat: what is longer than a line stands on several, keys are sorted.
class PrettyPrinter {
 public:
  explicit PrettyPrinter(Interpreter& run) : run_(run) {}

  /// `room`: characters that must fit behind the value on its last line.
  void print(const Value& value, std::size_t indent, std::size_t room, int level,
             std::string& out) {
    std::string whole;
    append(value, whole);
    if (!run_.spend(1 + whole.size() / 16)) return;
    const bool fits = length(whole) + indent + room <= kWidth;
    if (fits || !(value.is(Kind::dict) || value.is_sequence() || value.is(Kind::string))) {
      out += whole;
    } else if (value.is(Kind::dict)) {
      print_dict(value, indent + 1, room + 1, level + 1, out);
    } else if (value.is_sequence()) {
      print_items(value, indent + 1, room, level + 1, out);
    } else {
      print_text(value.as_string(), indent, room, level + 1, out);
    }
  }

 private:
  /// repr(value) with sorted keys.
  void append(const Value& value, std::string& out) {
    if (!run_.spend()) return;
    if (value.is_sequence()) {
      const bool tuple = value.is(Kind::tuple);
      out += tuple ? '(' : '[';
      for (std::size_t i = 0; i < value.items().size() && run_.take(4); ++i) {
        if (i > 0) out += ", ";
        append(value.items()[i], out);
      }
      if (tuple && value.items().size() == 1) out += ',';
      out += tuple ? ')' : ']';
    } else if (value.is(Kind::dict)) {
      out += '{';
      const auto entries = sorted(value);
      for (std::size_t i = 0; i < entries.size() && run_.take(6); ++i) {
        if (i > 0) out += ", ";
        append(entries[i].first, out);
        out += ": ";
        append(entries[i].second, out);
      }
      out += '}';
    } else {
      append_repr(value, out, run_);
    }
  }

  /// As Python names the types, by which keys of unlike types are sorted.
  static std::string_view type_name(const Value& key) {
    switch (key.kind()) {
      case Kind::none:
        return "NoneType";
      case Kind::string:
        return "str";
      case Kind::tuple:
        return "tuple";
      case Kind::boolean:
        return "bool";
      case Kind::number:
        return "float";
      default:
        return "int";
    }
  }

  std::vector<Value::Entry> sorted(const Value& dict) {
    if (!run_.take(dict.entries().size() * 128)) return {};
    std::vector<Value::Entry> entries = dict.entries();
    std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
      const bool alike = (a.first.is_numeric() && b.first.is_numeric()) ||
                         (a.first.kind() == b.first.kind() && !a.first.is(Kind::none));
      return alike ? less(a.first, b.first, run_) : type_name(a.first) < type_name(b.first);
    });
    return entries;
  }

  void new_line(std::size_t indent, std::string& out) {
    if (!run_.take(indent + 2)) return;
    out += '\n';
    out.append(indent, ' ');
  }

  void print_dict(const Value& dict, std::size_t indent, std::size_t room, int level,
                  std::string& out) {
    out += '{';
    const auto entries = sorted(dict);
    for (std::size_t i = 0; i < entries.size() && !run_.failed(); ++i) {
      std::string key;
      append(entries[i].first, key);
      out += key + ": ";
      const bool last = i + 1 == entries.size();
      print(entries[i].second, indent + length(key) + 2, last ? room : 1, level, out);
      if (last) continue;
      out += ',';
      new_line(indent, out);
    }
    out += '}';
  }

  void print_items(const Value& value, std::size_t indent, std::size_t room, int level,
                   std::string& out) {
    const bool tuple = value.is(Kind::tuple);
    const std::string_view end = !tuple ? "]" : value.items().size() == 1 ? ",)" : ")";
    out += tuple ? '(' : '[';
    for (std::size_t i = 0; i < value.items().size() && !run_.failed(); ++i) {
      const bool last = i + 1 == value.items().size();
      print(value.items()[i], indent, last ? room + end.size() : 1, level, out);
      if (last) continue;
      out += ',';
      new_line(indent, out);
    }
    out += end;
  }

  std::string quoted_text(std::string_view text) {
    std::string out;
    append_repr(run_.text(std::string(text)), out, run_);
    return out;
  }

  /// A long text as several that stand below each other, cut behind lines, then behind spaces.
  void print_text(const std::string& text, std::size_t indent, std::size_t room, int level,
                  std::string& out) {
    if (level == 1) {
      ++indent;
      ++room;
    }
    const auto fits = [&](std::string_view repr, bool last) {
      return length(repr) + indent + (last ? room : 0) <= kWidth;
    };
    std::vector<std::string> pieces;
    for (std::string_view rest = text; !rest.empty() && run_.spend();) {
      const std::string_view line = rest.substr(0, first_line(rest).size);
      rest.remove_prefix(line.size());
      std::string repr = quoted_text(line);
      if (fits(repr, rest.empty())) {
        pieces.push_back(std::move(repr));
        continue;
      }
      std::string current;
      for (std::string_view words = line; !words.empty() && !run_.failed();) {
        const std::string_view part = words.substr(0, word_and_space(words));
        words.remove_prefix(part.size());
        const std::string candidate = current + std::string(part);
        if (fits(quoted_text(candidate), words.empty() && rest.empty())) {
          current = candidate;
          continue;
        }
        if (!current.empty()) pieces.push_back(quoted_text(current));
        current = part;
      }
      if (!current.empty()) pieces.push_back(quoted_text(current));
    }
    const bool brackets = level == 1 && pieces.size() > 1;
    if (brackets) out += '(';
    for (std::size_t i = 0; i < pieces.size() && run_.take(pieces[i].size()); ++i) {
      if (i > 0) new_line(indent, out);
      out += pieces[i];
    }
    if (brackets) out += ')';
  }

  /// The size of the characters that are no space, and of the spaces behind them.
  static std::size_t word_and_space(std::string_view text) {
    std::size_t end = 0;
    bool in_space = false;
    for (std::size_t position = 0; position < text.size(); end = position) {
      const bool space = is_space(next_utf8(text, position));
      if (in_space && !space) break;
      in_space = space;
    }
    return end;
  }

  Interpreter& run_;
};

}  // namespace

Value pretty(Interpreter& run, const Value& input, const Arguments&) {
  std::string out;
  PrettyPrinter(run).print(input, 0, 0, 0, out);
  return run.text(std::move(out));
}

Value file_size(Interpreter& run, const Value& input, const Arguments& arguments) {
  const bool binary = truthy(run.argument(arguments, 0, "binary", Value()));
  const auto value = number_of(input);
  if (!value) return run.raise(Code::corrupt, "filesizeformat needs a number.");
  const double base = binary ? 1024 : 1000;
  if (*value == 1) return run.text("1 Byte");
  if (*value < base) return run.text(fmt::format("{:.0f} Bytes", std::trunc(*value) + 0.0));
  constexpr std::array<double, 8> kDecimal = {1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e27};
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  std::size_t i = 0;
  for (; i < kPrefixes.size(); ++i) {
    unit = binary ? std::ldexp(1.0, static_cast<int>(10 * (i + 2))) : kDecimal[i];
    // 10^24 is above the double that is nearest to it.
    if (*value < unit || (unit == 1e24 && *value == unit)) break;
  }
  std::string prefix(1, kPrefixes[std::min(i, kPrefixes.size() - 1)]);
  if (binary) prefix = (prefix == "k" ? "K" : prefix) + "i";
  if (*value > 1e30) run.spend(64);  // hundreds of digits
  return run.text(fmt::format("{:.1f} {}B", base * *value / unit, prefix));
}

}  // namespace tacet::jinja::filters
