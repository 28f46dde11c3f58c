#include <algorithm>
#include <array>
#include <set>

#include "formats/gguf/value.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/html.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/print.hpp"
#include "text/jinja/strings.hpp"
#include "text/jinja/text_functions.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja::filters {
namespace {

using Kind = Value::Kind;

bool is_word(std::uint32_t c) {
  return c == '_' || is_alphanumeric(c);
}

bool is_ascii_of(std::uint32_t c, std::string_view characters) {
  return c < 0x80 && characters.find(static_cast<char>(c)) != std::string_view::npos;
}

/// Whether `text` has `least` to `most` characters, all of them wanted.
template <typename Wanted>
bool all_of(std::string_view text, std::size_t least, std::size_t most, Wanted wanted) {
  std::size_t count = 0;
  for (std::size_t position = 0; position < text.size(); ++count)
    if (!wanted(next_utf8(text, position))) return false;
  return count >= least && count <= most;
}

/// What [a-z] matches in Python where case is ignored.
bool is_letter(std::uint32_t c) {
  return (c < 0x80 && (c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == 0x130 || c == 0x131 ||
         c == 0x17F || c == 0x212A;
}

bool is_label(std::string_view text, std::size_t least, std::size_t most) {
  return all_of(text, least, most, [](auto c) { return is_word(c) || c == '%' || c == '-'; });
}

/// Labels with a dot behind each.
bool are_labels(std::string_view text, std::size_t least, std::size_t most) {
  while (!text.empty()) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos || !is_label(text.substr(0, dot), least, most)) return false;
    text.remove_prefix(dot + 1);
  }
  return true;
}

/// A host behind http:// or www.: any labels, and a top-level domain.
bool is_host(std::string_view host) {
  const std::size_t dot = host.rfind('.');
  const std::size_t last = dot == std::string_view::npos ? 0 : dot + 1;
  const std::string_view domain = host.substr(last);
  const bool coded = lower(domain.substr(0, 4)) == "xn--" &&
                     all_of(domain.substr(4), 2, 59, [](auto c) { return is_word(c) || c == '%'; });
  return (coded || all_of(domain, 2, 63, is_letter)) &&
         are_labels(host.substr(0, last), 1, SIZE_MAX);
}

/// A host that is known for one by its top-level domain.
bool is_bare_host(std::string_view host) {
  constexpr std::array<std::string_view, 8> kDomains = {"com", "net", "int",  "edu",
                                                        "gov", "org", "info", "mil"};
  const std::size_t dot = host.rfind('.');
  if (dot == std::string_view::npos || host.size() - dot > 8) return false;
  const std::string domain = lower(host.substr(dot + 1));
  return std::find(kDomains.begin(), kDomains.end(), domain) != kDomains.end() &&
         are_labels(host.substr(0, dot + 1), 2, 63);
}

/// Four numbers of up to three digits.
bool is_address(std::string_view host) {
  std::size_t numbers = 0;
  while (numbers < 5) {
    const std::size_t dot = std::min(host.find('.'), host.size());
    if (!all_of(host.substr(0, dot), 1, 3, is_decimal)) return false;
    ++numbers;
    if (dot == host.size()) break;
    host.remove_prefix(dot + 1);
  }
  return numbers == 4;
}

/// What stands between the brackets of an address of version 6: two groups with colons, and one to
/// six with or without.
bool is_long_address(std::string_view text) {
  const auto is_hexadecimal = [](std::uint32_t c) {
    return is_decimal(c) || (is_letter(c) && c < 0x80 && (c | 0x20) <= 'f');
  };
  std::size_t groups = 0;
  for (std::size_t colons = 0;; ++colons) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view digits = text.substr(0, end);
    const std::size_t size = length(digits);
    if (!all_of(digits, 0, colons < 2 ? 4 : 24, is_hexadecimal)) return false;
    if (end == text.size()) return colons >= 2 && groups + (size + 3) / 4 <= 6;
    if (colons >= 2) groups += std::max<std::size_t>(1, (size + 3) / 4);
    text.remove_prefix(end + 1);
  }
}

