#include "text/sentence_pieces.hpp"

#include "formats/gguf/value.hpp"
#include "text/token_table.hpp"

namespace tacet {

std::string sentence_piece_bytes(std::string_view text, TokenType type) {
  const int byte = type == TokenType::byte ? named_byte(text) : -1;
  if (byte >= 0) return std::string(1, static_cast<char>(byte));
  std::string bytes;
  std::size_t from = 0;
  while (true) {
    const std::size_t mark = text.find(kSpaceMark, from);
    bytes += text.substr(from, mark - from);
    if (mark == std::string_view::npos) return bytes;
    bytes += ' ';
    from = mark + kSpaceMark.size();
  }
}

Result<void> UnknownWriter::write(std::string_view character,
                                  std::vector<std::int32_t>& ids) const {
  if (as_bytes_) {
    for (const char c : character) ids.push_back(byte_ids_[static_cast<std::uint8_t>(c)]);
    return {};
  }
  if (!unknown_) {
    return fail(Code::unsupported,
                "The vocabulary has no token for the character {}; leave it out.",
                quoted(character));
  }
  if (ids.size() == start_ || ids.back() != *unknown_) ids.push_back(*unknown_);
  return {};
}

}  // namespace tacet
