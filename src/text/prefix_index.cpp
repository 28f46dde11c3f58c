#include "text/prefix_index.hpp"

#include <algorithm>
#include <string_view>

namespace tacet {

PrefixIndex::PrefixIndex(const TokenTable& tokens) : texts_(&tokens.texts) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (tokens.ordinary(id) && !tokens.texts[i].empty()) ids_.push_back(id);
  }
  const auto of = [this](std::int32_t id) { return (*texts_)[static_cast<std::size_t>(id)]; };
  std::stable_sort(ids_.begin(), ids_.end(),
                   [&](std::int32_t a, std::int32_t b) { return of(a) < of(b); });
  const auto same = [&](std::int32_t a, std::int32_t b) { return of(a) == of(b); };
  ids_.erase(std::unique(ids_.begin(), ids_.end(), same), ids_.end());
  std::size_t index = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    starts_[byte] = index;
    while (index < ids_.size() && static_cast<unsigned char>(text(index)[0]) == byte) ++index;
  }
  starts_[256] = ids_.size();
}

bool PrefixIndex::advance(Cursor& cursor, char byte) const noexcept {
  const auto wanted = static_cast<unsigned char>(byte);
  if (cursor.depth == 0) {
    cursor = {starts_[wanted], starts_[wanted + std::size_t{1}], 1};
    return cursor.begin < cursor.end;
  }
  const std::size_t depth = cursor.depth++;
  // Only the first can end here.
  if (cursor.begin < cursor.end && text(cursor.begin).size() == depth) ++cursor.begin;
  const auto bound = [&](auto&& before) {
    std::size_t low = cursor.begin;
    std::size_t high = cursor.end;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const bool left = before(static_cast<unsigned char>(text(middle)[depth]));
      (left ? low : high) = left ? middle + 1 : middle;
    }
    return low;
  };
  cursor.begin = bound([&](unsigned char c) { return c < wanted; });
  cursor.end = bound([&](unsigned char c) { return c <= wanted; });
  return cursor.begin < cursor.end;
}

std::optional<std::int32_t> PrefixIndex::token(const Cursor& cursor) const noexcept {
  if (cursor.depth == 0 || cursor.begin == cursor.end) return std::nullopt;
  if (text(cursor.begin).size() != cursor.depth) return std::nullopt;
  return ids_[cursor.begin];
}

}  // namespace tacet
