#include "checkers/history/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace assay {
namespace {

// Of the reference implementation: xoshiro256** seeded by four splitmix64 draws from 0.
TEST(Rng, DrawsWhatTheReferenceDraws) {
  Rng rng(0);
  EXPECT_EQ(rng.next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(rng.next(), 0xbf6e1f784956452au);
  EXPECT_EQ(rng.next(), 0x1a5f849d4933e6e0u);
}

TEST(Rng, ASeedRepeatsAndACopyRepeats) {
  Rng a(42);
  Rng b(42);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.next(), b.next());
  Rng copy = a;
  EXPECT_EQ(a.next(), copy.next());
  EXPECT_NE(Rng(1).next(), Rng(2).next());
}

TEST(Rng, StreamsAreIndependentOfDrawsElsewhere) {
  const Rng root(42);
  Rng kill = root.stream("nemesis/kill");
  Rng keys = root.stream("keys");
  const uint64_t first_key = Rng(42).stream("keys").next();
  kill.next();
  kill.next();
  EXPECT_EQ(keys.next(), first_key);
  EXPECT_NE(root.stream("a").next(), root.stream("b").next());
  EXPECT_NE(Rng(1).stream("a").next(), Rng(2).stream("a").next());
}

TEST(Rng, DrawsStayInRangeAndReachBothEnds) {
  Rng rng(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) {
    const int64_t draw = rng.between(-3, 3);
    ASSERT_GE(draw, -3);
    ASSERT_LE(draw, 3);
    ++counts[draw + 3];
  }
  for (int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(rng.between(5, 5), 5);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) hits += rng.chance(1, 4) ? 1 : 0;
  EXPECT_NEAR(hits, 2'500, 200);
  EXPECT_FALSE(rng.chance(0, 4));
  EXPECT_TRUE(rng.chance(4, 4));
}

TEST(Rng, ShufflesKeepEveryItem) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Rng rng(9);
  rng.shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
  std::vector<int> none;
  rng.shuffle(none);
}

}  // namespace
}  // namespace assay
