#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/utf8.hpp"

namespace tacet {

/// The text side of generation: makes whole characters of token bytes and holds back what may be
/// the beginning of a stop string. A small value: copied to stage a token, kept or dropped with it.
class TextStream {
 public:
  struct Step {
    std::string text;      ///< to deliver now
    bool stopped = false;  ///< a stop string came up; it and what follows are dropped
  };

  /// Takes the bytes of the next token.
  Step feed(std::string_view bytes, std::span<const std::string> stop);
  /// What was held back for a stop string; bytes of an unfinished character stay.
  std::string take_held();
  /// The end of an answer: delivers what was held back, an unfinished character as U+FFFD.
  std::string flush();

  /// The two parts of what waits: text that may begin a stop string, bytes of an unfinished
  /// character.
  std::string_view held() const noexcept { return held_; }
  std::string_view character() const noexcept { return utf8_.pending(); }
  static TextStream restore(std::string_view held, std::string_view character);
  /// What waits to be delivered.
  std::string pending() const { return held_ + std::string(utf8_.pending()); }

 private:
  Utf8Stream utf8_;
  std::string held_;  ///< could become a stop string
};

}  // namespace tacet
