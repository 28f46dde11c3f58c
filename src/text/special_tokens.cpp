#include "text/special_tokens.hpp"

#include <algorithm>

namespace tacet {

SpecialTokens::SpecialTokens(std::vector<std::pair<std::string, std::int32_t>> tokens)
    : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const auto& token) { return token.first.empty(); });
  std::sort(tokens_.begin(), tokens_.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());

  starts_.assign(257, tokens_.size());
  for (std::size_t i = tokens_.size(); i-- > 0;) {
    starts_[static_cast<unsigned char>(tokens_[i].first[0])] = i;
  }
  for (std::size_t byte = 256; byte-- > 0;) {
    starts_[byte] = std::min(starts_[byte], starts_[byte + 1]);
  }

  std::vector<std::size_t> open;  // tokens that begin the present one, shortest first
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    while (!open.empty() && !tokens_[i].first.starts_with(tokens_[open.back()].first)) {
      open.pop_back();
    }
    if (open.empty()) {
      ancestors_.push_back({i, i, 0});
    } else {
      const std::size_t parent = open.back();
      const std::size_t jump = ancestors_[parent].jump;
      const std::size_t beyond = ancestors_[jump].jump;
      const std::size_t depth = ancestors_[parent].depth;
      const bool even =
          depth - ancestors_[jump].depth == ancestors_[jump].depth - ancestors_[beyond].depth;
      ancestors_.push_back({parent, even ? beyond : parent, depth + 1});
    }
    open.push_back(i);
  }
}

std::size_t SpecialTokens::shortened(std::size_t index, std::size_t size) const noexcept {
  while (tokens_[index].first.size() > size && ancestors_[index].parent != index) {
    const std::size_t jump = ancestors_[index].jump;
    index = tokens_[jump].first.size() > size ? jump : ancestors_[index].parent;
  }
  return index;
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, std::size_t from) const noexcept {
  for (std::size_t offset = from; offset < text.size() && !tokens_.empty(); ++offset) {
    const auto byte = static_cast<unsigned char>(text[offset]);
    const std::size_t begin = starts_[byte];
    const std::size_t end = starts_[byte + std::size_t{1}];
    if (begin == end) continue;
    const std::string_view rest = text.substr(offset);
    // The last token that is not behind `rest` in order: it, or one that begins it, is the longest
    // match.
    const auto above = std::upper_bound(
        tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
        tokens_.begin() + static_cast<std::ptrdiff_t>(end), rest,
        [](std::string_view value, const auto& token) { return value < token.first; });
    std::size_t index = static_cast<std::size_t>(above - tokens_.begin());
    if (index == begin) continue;
    --index;
    const std::string_view last = tokens_[index].first;
    const auto common = std::mismatch(last.begin(), last.end(), rest.begin(), rest.end()).first;
    index = shortened(index, static_cast<std::size_t>(common - last.begin()));
    if (rest.starts_with(tokens_[index].first)) {
      return {offset, tokens_[index].first.size(), tokens_[index].second};
    }
  }
  return {text.size(), 0, -1};
}

}  // namespace tacet
