#include "text/utf8.hpp"

#include <algorithm>

namespace tacet {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::uint8_t byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<std::uint8_t>(text[index]);
}

/// The size of the character that `lead` opens; 0 if it opens none.
std::size_t sequence_size(std::uint8_t lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// Whether `next` may stand behind `lead` (Unicode 15, table 3-7).
bool may_follow(std::uint8_t lead, std::uint8_t next) noexcept {
  switch (lead) {
    case 0xE0:
      return next >= 0xA0 && next <= 0xBF;
    case 0xED:
      return next >= 0x80 && next <= 0x9F;
    case 0xF0:
      return next >= 0x90 && next <= 0xBF;
    case 0xF4:
      return next >= 0x80 && next <= 0x8F;
    default:
      return next >= 0x80 && next <= 0xBF;
  }
}

struct Piece {
  std::size_t size;  ///< bytes that belong together
  enum class State { whole, broken, open } state;
};

/// The character, or maximal subpart of one, that `text` starts with.
Piece first_piece(std::string_view text) noexcept {
  const std::uint8_t lead = byte_at(text, 0);
  const std::size_t size = sequence_size(lead);
  if (size == 0) return {1, Piece::State::broken};
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {i, Piece::State::open};
    const std::uint8_t next = byte_at(text, i);
    const bool good = i == 1 ? may_follow(lead, next) : (next & 0xC0) == 0x80;
    if (!good) return {i, Piece::State::broken};
  }
  return {size, Piece::State::whole};
}

}  // namespace

void Utf8Stream::feed(std::string_view bytes, std::string& out) {
  // The pending bytes are followed by at most three more: enough to end any character.
  while (size_ > 0 && !bytes.empty()) {
    std::array<char, 4> joined{};
    std::copy_n(pending_.begin(), size_, joined.begin());
    const std::size_t taken = std::min(bytes.size(), joined.size() - size_);
    std::copy_n(bytes.begin(), taken, joined.begin() + size_);
    const std::string_view view(joined.data(), size_ + taken);
    const Piece piece = first_piece(view);
    if (piece.state == Piece::State::open) {
      std::copy(view.begin(), view.end(), pending_.begin());
      size_ = static_cast<std::uint8_t>(view.size());
      return;
    }
    out += piece.state == Piece::State::whole ? view.substr(0, piece.size) : kReplacement;
    bytes.remove_prefix(piece.size - size_);  // what is pending could still be completed
    size_ = 0;
  }
  while (!bytes.empty()) {
    const std::size_t valid = valid_utf8_prefix(bytes);
    out += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    const Piece piece = first_piece(bytes);
    if (piece.state == Piece::State::open) {
      std::copy(bytes.begin(), bytes.end(), pending_.begin());
      size_ = static_cast<std::uint8_t>(bytes.size());
      return;
    }
    out += kReplacement;
    bytes.remove_prefix(piece.size);
  }
}

std::string Utf8Stream::feed(std::string_view bytes) {
  std::string out;
  feed(bytes, out);
  return out;
}

std::string Utf8Stream::flush() {
  const bool cut = size_ > 0;
  size_ = 0;
  return cut ? std::string(kReplacement) : std::string();
}

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t position = 0;
  while (position < text.size()) {
    if (byte_at(text, position) < 0x80) {
      ++position;
      continue;
    }
    const Piece piece = first_piece(text.substr(position));
    if (piece.state != Piece::State::whole) break;
    position += piece.size;
  }
  return position;
}

Result<void> check_utf8(std::string_view text) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return {};
  return fail(Code::invalid_argument,
              "The text is not valid UTF-8 at byte {} (0x{:02X}); convert it to UTF-8 first.",
              valid, byte_at(text, valid));
}

void append_utf8(std::uint32_t code_point, std::string& out) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
    out += kReplacement;
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::uint32_t next_utf8(std::string_view text, std::size_t& position) noexcept {
  const std::uint8_t lead = byte_at(text, position++);
  if (lead < 0xC0) return lead;
  const std::size_t size = sequence_size(lead);
  std::uint32_t code_point = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size && position < text.size(); ++i) {
    code_point = (code_point << 6) | (byte_at(text, position++) & 0x3FU);
  }
  return code_point;
}

}  // namespace tacet
