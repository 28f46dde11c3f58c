#include "text/jinja/lexer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/literals.hpp"
#include "text/jinja/strings.hpp"

namespace tacet::jinja {
namespace {

constexpr std::array<std::string_view, 26> kSymbols = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

// Variables are found by comparing names, each counted as one step.
constexpr std::size_t kMaxName = 256;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Line breaks become "\n"; one at the very end is dropped.
std::string normalize(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      text += '\n';
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(normalize(source)) {}

  Result<std::vector<Token>> run() {
    while (position_ < text_.size()) {
      if (auto done = next_part(); !done) return fail(std::move(done));
    }
    add(Token::Kind::end);
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(text_).substr(position_); }
  bool at(std::string_view what) const { return rest().starts_with(what); }

  void advance(std::size_t bytes) {
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(position_);
    line_ += static_cast<int>(std::count(begin, begin + static_cast<std::ptrdiff_t>(bytes), '\n'));
    position_ += bytes;
    line_starting_ = bytes > 0 ? text_[position_ - 1] == '\n' : line_starting_;
  }

  void skip_space() { advance(rest().size() - strip_left(rest()).size()); }

  void add(Token::Kind kind, std::string text = {}) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }

  /// Text, and the tag behind it.
  Result<void> next_part() {
    const std::size_t start = position_;
    std::size_t open = start;
    while ((open = text_.find('{', open)) != std::string::npos) {
      const char next = open + 1 < text_.size() ? text_[open + 1] : '\0';
      if (next == '%' || next == '{' || next == '#') break;
      ++open;
    }
    if (open == std::string::npos) {
      add_data(rest());
      advance(rest().size());
      return {};
    }
    const std::string_view data = std::string_view(text_).substr(start, open - start);
    const char kind = text_[open + 1];
    const char sign = open + 2 < text_.size() ? text_[open + 2] : '\0';
    const bool signed_tag = sign == '-' || sign == '+';
    add_data(before_tag(data, sign, kind == '{'));
    advance(open - start + 2 + (signed_tag ? 1 : 0));
    if (kind == '#') return comment();
    if (kind == '%') {
      if (const std::size_t size = tag_size(rest(), "raw", false); size > 0) return raw(size);
    }
    return tag(kind == '{');
  }

  /// The text before a tag, without the whitespace that the tag takes away.
  std::string_view before_tag(std::string_view data, char sign, bool variable) const {
    if (sign == '-') return strip_right(data);
    if (sign == '+' || variable) return data;
    const std::size_t newline = data.rfind('\n');
    if (newline == std::string_view::npos && !line_starting_) return data;
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    return strip_left(data.substr(line)).empty() ? data.substr(0, line) : data;
  }

  void add_data(std::string_view data) {
    if (!data.empty()) add(Token::Kind::data, std::string(data));
  }

  /// Eats the end of a tag, with its sign, and the whitespace that it takes away.
  void close(std::string_view end, bool trim) {
    const bool minus = at("-");
    const bool plus = at("+");
    advance(end.size() + (minus || plus ? 1 : 0));
    if (minus) {
      skip_space();
    } else if (trim && !plus && at("\n")) {
      advance(1);
    }
  }

  bool at_end_of(std::string_view end, bool plus) const {
    return at(end) || (at("-") && rest().substr(1).starts_with(end)) ||
           (plus && at("+") && rest().substr(1).starts_with(end));
  }

  Result<void> comment() {
    const int line = line_;
    const std::size_t end = text_.find("#}", position_);
    if (end == std::string::npos) {
      return fail(Code::corrupt, "The template has a comment at line {} that never ends.", line);
    }
    const bool with_sign = end > position_ && (text_[end - 1] == '-' || text_[end - 1] == '+');
    advance(end - position_ - (with_sign ? 1 : 0));
    close("#}", true);
    return {};
  }

  /// If `view`, behind a {%, reads `NAME %}`: the bytes before the end of the tag and its sign.
  /// Otherwise 0.
  static std::size_t tag_size(std::string_view view, std::string_view tag_name, bool plus) {
    std::string_view left = strip_left(view);
    if (!left.starts_with(tag_name)) return 0;
    left = strip_left(left.substr(tag_name.size()));
    const bool with_sign = left.starts_with("-%}") || (plus && left.starts_with("+%}"));
    if (!with_sign && !left.starts_with("%}")) return 0;
    return view.size() - left.size();
  }

