#include "targets/raft/core/log.h"

#include <gtest/gtest.h>

#include "targets/raft/core/testing_cluster.h"

namespace assay::raft {
namespace {

TEST(Log, KnowsTheTermBeforeItsFirstEntry) {
  Log log(LogIndex{10}, Term{3}, {entry(11, 3, "a"), entry(12, 4, "b")});
  EXPECT_EQ(log.first_index(), LogIndex{11});
  EXPECT_EQ(log.last_index(), LogIndex{12});
  EXPECT_EQ(log.term_at(LogIndex{10}), Term{3});
  EXPECT_TRUE(log.matches(LogIndex{10}, Term{3}));
  EXPECT_FALSE(log.matches(LogIndex{9}, Term{3}));
  EXPECT_FALSE(log.matches(LogIndex{13}, Term{4}));
  EXPECT_FALSE(log.has_unwritten());
}

TEST(Log, FindsTheLastEntryWithATermAtMost) {
  Log log(LogIndex{}, Term{}, log_of({1, 1, 4, 4, 6}));
  const auto found = [&](uint64_t index, uint64_t term) {
    return log.last_with_term_at_most(LogIndex{index}, Term{term}).value;
  };
  EXPECT_EQ(found(9, 6), 5u);
  EXPECT_EQ(found(9, 5), 4u);
  EXPECT_EQ(found(9, 3), 2u);
  EXPECT_EQ(found(1, 9), 1u);
  EXPECT_EQ(found(9, 0), 0u);
}

TEST(Log, HandsOutForWritingOnceAndAgainAfterATruncation) {
  Log log(LogIndex{}, Term{}, log_of({1, 1}));
  log.append(entry(3, 2, "a"));
  log.append(entry(4, 2, "b"));
  EXPECT_EQ(log.take_unwritten().size(), 2u);
  EXPECT_TRUE(log.take_unwritten().empty());
  log.truncate(LogIndex{2});
  log.append(entry(2, 3, "c"));
  const auto unwritten = log.take_unwritten();
  ASSERT_EQ(unwritten.size(), 1u);
  EXPECT_EQ(unwritten[0].index, LogIndex{2});
}

TEST(Log, AnEntryReplacedBeforeItWasHandedOutIsNeverHandedOut) {
  Log log(LogIndex{}, Term{}, {});
  log.append(entry(1, 1, "a"));
  log.append(entry(2, 1, "b"));
  log.truncate(LogIndex{2});
  log.append(entry(2, 2, "c"));
  const auto unwritten = log.take_unwritten();
  ASSERT_EQ(unwritten.size(), 2u);
  EXPECT_EQ(unwritten[1].bytes(), "c");
}

TEST(Log, KeepsWhatComesAfterACompaction) {
  Log log(LogIndex{}, Term{}, log_of({1, 1, 2, 3}));
  log.append(entry(5, 3, "new"));
  log.compact(LogIndex{3});
  log.compact(LogIndex{2});  // behind it: nothing
  EXPECT_EQ(log.first_index(), LogIndex{4});
  EXPECT_EQ(log.last_index(), LogIndex{5});
  EXPECT_EQ(log.term_at(LogIndex{3}), Term{2});
  EXPECT_EQ(log.at(LogIndex{4}).term, Term{3});
  EXPECT_EQ(log.slice(LogIndex{4}, LogIndex{5}, 100, 100).size(), 2u);
  EXPECT_EQ(log.take_unwritten().size(), 1u);
  EXPECT_EQ(log.last_with_term_at_most(LogIndex{5}, Term{1}), LogIndex{3}) << "no further back";
  log.compact(LogIndex{5});
  EXPECT_EQ(log.last_term(), Term{3});
  log.append(entry(6, 3, "next"));
  EXPECT_EQ(log.last_index(), LogIndex{6});
}

TEST(Log, GoesOnBehindASnapshotAfterAReset) {
  Log log(LogIndex{}, Term{}, log_of({1, 1, 2}));
  log.append(entry(4, 2, "unwritten"));
  log.reset(LogIndex{10}, Term{4});
  EXPECT_FALSE(log.has_unwritten());
  EXPECT_EQ(log.last_index(), LogIndex{10});
  EXPECT_TRUE(log.matches(LogIndex{10}, Term{4}));
  log.append(entry(11, 4, "next"));
  EXPECT_EQ(log.take_unwritten().size(), 1u);
}

TEST(LogDeathTest, IsNotCompactedBeforeItIsHandedOut) {
  Log log(LogIndex{}, Term{}, log_of({1}));
  log.append(entry(2, 1, "unwritten"));
  EXPECT_DEATH(log.compact(LogIndex{2}), "compacted through index 2, written through 1");
}

TEST(LogDeathTest, RefusesGapsAndDecreasingTerms) {
  Log log(LogIndex{}, Term{}, log_of({2}));
  EXPECT_DEATH(log.append(entry(3, 2, "a")), "index 3 term 2 after index 1 term 2");
  EXPECT_DEATH(log.append(entry(2, 1, "a")), "index 2 term 1 after index 1 term 2");
  EXPECT_DEATH(log.term_at(LogIndex{2}), "index 2 of a log that ends at 1");
}

}  // namespace
}  // namespace assay::raft
