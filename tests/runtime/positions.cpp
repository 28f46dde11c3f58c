#include "runtime/positions.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tacet {
namespace {

std::vector<std::int32_t> first(const Positions& positions, std::uint32_t count) {
  std::vector<std::int32_t> all;
  for (std::uint32_t cell = 0; cell < count; ++cell) all.push_back(positions[cell]);
  return all;
}

using Numbers = std::vector<std::int32_t>;

TEST(Positions, ArePlainAtFirst) {
  Positions positions(8);
  EXPECT_EQ(first(positions, 4), (Numbers{0, 1, 2, 3}));
  EXPECT_TRUE(positions.plain(8));
  EXPECT_TRUE(positions.of_run(8).empty());
}

TEST(Positions, KeepGapsAndCloseThem) {
  const Positions plain(12);
  Positions gap = plain.without(2, 5, 8, false);
  EXPECT_EQ(first(gap, 7), (Numbers{0, 1, 5, 6, 7, 8, 9}));
  EXPECT_EQ(gap.plain_cells(), 2U);
  EXPECT_TRUE(gap.plain(2));
  EXPECT_FALSE(gap.plain(3));
  EXPECT_EQ(gap.of_run(7).size(), 7U);
  EXPECT_EQ(gap.of_run(7)[6], 9);

  EXPECT_EQ(first(plain.without(2, 5, 8, true), 7), (Numbers{3, 4, 5, 6, 7, 8, 9}));
  // An earlier gap stays when a later one is closed.
  EXPECT_EQ(first(gap.without(3, 4, 6, true), 5), (Numbers{1, 2, 6, 7, 8}));
}

TEST(Positions, GoOnBehindATruncation) {
  Positions gap = Positions(12).without(2, 5, 8, false);
  gap.of_run(10);
  gap.truncate(4);
  EXPECT_EQ(first(gap, 6), (Numbers{0, 1, 5, 6, 7, 8}));
  gap.truncate(2);
  EXPECT_TRUE(gap.plain(12));
  EXPECT_EQ(first(gap, 4), (Numbers{0, 1, 2, 3}));
}

TEST(Positions, ACopyHasRoomOfItsOwn) {
  Positions gap = Positions(100).without(2, 5, 8, false);
  Positions copy(gap);
  const auto view = copy.of_run(7);
  EXPECT_EQ(copy.of_run(90).data(), view.data()) << "views of runs in flight stay valid";
  EXPECT_EQ(first(copy, 90), first(gap, 90));
}

TEST(Positions, AWindowSeesByPosition) {
  const Positions plain(20);
  EXPECT_EQ(plain.first_seen(9, 0), 0U);
  EXPECT_EQ(plain.first_seen(9, 4), 6U);
  EXPECT_EQ(plain.first_seen(2, 4), 0U);
  const Positions gap = plain.without(2, 8, 12, false);  // 0 1 8 9 10 11
  EXPECT_EQ(gap.first_seen(3, 4), 2U);
  EXPECT_EQ(gap.first_seen(3, 9), 1U);
  EXPECT_EQ(gap.first_seen(3, 10), 0U);
}

TEST(Positions, End) {
  EXPECT_TRUE(Positions(8).have_room(8, 1000));
  const std::int32_t last = std::numeric_limits<std::int32_t>::max() - 5;
  const Positions late(8, Numbers{last - 1, last});
  EXPECT_TRUE(late.have_room(2, 5));
  EXPECT_FALSE(late.have_room(2, 6));
}

}  // namespace
}  // namespace tacet
