#include "runtime/text_stream.hpp"

#include <gtest/gtest.h>

namespace tacet {
namespace {

using Strings = std::vector<std::string>;

struct Fed {
  Strings delivered;
  bool stopped = false;
};

/// Feeds the bytes of `text` in pieces of `size`; flushes at the end.
Fed feed(std::string_view text, std::size_t size, const Strings& stop) {
  TextStream stream;
  Fed fed;
  for (std::size_t at = 0; at < text.size() && !fed.stopped; at += size) {
    TextStream::Step step = stream.feed(text.substr(at, size), stop);
    if (!step.text.empty()) fed.delivered.push_back(step.text);
    fed.stopped = step.stopped;
  }
  if (!fed.stopped)
    if (std::string end = stream.flush(); !end.empty()) fed.delivered.push_back(std::move(end));
  return fed;
}

std::string joined(const Strings& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

TEST(TextStream, DeliversWholeCharacters) {
  const std::string text = "a\u00e9\u20ac\U0001F999z";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const Fed fed = feed(text, size, {});
    EXPECT_EQ(joined(fed.delivered), text);
    for (const std::string& part : fed.delivered)
      EXPECT_NE(static_cast<unsigned char>(part[0]) & 0xc0, 0x80) << size;
  }
  EXPECT_EQ(feed("ab", 1, {}).delivered, (Strings{"a", "b"})) << "nothing is held back";
}

TEST(TextStream, StopStringsEndTheTextWhereverTheyAreCut) {
  for (std::size_t size = 1; size <= 12; ++size) {
    Fed fed = feed("one two three", size, {"two", " thr"});
    EXPECT_TRUE(fed.stopped);
    EXPECT_EQ(joined(fed.delivered), "one ") << size;
    fed = feed("abababc!", size, {"ababc"});
    EXPECT_TRUE(fed.stopped);
    EXPECT_EQ(joined(fed.delivered), "ab") << size;
    fed = feed("ababab", size, {"ababc", ""});
    EXPECT_FALSE(fed.stopped);
    EXPECT_EQ(joined(fed.delivered), "ababab") << size;
  }
}

TEST(TextStream, OnlyWhatMayBecomeAStopStringWaits) {
  TextStream stream;
  const Strings stop = {"END"};
  EXPECT_EQ(stream.feed("an EN", stop).text, "an ");
  EXPECT_EQ(stream.pending(), "EN");
  EXPECT_EQ(stream.feed("E", stop).text, "EN");
  EXPECT_EQ(stream.take_held(), "E");
  EXPECT_EQ(stream.pending(), "");
}

TEST(TextStream, ACharacterThatIsNeverCompleteIsReplaced) {
  TextStream stream;
  EXPECT_EQ(stream.feed("x\xe2\x82", {}).text, "x");
  EXPECT_EQ(stream.pending(), "\xe2\x82");
  EXPECT_EQ(stream.take_held(), "") << "its bytes stay";
  EXPECT_EQ(stream.flush(), "\uFFFD");
}

}  // namespace
}  // namespace tacet
