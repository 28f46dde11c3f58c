#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tacet {

/// The replacements of characters that SentencePiece normalises text with ("precompiled charsmap"):
/// a double-array trie (Aoe 1989) of the texts to replace, and what stands for them. Immutable.
class Charsmap {
 public:
  /// One that replaces nothing.
  Charsmap() = default;
  /// Reads the bytes of a file: the trie's size in bytes (little-endian, 4 bytes), the trie, and
  /// strings that end with a zero byte. Fails with corrupt if the trie is longer than the bytes or
  /// the strings are not valid UTF-8.
  static Result<Charsmap> read(std::string_view bytes);

  struct Match {
    std::size_t size = 0;  ///< bytes that are replaced; 0: none
    std::string_view replacement;
  };
  /// The longest text to replace that `text` begins with, of at most 256 bytes. Fails with corrupt
  /// if the table points outside of itself.
  Result<Match> longest(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace tacet
