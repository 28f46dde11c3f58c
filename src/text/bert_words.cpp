#include "text/bert_words.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "text/utf8.hpp"

namespace tacet {
namespace {

constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 8> kChinese = {{
    {0x4E00, 0x9FFF},
    {0x3400, 0x4DBF},
    {0x20000, 0x2A6DF},
    {0x2A700, 0x2B73F},
    {0x2B740, 0x2B81F},
    {0x2B820, 0x2CEAF},
    {0xF900, 0xFAFF},
    {0x2F800, 0x2FA1F},
}};

bool is_chinese(std::uint32_t c) noexcept {
  return std::any_of(kChinese.begin(), kChinese.end(),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

utf8proc_category_t category(std::uint32_t c) noexcept {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_space(std::uint32_t c) noexcept {
  const auto kind = category(c);
  return c == '\t' || c == '\n' || c == '\r' || kind == UTF8PROC_CATEGORY_ZS ||
         kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_left_out(std::uint32_t c) noexcept {
  if (c == 0xFFFD) return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
      return true;
    default:
      return false;
  }
}

bool is_punctuation(std::uint32_t c) noexcept {
  if (c < 0x80) {
    return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
           (c >= 0x7B && c <= 0x7E);
  }
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

/// Takes characters one by one, in the form that the vocabulary has.
class Words {
 public:
  void add(std::uint32_t c) {
    if (is_space(c)) {
      open_ = false;
      return;
    }
    const bool alone = is_punctuation(c) || is_chinese(c);
    if (!open_ || alone) words_.emplace_back();
    append_utf8(c, words_.back().text);
    ++words_.back().characters;
    open_ = !alone;
  }
  std::vector<BertWord> take() { return std::move(words_); }

 private:
  std::vector<BertWord> words_;
  bool open_ = false;  // the last word may go on
};

/// The canonical decomposition of one character.
std::span<const utf8proc_int32_t> decomposed(std::uint32_t c,
                                             std::array<utf8proc_int32_t, 32>& buffer) noexcept {
  int last_class = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(),
                                             static_cast<utf8proc_ssize_t>(buffer.size()),
                                             UTF8PROC_DECOMPOSE, &last_class);
  if (count > 0 && static_cast<std::size_t>(count) <= buffer.size()) {
    return std::span(buffer).first(static_cast<std::size_t>(count));
  }
  buffer[0] = static_cast<utf8proc_int32_t>(c);
  return std::span(buffer).first(1);
}

}  // namespace

std::vector<BertWord> bert_words(std::string_view text, BertLetters letters, StopPoll& poll) {
  Words words;
  std::array<utf8proc_int32_t, 32> buffer;
  std::size_t position = 0;
  while (position < text.size() && !poll.fired()) {
    const std::uint32_t c = next_utf8(text, position);
    if (is_left_out(c) && !is_space(c)) continue;
    const auto add = [&](std::uint32_t one) {
      words.add(letters.lowercase ? static_cast<std::uint32_t>(
                                        utf8proc_tolower(static_cast<utf8proc_int32_t>(one)))
                                  : one);
    };
    if (!letters.strip_accents) {
      add(c);
      continue;
    }
    // Marks go, so their order within a character does not matter.
    for (const utf8proc_int32_t part : decomposed(c, buffer)) {
      const auto one = static_cast<std::uint32_t>(part);
      if (category(one) != UTF8PROC_CATEGORY_MN) add(one);
    }
  }
  return words.take();
}

}  // namespace tacet