/// Nothing, or a port, a path, a query or a fragment.
bool may_end_an_address(std::string_view rest) {
  if (rest.starts_with(':')) {
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    if (!all_of(rest.substr(1, end - 1), 1, 5, is_decimal)) return false;
    rest.remove_prefix(end);
  }
  return rest.empty() || is_ascii_of(static_cast<unsigned char>(rest[0]), "/?#");
}

bool is_link(std::string_view text) {
  const std::string start = lower(text.substr(0, 8));
  const std::size_t scheme = start == "https://" ? 8 : start.starts_with("http://") ? 7 : 0;
  const std::size_t prefix = scheme > 0 ? scheme : start.starts_with("www.") ? 4 : 0;
  const std::string_view rest = text.substr(prefix);
  if (scheme > 0 && rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    return end != std::string_view::npos && is_long_address(rest.substr(1, end - 1)) &&
           may_end_an_address(rest.substr(end + 1));
  }
  const std::size_t end = std::min(rest.find_first_of(":/?#"), rest.size());
  const std::string_view host = rest.substr(0, end);
  const bool good = (prefix > 0 && is_host(host)) || (scheme > 0 && is_address(host)) ||
                    (scheme == 0 && is_bare_host(text.substr(0, prefix + end)));
  return good && may_end_an_address(rest.substr(end));
}

bool is_mail(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == 0 || at == std::string_view::npos) return false;
  const std::string_view host = text.substr(at + 1);
  const std::size_t dot = host.rfind('.');
  if (dot == 0 || dot == std::string_view::npos) return false;
  std::size_t position = 0;
  return is_word(next_utf8(host, position)) &&
         all_of(host, 1, SIZE_MAX, [](auto c) { return is_word(c) || c == '.' || c == '-'; }) &&
         all_of(host.substr(dot + 1), 1, SIZE_MAX, is_word);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++found;
  return found;
}

/// Writes one word after the other, links as links.
class Linker {
 public:
  Linker(Interpreter& run, const Arguments& arguments) : run_(run) {
    const Value limit = run.argument(arguments, 0, "trim_url_limit", Value::none());
    if (limit.is_integral() && limit.as_integer() >= 0)
      limit_ = static_cast<std::size_t>(limit.as_integer());
    else if (!limit.is(Kind::none))
      run.raise(Code::corrupt, "urlize needs a limit of at least 0.");
    std::set<std::string> relations = {"noopener"};
    if (truthy(run.argument(arguments, 1, "nofollow", Value()))) relations.insert("nofollow");
    const Value target = run.argument(arguments, 2, "target", Value::none());
    const Value given = run.argument(arguments, 3, "rel", Value::none());
    if (given.is(Kind::string)) {
      const Value words = split_space(given.as_string(), -1, false, run);
      if (run.failed()) return;
      for (const Value& word : words.items()) relations.insert(word.as_string());
    }
    std::string relation;
    for (const std::string& one : relations) relation += (relation.empty() ? "" : " ") + one;
    add_attribute("rel", relation);
    if (truthy(target)) add_attribute("target", to_text(target, run));
    schemes_ = iterate_schemes(run.argument(arguments, 4, "extra_schemes", Value::none()));
  }

  void word(std::string_view text, std::string& out) {
    if (!run_.spend(1 + text.size() / 16 * (1 + schemes_.size())) || !run_.take(text.size()))
      return;
    const std::string_view before = text;
    while (text.starts_with('(') || text.starts_with("&lt;"))
      text.remove_prefix(text[0] == '(' ? 1 : 4);
    out += before.substr(0, before.size() - text.size());
    std::string_view tail = text;
    while (!text.empty() &&
           (is_ascii_of(static_cast<unsigned char>(text.back()), ").,") || text.ends_with("&gt;")))
      text.remove_suffix(text.back() == ';' ? 4 : 1);
    tail.remove_prefix(text.size());
    const std::size_t moved = balanced(text, tail);
    middle({text.data(), text.size() + moved}, out);
    out += tail.substr(moved);
  }

