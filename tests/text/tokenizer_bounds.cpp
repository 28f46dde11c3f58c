// Vocabularies that are made to be slow take no longer than others.

#include <gtest/gtest.h>

#include <bit>
#include <ctime>
#include <string>
#include <vector>

#include "support/sanitizers.hpp"
#include "text/bpe.hpp"
#include "text/hash.hpp"
#include "text/piece_table.hpp"
#include "text/special_tokens.hpp"

namespace tacet {
namespace {

constexpr double kSlower = test::sanitizer_slowdown;

/// Seconds that this process has computed for.
class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t begin_ = std::clock();
};

PieceStore store_of(const std::vector<std::string>& texts) {
  PieceStore store;
  for (const std::string& text : texts) store.add(text);
  return store;
}

TokenTable normal_tokens(const std::vector<std::string>& texts) {
  return {.texts = PieceTable::build(store_of(texts)).value(),
          .types = std::vector(texts.size(), TokenType::normal),
          .scores = {},
          .unknown = {}};
}

TEST(TokenizerBounds, PairsThatDifferInHighBitsOnly) {
  constexpr std::size_t kFirsts = 8000;
  constexpr std::size_t kSeconds = 63;
  std::vector<std::string> texts;
  std::vector<std::string> merges;
  // Token 64 i is "a<i>"; behind it stands what it merges to.
  for (std::size_t i = 0; i < kFirsts; ++i) {
    const std::string first = "a" + std::to_string(i);
    texts.push_back(first);
    for (std::size_t k = 0; k < kSeconds; ++k) {
      const std::string second = "b" + std::to_string(k);
      texts.push_back(first + second);
      merges.push_back(first + " " + second);
    }
  }
  for (std::size_t k = 0; k < kSeconds; ++k) texts.push_back("b" + std::to_string(k));
  const TokenTable table = normal_tokens(texts);
  const Stopwatch watch;
  const auto bpe = Bpe::build(merges, table);
  EXPECT_LT(watch.seconds(), 2 * kSlower);
  ASSERT_TRUE(bpe.has_value());
  EXPECT_EQ(bpe->merge_count(), merges.size());
}

/// Pairs of numbers below `numbers` that fall into one slot of `slots`, `count` for each seed.
std::vector<std::pair<std::uint64_t, std::uint64_t>> colliding_pairs(std::uint64_t numbers,
                                                                     std::uint64_t slots,
                                                                     std::size_t count,
                                                                     std::uint64_t seeds) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::size_t wanted = pairs.size() + count;
    for (std::uint64_t i = 0; i < numbers && pairs.size() < wanted; ++i) {
      for (std::uint64_t k = 0; k < numbers && pairs.size() < wanted; ++k) {
        if ((hash_number(i << 32 | k, seed) & (slots - 1)) == 0) pairs.emplace_back(i, k);
      }
    }
  }
  return pairs;
}

TEST(TokenizerBounds, PairsThatCollide) {
  constexpr std::uint64_t kNumbers = 5000;
  const auto text = [](std::uint64_t i) { return "a" + std::to_string(i); };
  for (const std::uint64_t seeds : {std::uint64_t{1}, kHashSeeds}) {
    constexpr std::size_t kCount = 2 * kMaxProbes;
    const std::uint64_t slots = std::bit_ceil(seeds * kCount * 2 + 1);
    const auto pairs = colliding_pairs(kNumbers, slots, kCount, seeds);
    ASSERT_EQ(pairs.size(), seeds * kCount);
    std::vector<std::string> texts;
    std::vector<std::string> merges;
    for (std::uint64_t i = 0; i < kNumbers; ++i) texts.push_back(text(i));
    for (const auto& [first, second] : pairs) {
      texts.push_back(text(first) + text(second));
      merges.push_back(text(first) + " " + text(second));
    }
    const TokenTable table = normal_tokens(texts);
    const auto bpe = Bpe::build(merges, table);
    if (seeds == 1) {
      ASSERT_TRUE(bpe.has_value()) << "another seed helps";
      continue;
    }
    ASSERT_FALSE(bpe.has_value());
    EXPECT_EQ(bpe.error().code(), Code::corrupt);
    EXPECT_NE(bpe.error().message().find("slow"), std::string_view::npos);
  }
}

TEST(TokenizerBounds, TextsThatCollide) {
  for (const std::uint64_t seeds : {std::uint64_t{1}, kHashSeeds}) {
    constexpr std::size_t kCount = kMaxProbes + 8;
    const std::uint64_t slots = std::bit_ceil(seeds * kCount * 2 + 1);
    std::vector<std::string> texts;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const std::size_t wanted = texts.size() + kCount;
      for (std::uint64_t i = 0; texts.size() < wanted; ++i) {
        std::string text = std::to_string(seed) + " " + std::to_string(i);
        if ((hash_text(text, seed) & (slots - 1)) == 0) texts.push_back(std::move(text));
      }
    }
    const auto table = PieceTable::build(store_of(texts));
    ASSERT_EQ(table.has_value(), seeds == 1);
    if (!table) {
      EXPECT_EQ(table.error().code(), Code::corrupt);
      continue;
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(table->find(texts[i]), static_cast<std::int32_t>(i));
    }
  }
}

TEST(TokenizerBounds, SpecialTokensThatBeginEachOther) {
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  std::string token = "<";
  for (std::int32_t id = 0; id < 4000; ++id) tokens.emplace_back(token += 'a', id);
  const SpecialTokens special(tokens);
  std::string text;
  while (text.size() < (1U << 20)) text += "<ab";
  const Stopwatch watch;
  std::size_t found = 0;
  for (std::size_t position = 0; position < text.size(); ++found) {
    const SpecialTokens::Match match = special.find(text, position);
    if (match.size == 0) break;
    ASSERT_EQ(match.id, 0);
    position = match.offset + match.size;
  }
  EXPECT_EQ(found, text.size() / 3);
  EXPECT_LT(watch.seconds(), 1.5 * kSlower);
}

TEST(TokenizerBounds, TheLongestSpecialTokenIsFoundInAChain) {
  // Chains with gaps and branches, against a plain search.
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  for (const std::size_t size : {1U, 2U, 3U, 5U, 8U, 9U, 20U, 21U, 22U, 40U}) {
    const auto id = static_cast<std::int32_t>(size);
    tokens.emplace_back(std::string(size, 'a'), id);
    tokens.emplace_back(std::string(size, 'a') + "b", 100 + id);
    tokens.emplace_back(std::string(size, 'a') + "bc", 200 + id);
  }
  const SpecialTokens special(tokens);
  for (std::size_t size = 1; size < 50; ++size) {
    for (const char* end : {"", "b", "bc", "bd", "c"}) {
      const std::string text = std::string(size, 'a') + end;
      std::size_t longest = 0;
      for (const auto& [one, id] : tokens) {
        if (text.starts_with(one)) longest = std::max(longest, one.size());
      }
      EXPECT_EQ(special.find(text, 0).size, longest) << text;
    }
  }
}

}  // namespace
}  // namespace tacet