  Result<void> raw(std::size_t head) {
    const int line = line_;
    advance(head);
    close("%}", false);
    const std::string_view view = rest();
    for (std::size_t open = view.find("{%"); open != std::string_view::npos;
         open = view.find("{%", open + 2)) {
      const char sign = open + 2 < view.size() ? view[open + 2] : '\0';
      const std::size_t behind = open + (sign == '-' || sign == '+' ? 3 : 2);
      const std::size_t size = tag_size(view.substr(behind), "endraw", true);
      if (size == 0) continue;
      add_data(before_tag(view.substr(0, open), sign, false));
      advance(behind + size);
      close("%}", true);
      return {};
    }
    return fail(Code::corrupt, "The template has a raw block at line {} that never ends.", line);
  }

  Result<void> tag(bool variable) {
    const std::string_view end = variable ? "}}" : "%}";
    add(variable ? Token::Kind::variable_begin : Token::Kind::block_begin);
    const int line = line_;
    std::string brackets;
    while (position_ < text_.size()) {
      if (brackets.empty() && at_end_of(end, !variable)) {
        add(variable ? Token::Kind::variable_end : Token::Kind::block_end);
        close(end, !variable);
        return {};
      }
      const std::size_t before = position_;
      skip_space();
      if (position_ != before) continue;
      if (auto done = code(brackets); !done) return done;
    }
    return fail(Code::corrupt, "The template has a tag at line {} that never ends.", line);
  }

  /// One token inside a tag.
  Result<void> code(std::string& brackets) {
    const char first = text_[position_];
    if (is_digit(first)) return number();
    if (is_name_start(first)) {
      std::size_t size = 1;
      while (size < rest().size() && (is_name_start(rest()[size]) || is_digit(rest()[size])))
        ++size;
      if (size > kMaxName) {
        return fail(Code::unsupported,
                    "The template has a name of {} bytes at line {}; at most {} are known.", size,
                    line_, kMaxName);
      }
      add(Token::Kind::name, std::string(rest().substr(0, size)));
      advance(size);
      return {};
    }
    if (first == '\'' || first == '"') return string(first);
    for (const std::string_view symbol : kSymbols) {
      if (!at(symbol)) continue;
      if (auto done = balance(symbol[0], brackets); !done) return done;
      add(Token::Kind::symbol, std::string(symbol));
      advance(symbol.size());
      return {};
    }
    return fail(Code::corrupt, "The template has an unexpected character ('{}') at line {}.",
                (first >= ' ' && first < 127) ? first : '?', line_);
  }

  Result<void> balance(char symbol, std::string& brackets) const {
    if (symbol == '{') brackets += '}';
    if (symbol == '(') brackets += ')';
    if (symbol == '[') brackets += ']';
    if (symbol != '}' && symbol != ')' && symbol != ']') return {};
    if (brackets.empty() || brackets.back() != symbol) {
      return fail(Code::corrupt, "The template has an unexpected '{}' at line {}.", symbol, line_);
    }
    brackets.pop_back();
    return {};
  }

  Result<void> number() {
    const bool after_dot = position_ > 0 && text_[position_ - 1] == '.';
    const NumberLiteral literal = read_number(rest(), !after_dot);
    if (!literal.fits) {
      return fail(Code::unsupported,
                  "The template has a number at line {} that needs more than 64 bits.", line_);
    }
    add(literal.is_integer ? Token::Kind::integer : Token::Kind::number);
    tokens_.back().integer = literal.integer;
    tokens_.back().number = literal.number;
    advance(literal.size);
    return {};
  }

  Result<void> string(char quote) {
    std::size_t end = 1;
    while (end < rest().size() && rest()[end] != quote) end += rest()[end] == '\\' ? 2 : 1;
    if (end >= rest().size()) {
      return fail(Code::corrupt, "The template has a string at line {} that never ends.", line_);
    }
    std::string value;
    if (!unescape(rest().substr(1, end - 1), value)) {
      return fail(Code::corrupt, "The template has a string with a bad escape at line {}.", line_);
    }
    add(Token::Kind::string, std::move(value));
    advance(end + 1);
    return {};
  }

  std::string text_;
  std::size_t position_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  ///< the last tag ate a line break
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace tacet::jinja
