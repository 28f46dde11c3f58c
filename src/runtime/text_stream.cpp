#include "runtime/text_stream.hpp"

#include <algorithm>

namespace tacet {

TextStream::Step TextStream::feed(std::string_view bytes, std::span<const std::string> stop) {
  utf8_.feed(bytes, held_);
  std::size_t found = std::string::npos;
  std::size_t keep = 0;  // the longest end of the text that begins a stop string
  for (const std::string& s : stop) {
    if (s.empty()) continue;
    found = std::min(found, held_.find(s));
    for (std::size_t n = std::min(s.size() - 1, held_.size()); n > keep; --n)
      if (std::string_view(held_).substr(held_.size() - n) == std::string_view(s).substr(0, n))
        keep = n;
  }
  Step step;
  if (found != std::string::npos) {
    step.text = held_.substr(0, found);
    step.stopped = true;
    held_.clear();
    utf8_ = {};
    return step;
  }
  // A stop string may begin inside a character's bytes only if it is not UTF-8 itself; whole
  // characters are delivered.
  std::size_t cut = held_.size() - keep;
  while (cut > 0 && cut < held_.size() && (static_cast<unsigned char>(held_[cut]) & 0xc0) == 0x80)
    --cut;
  step.text = held_.substr(0, cut);
  held_.erase(0, cut);
  return step;
}

TextStream TextStream::restore(std::string_view held, std::string_view character) {
  TextStream stream;
  stream.held_ = held;
  std::string whole;  // nothing of what `character` gave
  stream.utf8_.feed(character, whole);
  return stream;
}

std::string TextStream::take_held() {
  std::string text;
  text.swap(held_);
  return text;
}

std::string TextStream::flush() {
  held_.reserve(held_.size() + 4);  // if this throws, nothing is lost
  held_ += utf8_.flush();
  return take_held();
}

}  // namespace tacet
