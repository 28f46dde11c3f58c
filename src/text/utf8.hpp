#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"

namespace tacet {

/// Makes whole characters of bytes that arrive in pieces, as tokens do. Bytes that can not belong
/// to a character become U+FFFD, one for each maximal subpart (Unicode 15, 3.9, "U+FFFD
/// Substitution of Maximal Subparts"), so that the text does not depend on where the pieces were
/// cut. A small value: copy it to commit or roll back. One thread at a time.
class Utf8Stream {
 public:
  /// Takes `bytes` and appends to `out` the characters that are complete now.
  void feed(std::string_view bytes, std::string& out);
  /// As above, as a new string.
  std::string feed(std::string_view bytes);
  /// The end of the text: a character that never became complete gives one U+FFFD, otherwise
  /// nothing.
  std::string flush();
  /// The bytes of a character that is not complete yet (0 to 3).
  std::string_view pending() const noexcept { return {pending_.data(), size_}; }

 private:
  std::array<char, 3> pending_{};
  std::uint8_t size_ = 0;
};

static_assert(std::is_trivially_copyable_v<Utf8Stream>);

/// The length of the longest prefix of `text` that is valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text) noexcept;

/// Fails with invalid_argument, naming the offset of the first bad byte, if `text` is not valid
/// UTF-8.
Result<void> check_utf8(std::string_view text);

/// Appends the UTF-8 form of a code point; U+FFFD if it is a surrogate or above U+10FFFF.
void append_utf8(std::uint32_t code_point, std::string& out);

/// The code point at `text[position]`, which moves behind it. `text` must be valid UTF-8 and
/// `position` the start of a character.
std::uint32_t next_utf8(std::string_view text, std::size_t& position) noexcept;

}  // namespace tacet
