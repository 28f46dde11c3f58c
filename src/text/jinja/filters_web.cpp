#include <algorithm>

#include "formats/gguf/value.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/html.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/text_functions.hpp"

namespace tacet::jinja::filters {
namespace {

using Kind = Value::Kind;

/// Takes away what stands from each `start` to the next `end`, also where that brings a new one
/// about.
void remove_between(std::string& text, std::string_view start, std::string_view end,
                    Interpreter& run) {
  while (run.spend(1 + text.size() / 64)) {
    const std::size_t from = text.find(start);
    const std::size_t to = from == std::string::npos ? from : text.find(end, from);
    if (to == std::string::npos) return;
    text.erase(from, to + end.size() - from);
  }
}

/// urllib.parse.quote, or for a part of a query quote_plus.
void append_quoted(const Value& value, bool query, std::string& out, Interpreter& run) {
  const std::string text = to_text(value, run);
  if (!run.take(text.size() * 3) || !run.spend(1 + text.size() / 16)) return;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos ||
                       (c == '/' && !query);
    if (plain) {
      out += c;
    } else if (c == ' ' && query) {
      out += '+';
    } else {
      constexpr std::string_view kHexadecimal = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHexadecimal[byte >> 4];
      out += kHexadecimal[byte & 15];
    }
  }
}

}  // namespace

Value escape(Interpreter& run, const Value& input, const Arguments&) {
  std::string result;
  append_escaped(to_text(input, run), result, run);
  return run.text(std::move(result));
}

Value strip_tags(Interpreter& run, const Value& input, const Arguments&) {
  std::string text = to_text(input, run);
  remove_between(text, "<!--", "-->", run);
  remove_between(text, "<", ">", run);
  const Value words = split_space(text, -1, false, run);
  if (run.failed()) return {};
  std::string joined;
  for (const Value& word : words.items()) {
    if (!joined.empty()) joined += ' ';
    joined += word.as_string();
  }
  return run.text(unescaped(joined, run));
}

Value url_encode(Interpreter& run, const Value& input, const Arguments&) {
  std::string result;
  if (!input.is(Kind::dict) && !input.is_sequence() && !input.is(Kind::undefined)) {
    append_quoted(input, false, result, run);
    return run.text(std::move(result));
  }
  const Value pairs = input.is(Kind::dict) ? entries_of(input, run) : input;
  for (const Value& pair : iterate(pairs, run)) {
    const std::vector<Value> parts = iterate(pair, run);
    if (run.failed()) return {};
    if (parts.size() != 2) return run.raise(Code::corrupt, "urlencode needs pairs.");
    if (!result.empty()) result += '&';
    append_quoted(parts[0], true, result, run);
    result += '=';
    append_quoted(parts[1], true, result, run);
  }
  return run.text(std::move(result));
}

Value xml_attributes(Interpreter& run, const Value& input, const Arguments& arguments) {
  const bool space = truthy(run.argument(arguments, 0, "autospace", Value::boolean(true)));
  if (!input.is(Kind::dict)) return run.raise(Code::corrupt, "xmlattr needs a dict.");
  std::string result;
  for (const auto& [key, value] : input.entries()) {
    if (!run.spend()) return {};
    if (value.is(Kind::none) || value.is(Kind::undefined)) continue;
    const bool good = key.is(Kind::string) && run.spend(1 + key.as_string().size() / 16) &&
                      key.as_string().find_first_of(" \t\n\r\f\v/>=") == std::string::npos;
    if (!good)
      return run.raise(Code::corrupt, "xmlattr was given a name with a character it can not have.");
    if (space || !result.empty()) result += ' ';
    append_escaped(key.as_string(), result, run);
    result += "=\"";
    append_escaped(to_text(value, run), result, run);
    result += '"';
  }
  return run.text(std::move(result));
}

}  // namespace tacet::jinja::filters