 private:
  void add_attribute(std::string_view name, const std::string& value) {
    attributes_ += fmt::format(" {}=\"", name);
    append_escaped(value, attributes_, run_);
    attributes_ += '"';
  }

  std::vector<std::string> iterate_schemes(const Value& value) {
    std::vector<std::string> schemes;
    if (value.is(Kind::none)) return schemes;
    for (const Value& one : iterate(value, run_)) {
      const std::string text = one.is(Kind::string) ? one.as_string() : "";
      const std::size_t colon = text.find(':');
      const std::string_view rest = colon == std::string::npos
                                        ? std::string_view("?")
                                        : std::string_view(text).substr(colon + 1);
      const bool good = run_.spend() && (rest.empty() || rest == "/" || rest == "//") &&
                        all_of(std::string_view(text).substr(0, colon), 2, SIZE_MAX,
                               [](auto c) { return is_word(c) || is_ascii_of(c, ".+-"); });
      if (!good) run_.raise(Code::corrupt, "urlize was given a scheme that is none.");
      schemes.push_back(text);
    }
    return schemes;
  }

  /// How much of the tail belongs to a word with open brackets.
  static std::size_t balanced(std::string_view text, std::string_view tail) {
    constexpr std::pair<std::string_view, std::string_view> kBrackets[] = {{"(", ")"},
                                                                           {"&lt;", "&gt;"}};
    std::size_t moved = 0;
    for (const auto& [open, close] : kBrackets) {
      const std::string_view whole(text.data(), text.size() + moved);
      const std::size_t opened = count(whole, open);
      if (opened <= count(whole, close)) continue;
      const std::size_t most = std::min(opened, count(tail.substr(moved), close));
      for (std::size_t i = 0; i < most; ++i) moved = tail.find(close, moved) + close.size();
    }
    return moved;
  }

  void link(std::string_view start, std::string_view address, std::string_view attributes,
            std::string_view shown, std::string& out) {
    if (!run_.take(2 * address.size() + attributes.size() + 32)) return;
    out += "<a href=\"";
    out.append(start).append(address).append("\"").append(attributes).append(">");
    out.append(shown).append("</a>");
  }

  void middle(std::string_view text, std::string& out) {
    const bool mail_scheme = text.starts_with("mailto:");
    if (is_link(text)) {
      const bool has_scheme = text.starts_with("https://") || text.starts_with("http://");
      std::string shown(text);
      if (limit_ && length(text) > *limit_) shown = shown.substr(0, byte_of(text, *limit_)) + "...";
      return link(has_scheme ? "" : "https://", text, attributes_, shown, out);
    }
    if (mail_scheme && is_mail(text.substr(7))) return link("", text, "", text.substr(7), out);
    const bool mail = text.find('@') != std::string_view::npos && !text.starts_with("www.") &&
                      text[0] != '@' && text.find(':') == std::string_view::npos && is_mail(text);
    if (mail) return link("mailto:", text, "", text, out);
    std::string linked(text);
    for (const std::string& scheme : schemes_) {
      if (linked == scheme || !linked.starts_with(scheme)) continue;
      std::string outer;
      link("", linked, attributes_, linked, outer);
      linked = std::move(outer);
    }
    out += linked;
  }

  Interpreter& run_;
  std::optional<std::size_t> limit_;
  std::string attributes_;
  std::vector<std::string> schemes_;
};

}  // namespace

Value urlize(Interpreter& run, const Value& input, const Arguments& arguments) {
  std::string text;
  append_escaped(to_text(input, run), text, run);
  Linker linker(run, arguments);
  std::string out;
  std::size_t start = 0;
  for (std::size_t position = 0; position <= text.size() && !run.failed();) {
    const std::size_t at = position;
    const bool end = at == text.size();
    if (!end && !is_space(next_utf8(text, position))) continue;
    if (at > start) linker.word(std::string_view(text).substr(start, at - start), out);
    if (end) break;
    out += std::string_view(text).substr(at, position - at);
    start = position;
  }
  return run.text(std::move(out));
}

}  // namespace tacet::jinja::filters
