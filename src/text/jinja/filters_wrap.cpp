#include <algorithm>
#include <utility>

#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja::filters {
namespace {

using Kind = Value::Kind;
using Characters = std::vector<std::uint32_t>;

/// A piece of a line that is not cut unless it is longer than a line: its first character, and the
/// one behind its last.
struct Chunk {
  std::size_t first;
  std::size_t last;
  std::size_t size() const noexcept { return last - first; }
};

struct WrapOptions {
  std::size_t width = 79;
  bool cut_words = true;
  bool cut_at_hyphens = true;
};

/// Python's textwrap.TextWrapper for one line of a text.
class LineWrapper {
 public:
  LineWrapper(std::string_view line, const WrapOptions& options, Interpreter& run)
      : options_(options), run_(run) {
    if (!run_.take(line.size() * 8) || !run_.spend(1 + line.size() / 8)) return;
    for (std::size_t position = 0; position < line.size();)
      text_.push_back(next_utf8(line, position));
  }

  std::vector<std::string> lines() {
    std::vector<Chunk> chunks;
    for (std::size_t at = 0; at < text_.size() && run_.take(sizeof(Chunk)); at = chunks.back().last)
      chunks.push_back({at, options_.cut_at_hyphens ? chunk_end(at) : simple_end(at)});
    std::reverse(chunks.begin(), chunks.end());
    std::vector<std::string> lines;
    while (!chunks.empty() && run_.spend()) {
      if (!lines.empty() && is_blank(chunks.back())) chunks.pop_back();
      std::vector<Chunk> line = first_line(chunks);
      if (!line.empty() && is_blank(line.back())) line.pop_back();
      if (!line.empty()) lines.push_back(text_of(line));
    }
    return lines;
  }

 private:
  static bool is_white(std::uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool is_word(std::uint32_t c) { return c == '_' || is_alphanumeric(c); }
  bool is_letter(std::size_t at) const {
    return at < text_.size() && is_word(text_[at]) && !is_decimal(text_[at]);
  }
  /// A character of a word, or of what stands at one.
  bool is_word_part(std::size_t at) const {
    const std::uint32_t c = text_[at];
    return is_word(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) !=
                                          std::string_view::npos);
  }

  /// Behind two or more hyphens that a word follows; 0 if they are not there.
  std::size_t behind_dash(std::size_t at) const {
    std::size_t end = at;
    while (end < text_.size() && text_[end] == '-') ++end;
    return end >= at + 2 && end < text_.size() && is_word(text_[end]) ? end : 0;
  }

  /// Whether a word may be cut behind the hyphen at `at`.
  bool is_hyphen(std::size_t at) const {
    if (text_[at] != '-') return false;
    const bool behind_letters = at >= 2 && is_letter(at - 1) && is_letter(at - 2);
    const bool behind_part =
        at >= 3 && is_letter(at - 3) && text_[at - 2] == '-' && is_word_part(at - 1);
    const bool before_letters =
        is_letter(at + 1) &&
        (is_letter(at + 2) || (at + 2 < text_.size() && text_[at + 2] == '-' && is_letter(at + 3)));
    return (behind_letters || behind_part) && before_letters;
  }

  std::size_t simple_end(std::size_t at) const {
    const bool white = is_white(text_[at]);
    while (at < text_.size() && is_white(text_[at]) == white) ++at;
    return at;
  }

  std::size_t chunk_end(std::size_t at) const {
    if (is_white(text_[at])) return simple_end(at);
    if (at > 0 && is_word_part(at - 1)) {
      if (const std::size_t end = behind_dash(at)) return end;
    }
    for (std::size_t end = at + 1;; ++end) {
      if (end == text_.size() || is_white(text_[end])) return end;
      if (is_hyphen(end)) return end + 1;
      if (is_word_part(end - 1) && behind_dash(end) != 0) return end;
    }
  }

  bool is_blank(const Chunk& chunk) const {
    return std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(chunk.first),
                       text_.begin() + static_cast<std::ptrdiff_t>(chunk.last), is_space);
  }

  /// Takes from the end of `chunks` what fits in a line.
  std::vector<Chunk> first_line(std::vector<Chunk>& chunks) {
    std::vector<Chunk> line;
    std::size_t size = 0;
    while (!chunks.empty() && size + chunks.back().size() <= options_.width && run_.spend()) {
      size += chunks.back().size();
      line.push_back(chunks.back());
      chunks.pop_back();
    }
    if (chunks.empty() || chunks.back().size() <= options_.width) return line;
    Chunk& word = chunks.back();
    if (options_.cut_words) {
      const std::size_t end = word.first + cut(word, options_.width - size);
      line.push_back({word.first, end});
      word.first = end;
    } else if (line.empty()) {
      line.push_back(word);
      chunks.pop_back();
    }
    return line;
  }

  /// How many characters of a word that is too long go into the `room` of a line.
  std::size_t cut(const Chunk& word, std::size_t room) {
    if (!options_.cut_at_hyphens) return room;
    std::size_t hyphen = room;
    while (hyphen > 0 && text_[word.first + hyphen - 1] != '-') --hyphen;
    if (!run_.spend(1 + room / 16) || hyphen < 2) return room;
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(word.first);
    const bool more = std::any_of(begin, begin + static_cast<std::ptrdiff_t>(hyphen) - 1,
                                  [](std::uint32_t c) { return c != '-'; });
    return more ? hyphen : room;
  }

  std::string text_of(const std::vector<Chunk>& line) {
    std::string result;
    if (!run_.take((line.back().last - line.front().first) * 4)) return result;
    for (std::size_t i = line.front().first; i < line.back().last; ++i)
      append_utf8(text_[i], result);
    return result;
  }

  const WrapOptions& options_;
  Interpreter& run_;
  Characters text_;
};

}  // namespace

Value word_wrap(Interpreter& run, const Value& input, const Arguments& arguments) {
  const Value width = run.argument(arguments, 0, "width", Value::integer(79));
  WrapOptions options;
  options.cut_words = truthy(run.argument(arguments, 1, "break_long_words", Value::boolean(true)));
  const Value between = run.argument(arguments, 2, "wrapstring", Value::none());
  options.cut_at_hyphens =
      truthy(run.argument(arguments, 3, "break_on_hyphens", Value::boolean(true)));
  const bool usual = between.is(Kind::none);
  if (!input.is(Kind::string) || !width.is_integral() || (!usual && !between.is(Kind::string)))
    return run.raise(Code::corrupt, "wordwrap needs a text and an integer.");
  if (width.as_integer() < 1 && !input.as_string().empty())
    return run.raise(Code::corrupt, "wordwrap needs a width of at least 1.");
  options.width = static_cast<std::size_t>(width.as_integer());
  const std::string end = usual ? "\n" : between.as_string();
  std::string result;
  bool first = true;
  for (std::string_view rest = input.as_string(); !rest.empty() && run.spend();) {
    const Line line = first_line(rest);
    rest.remove_prefix(line.size);
    std::vector<std::string> lines = LineWrapper(line.text, options, run).lines();
    if (lines.empty()) lines.emplace_back();
    for (const std::string& one : lines) {
      if (!run.take(one.size() + end.size())) return {};
      if (!std::exchange(first, false)) result += end;
      result += one;
    }
  }
  return run.text(std::move(result));
}

}  // namespace tacet::jinja::filters
