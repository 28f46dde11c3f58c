#include "text/jinja/text_functions.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "text/jinja/strings.hpp"
#include "text/utf8.hpp"

namespace tacet::jinja {
namespace {

/// The size of the word that `text` starts with.
std::size_t first_word(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    std::size_t behind = position;
    if (is_space(next_utf8(text, behind))) break;
    position = behind;
  }
  return position;
}

/// The size of the word that `text` ends with.
std::size_t last_word(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0) {
    std::size_t character = start - 1;
    while (character > 0 && (static_cast<unsigned char>(text[character]) & 0xC0) == 0x80) {
      --character;
    }
    std::size_t position = character;
    if (is_space(next_utf8(text, position))) break;
    start = character;
  }
  return text.size() - start;
}

bool is_cased(std::uint32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return false;
  }
}

}  // namespace

Value split_space(std::string_view text, std::int64_t limit, bool from_right, Meter& meter) {
  std::vector<Value> parts;
  if (!meter.spend(1 + text.size() / 16)) return {};
  std::string_view rest = text;
  for (std::int64_t count = 0; meter.spend(); ++count) {
    rest = from_right ? strip_right(rest) : strip_left(rest);
    if (rest.empty()) break;
    const bool all = limit >= 0 && count == limit;
    const std::size_t size = all ? rest.size() : from_right ? last_word(rest) : first_word(rest);
    const std::size_t start = from_right ? rest.size() - size : 0;
    parts.push_back(meter.text(std::string(rest.substr(start, size))));
    rest = from_right ? rest.substr(0, start) : rest.substr(size);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return meter.list(std::move(parts));
}

Value split_text(std::string_view text, std::string_view separator, std::int64_t limit,
                 bool from_right, Meter& meter) {
  if (!meter.spend_search(text.size(), separator.size())) return {};
  std::vector<Value> parts;
  for (std::int64_t count = 0; limit < 0 || count < limit; ++count) {
    const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    const std::string_view before = text.substr(0, at);
    const std::string_view behind = text.substr(at + separator.size());
    parts.push_back(meter.text(std::string(from_right ? behind : before)));
    text = from_right ? before : behind;
    if (!meter.spend()) return {};
  }
  parts.push_back(meter.text(std::string(text)));
  if (from_right) std::reverse(parts.begin(), parts.end());
  return meter.list(std::move(parts));
}

Value replaced(std::string_view text, std::string_view before, std::string_view after,
               std::int64_t count, Meter& meter) {
  if (!meter.spend_search(text.size(), before.size())) return {};
  std::string result;
  std::size_t position = 0;
  std::size_t search = 0;
  for (std::int64_t done = 0; (count < 0 || done < count) && search <= text.size(); ++done) {
    const std::size_t at = text.find(before, search);
    if (at == std::string_view::npos) break;
    if (!meter.spend() || !meter.take(at - position + after.size())) return {};
    result += text.substr(position, at - position);
    result += after;
    position = at + before.size();
    search = position;
    if (before.empty()) {  // stands before every character and at the end
      std::size_t behind = at;
      if (at < text.size()) next_utf8(text, behind);
      search = at < text.size() ? behind : text.size() + 1;
    }
  }
  if (!meter.take(text.size())) return {};
  result += text.substr(position);
  return meter.text(std::move(result));
}

Line first_line(std::string_view text) noexcept {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t start = position;
    const std::uint32_t c = next_utf8(text, position);
    const bool ends = (c >= 0xA && c <= 0xD) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                      c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    const bool pair = c == '\r' && text.substr(position).starts_with('\n');
    return {text.substr(0, start), position + (pair ? 1 : 0)};
  }
  return {text, text.size()};
}

std::string title(std::string_view text) {
  std::string result;
  bool in_word = false;
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    const std::uint32_t character = next_utf8(text, position);
    const std::string_view piece = text.substr(start, position - start);
    result += in_word ? lower(piece) : capitalize(piece);
    in_word = is_cased(character);
  }
  return result;
}

Value entries_of(const Value& dict, Meter& meter) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : dict.entries()) {
    if (!meter.spend()) return {};
    pairs.push_back(meter.tuple({key, value}));
  }
  return meter.list(std::move(pairs));
}

}  // namespace tacet::jinja
