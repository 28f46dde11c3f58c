#include <algorithm>
#include <optional>

#include "formats/gguf/value.hpp"
#include "text/jinja/format.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr int kDeepest = 2;  // specifications in specifications

bool is_index(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

/// repr(value) with the characters beyond ASCII escaped.
std::string ascii(std::string_view text, Meter& meter) {
  if (!meter.take(text.size() * 5)) return {};
  std::string result;
  for (std::size_t position = 0; position < text.size();) {
    const std::uint32_t c = next_utf8(text, position);
    if (c < 0x80) {
      result += static_cast<char>(c);
    } else if (c < 0x100) {
      result += fmt::format("\\x{:02x}", c);
    } else {
      result += c < 0x10000 ? fmt::format("\\u{:04x}", c) : fmt::format("\\U{:08x}", c);
    }
  }
  return result;
}

/// A replacement field: {name!conversion:specification}.
struct Field {
  std::string_view name;
  char conversion = 0;
  std::string_view specification;
};

class MethodFormatter {
 public:
  MethodFormatter(Interpreter& run, const Arguments& arguments)
      : run_(run), arguments_(arguments) {}

  std::string format(std::string_view rest, int depth) {
    std::string out;
    if (depth > kDeepest) return fail(), out;
    while (!rest.empty() && run_.spend()) {
      const std::size_t brace = std::min(rest.find_first_of("{}"), rest.size());
      if (!run_.take(brace + 1)) break;
      out += rest.substr(0, brace);
      rest.remove_prefix(brace);
      if (rest.empty()) break;
      const char c = rest[0];
      rest.remove_prefix(1);
      if (rest.starts_with(c)) {
        out += c;
        rest.remove_prefix(1);
        continue;
      }
      const auto field = c == '{' ? read_field(rest) : std::nullopt;
      if (!field) {
        run_.raise(Code::corrupt, "a format has a brace too many.");
        break;
      }
      write(*field, depth, out);
    }
    return out;
  }

 private:
  void fail() { run_.raise(Code::corrupt, "a format has a place that can not be read."); }

  /// What stands behind an opening brace, which is removed from `rest` up to its closing brace.
  static std::optional<Field> read_field(std::string_view& rest) {
    Field field;
    std::size_t at = 0;
    for (; at < rest.size() && std::string_view("}:!").find(rest[at]) == std::string_view::npos;
         ++at) {
      if (rest[at] == '{') return std::nullopt;
      if (rest[at] == '[') at = std::min(rest.find(']', at), rest.size() - 1);
    }
    if (at >= rest.size()) return std::nullopt;
    field.name = rest.substr(0, at);
    if (rest[at] == '!') {
      if (at + 2 >= rest.size()) return std::nullopt;
      field.conversion = rest[at + 1];
      at += 2;
    }
    const char next = rest[at];
    const std::size_t start = at + 1;
    if (next != '}' && next != ':') return std::nullopt;
    int open = 1;
    for (; at < rest.size() && open > 0; ++at) {
      if (rest[at] == '{') ++open;
      if (rest[at] == '}') --open;
    }
    if (open > 0) return std::nullopt;
    if (next == ':') field.specification = rest.substr(start, at - 1 - start);
    rest.remove_prefix(at);
    return field;
  }

  void write(const Field& field, int depth, std::string& out) {
    if (field.name.size() > 256) return fail();
    if (!run_.spend(1 + field.specification.size() / 16)) return;
    Value value = find(field.name);
    std::string text;
    switch (field.conversion) {
      case 0:
        break;
      case 's':
        value = run_.text(to_text(value, run_));
        break;
      case 'r':
      case 'a':
        append_repr(value, text, run_);
        value = run_.text(field.conversion == 'a' ? ascii(text, run_) : text);
        break;
      default:
        return fail();
    }
    const std::string specification = format(field.specification, depth + 1);
    if (!run_.failed()) append_formatted(value, specification, out, run_);
  }

  Value find(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, end);
    const Value* found = nullptr;
    if (name.empty() || is_index(name)) {
      // A format either counts or is counted in.
      if (name.empty() ? numbered_ : next_ > 0) return fail(), Value();
      numbered_ = !name.empty();
    }
    if (name.empty()) {
      found = positional(next_++);
    } else if (is_index(first)) {
      found = first.size() > 6 ? nullptr : positional(std::stoul(std::string(first)));
    } else {
      found = arguments_.find(kAny, first);
    }
    if (found == nullptr) {
      return run_.raise(Code::corrupt, "a format has a place, {}, without a value.", quoted(name));
    }
    return walk(*found, name.substr(end));
  }

  const Value* positional(std::size_t index) const {
    return index < arguments_.positional.size() ? &arguments_.positional[index] : nullptr;
  }

  /// The attributes and items behind the first part of a name.
  Value walk(Value value, std::string_view path) {
    while (!path.empty() && !run_.failed()) {
      const bool by_name = path[0] == '.';
      if (!by_name && path[0] != '[') return fail(), Value();
      path.remove_prefix(1);
      const std::size_t end =
          by_name ? std::min(path.find_first_of(".["), path.size()) : path.find(']');
      if (end == 0 || end == std::string_view::npos) return fail(), Value();
      const std::string key(path.substr(0, end));
      path.remove_prefix(by_name ? end : end + 1);
      if (by_name) {
        value = run_.attribute(value, key);
        continue;
      }
      const bool number = is_index(key) && key.size() < 10;
      Value found =
          item(value, number ? Value::integer(std::stoll(key)) : Value::string(key), run_);
      const bool missing = found.is(Value::Kind::undefined) && !number;
      value = missing ? run_.attribute(value, key) : std::move(found);
    }
    return value;
  }

  Interpreter& run_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
  bool numbered_ = false;
};

}  // namespace

Value format_method(Interpreter& run, const Value& self, const Arguments& arguments) {
  return run.text(MethodFormatter(run, arguments).format(self.as_string(), 0));
}

}  // namespace tacet::jinja
