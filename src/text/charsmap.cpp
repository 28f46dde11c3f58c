#include "text/charsmap.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace tacet {
namespace {

// What a file replaces and puts in its place is a few characters; more would let a small file make
// long work and long texts.
constexpr std::size_t kMostBytes = 256;

std::uint32_t read_u32(std::string_view bytes, std::size_t offset) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[offset + i]);
  }
  return value;
}

// A unit of the trie, as Darts-clone lays it out: a byte and a way to its children, or a value.
bool has_value(std::uint32_t unit) noexcept {
  return (unit >> 8 & 1U) != 0;
}
std::uint32_t value_of(std::uint32_t unit) noexcept {
  return unit & 0x7FFFFFFFU;
}
std::uint32_t label_of(std::uint32_t unit) noexcept {
  return unit & 0x800000FFU;
}
std::size_t offset_of(std::uint32_t unit) noexcept {
  return std::size_t{unit >> 10} << ((unit & 0x200U) >> 6);
}

tl::unexpected<Error> corrupt(std::string_view what) {
  return fail(Code::corrupt, "The table that normalises text {}; convert the model again.", what);
}

}  // namespace

Result<Charsmap> Charsmap::read(std::string_view bytes) {
  Charsmap map;
  if (bytes.empty()) return map;
  if (bytes.size() < 4) return corrupt("is shorter than its header");
  const std::size_t size = read_u32(bytes, 0);
  if (size % 4 != 0 || size > bytes.size() - 4) return corrupt("ends inside its trie");
  map.units_.reserve(size / 4);
  for (std::size_t offset = 4; offset < 4 + size; offset += 4) {
    map.units_.push_back(read_u32(bytes, offset));
  }
  map.replacements_ = bytes.substr(4 + size);
  if (valid_utf8_prefix(map.replacements_) != map.replacements_.size()) {
    return corrupt("has replacements that are not UTF-8");
  }
  return map;
}

Result<Charsmap::Match> Charsmap::longest(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  std::optional<std::size_t> found;
  std::size_t position = offset_of(units_[0]);
  for (std::size_t i = 0; i < std::min(text.size(), kMostBytes); ++i) {
    position ^= static_cast<std::uint8_t>(text[i]);
    if (position >= units_.size()) return corrupt("points outside of its trie");
    const std::uint32_t unit = units_[position];
    if (label_of(unit) != static_cast<std::uint8_t>(text[i])) break;
    position ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (position >= units_.size()) return corrupt("points outside of its trie");
    found = value_of(units_[position]);
    match.size = i + 1;
  }
  if (!found) return match;
  const std::size_t end = replacements_.find('\0', std::min(*found, replacements_.size()));
  if (end == std::string::npos) return corrupt("points outside of its replacements");
  match.replacement = std::string_view(replacements_).substr(*found, end - *found);
  const bool whole = valid_utf8_prefix(match.replacement) == match.replacement.size() &&
                     valid_utf8_prefix(text.substr(0, match.size)) == match.size;
  if (!whole) return corrupt("cuts characters apart");
  if (match.replacement.size() > kMostBytes) {
    return corrupt("has a replacement of more than 256 bytes");
  }
  return match;
}

}  // namespace tacet
