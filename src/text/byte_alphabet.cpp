#include "text/byte_alphabet.hpp"

#include <array>

#include "text/utf8.hpp"

namespace tacet {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<std::uint16_t, 256> make_characters() {
  std::array<std::uint16_t, 256> characters{};
  std::uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? static_cast<std::uint16_t>(byte) : next++;
  }
  return characters;
}

constexpr std::array<std::uint16_t, 256> kCharacters = make_characters();
constexpr std::size_t kEnd = 0x144;  // behind the last character in use

constexpr std::array<std::int16_t, kEnd> make_bytes() {
  std::array<std::int16_t, kEnd> bytes{};
  for (std::int16_t& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[kCharacters[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}

constexpr std::array<std::int16_t, kEnd> kBytes = make_bytes();

}  // namespace

std::uint32_t byte_to_character(std::uint8_t byte) noexcept {
  return kCharacters[byte];
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    append_utf8(byte_to_character(static_cast<std::uint8_t>(byte)), text);
  }
  return text;
}

std::string from_byte_alphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    const std::uint32_t character = next_utf8(text, position);
    if (character < kEnd && kBytes[character] >= 0) {
      bytes += static_cast<char>(kBytes[character]);
    } else {
      bytes += text.substr(start, position - start);
    }
  }
  return bytes;
}

}  // namespace tacet
