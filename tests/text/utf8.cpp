#include "text/utf8.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tacet {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

std::string whole(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.feed(bytes);
  return text + stream.flush();
}

TEST(Utf8Stream, yields_whole_characters_only) {
  Utf8Stream stream;
  EXPECT_EQ(stream.feed("a\xF0"), "a");
  EXPECT_EQ(stream.feed("\x9F"), "");
  EXPECT_EQ(stream.pending(), "\xF0\x9F");
  EXPECT_EQ(stream.feed("\xA6"), "");
  EXPECT_EQ(stream.feed("\x99z"), "\xF0\x9F\xA6\x99z");
  EXPECT_EQ(stream.pending(), "");
  EXPECT_EQ(stream.flush(), "");
}

TEST(Utf8Stream, copies_roll_back) {
  Utf8Stream stream;
  stream.feed("\xE2\x82");
  const Utf8Stream before = stream;
  EXPECT_EQ(stream.feed("x"), kBad + "x");
  stream = before;
  EXPECT_EQ(stream.feed("\xAC"), "\xE2\x82\xAC");
}

TEST(Utf8Stream, replaces_maximal_subparts) {
  // Unicode 15, tables 3-8 to 3-11.
  EXPECT_EQ(whole("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            kBad + kBad + kBad + kBad + kBad + kBad + kBad + kBad + "A");
  EXPECT_EQ(whole("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            kBad + kBad + kBad + kBad + kBad + kBad + kBad + kBad + "A");
  EXPECT_EQ(whole("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            kBad + kBad + kBad + kBad + kBad + "A" + kBad + kBad + "B");
  EXPECT_EQ(whole("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), kBad + kBad + kBad + kBad + "A");
  EXPECT_EQ(whole("\xF0\x9F\xA6"), kBad);
  EXPECT_EQ(whole("\xE2\x82"), kBad);
}

TEST(Utf8Stream, does_not_depend_on_the_cuts) {
  std::mt19937 random(7);
  // Bytes that begin and continue characters of every length, so that many are nearly right.
  const std::string alphabet = "a\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xE0\xE2\xED\xF0\xF1\xF4\xF5\xFF";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 24; ++i) bytes += alphabet[random() % alphabet.size()];
    const std::string expected = whole(bytes);
    ASSERT_EQ(valid_utf8_prefix(expected), expected.size());
    Utf8Stream stream;
    std::string text;
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t size = 1 + random() % 4;
      const std::string piece = stream.feed(std::string_view(bytes).substr(i, size));
      ASSERT_EQ(valid_utf8_prefix(piece), piece.size());
      text += piece;
      i += size;
    }
    ASSERT_EQ(text + stream.flush(), expected);
  }
}

TEST(CheckUtf8, names_the_offset) {
  EXPECT_TRUE(check_utf8("").has_value());
  EXPECT_TRUE(check_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA6\x99").has_value());
  for (const auto& [text, offset] :
       std::vector<std::pair<std::string, int>>{{"abc\xFF", 3},
                                                {"\xC3", 0},
                                                {"é\xED\xA0\x80", 2},
                                                {"ab\xF4\x90\x80\x80", 2},
                                                {"a\xC0\x80", 1}}) {
    const auto result = check_utf8(text);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), Code::invalid_argument);
    EXPECT_NE(result.error().message().find("byte " + std::to_string(offset) + " "),
              std::string_view::npos)
        << result.error().message();
  }
}

TEST(CodePoints, survive_a_round_trip) {
  for (const std::uint32_t code :
       {0x0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    std::string text;
    append_utf8(code, text);
    std::size_t position = 0;
    EXPECT_EQ(next_utf8(text, position), code);
    EXPECT_EQ(position, text.size());
  }
  std::string surrogate;
  append_utf8(0xD800, surrogate);
  append_utf8(0x110000, surrogate);
  EXPECT_EQ(surrogate, kBad + kBad);
}

}  // namespace
}  // namespace tacet
