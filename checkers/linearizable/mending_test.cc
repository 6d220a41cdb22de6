#include <gtest/gtest.h>

#include <iostream>

#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/order.h"
#include "checkers/linearizable/random_histories.h"
#include "checkers/linearizable/reg_sim.h"

namespace assay::linearizable {
namespace {

// Operations one after another; times are given where they matter.
class Tale {
 public:
  Tale() { history_.conventions.initial = number(0); }

  Position now() const { return now_; }
  // What is under way meanwhile: called before all that follows, returning where `end` says.
  size_t begin(Call f, int64_t value) {
    KeyOp op{.f = f, .type = OpType::kOk, .call = now_++};
    op.value = number(value);
    history_.ops.push_back(op);
    return history_.ops.size() - 1;
  }
  size_t begin_mismatch(int64_t value) {
    const size_t op = begin(Call::kCas, value);
    history_.ops[op].next = number(-1 - static_cast<int64_t>(op));
    history_.ops[op].type = OpType::kFail;
    history_.ops[op].mismatch = true;
    return op;
  }
  void end(size_t op) { history_.ops[op].ret = now_++; }
  void give_up(size_t op) { history_.ops[op].type = OpType::kInfo; }
  void write(int64_t value) { end(begin(Call::kWrite, value)); }
  void read(int64_t value) { end(begin(Call::kRead, value)); }
  size_t begin_cas(int64_t from, int64_t to) {
    const size_t op = begin(Call::kCas, from);
    history_.ops[op].next = number(to);
    return op;
  }
  void cas(int64_t from, int64_t to) { end(begin_cas(from, to)); }
  void mismatch(int64_t value) { end(begin_mismatch(value)); }
  // So many writes, each read.
  void pass(int64_t from, int64_t count) {
    for (int64_t value = from; value < from + count; ++value) {
      write(value);
      read(value);
    }
  }

  const KeyHistory& history() const { return history_; }

 private:
  KeyHistory history_;
  Position now_ = 0;
};

void expect_mended(const KeyHistory& history) {
  const KeyResult result = judge_key(history, {.want_order = true});
  ASSERT_EQ(result.found.outcome, Outcome::kValid);
  EXPECT_EQ(to_string(result.found.stage), to_string(Stage::kUniqueRepair));
  EXPECT_EQ(replay(history, result.order), "");
}

void expect_invalid(const KeyHistory& history) {
  EXPECT_EQ(judge_key(history, {}).found.outcome, Outcome::kInvalid);
}

// The order tried makes a value current as early as may be: a failed cas just afterwards fails.
void write_late(Tale& story, int64_t value) {
  const size_t write = story.begin(Call::kWrite, value);
  story.mismatch(value);
  story.end(write);
}

TEST(Mending, OfTheOnlyValue) {
  Tale story;
  write_late(story, 1);
  expect_mended(story.history());
}

TEST(Mending, AtTheVeryBeginning) {
  Tale story;
  write_late(story, 1);
  story.pass(100, 60);
  expect_mended(story.history());
}

TEST(Mending, AtTheVeryEnd) {
  Tale story;
  story.pass(100, 60);
  write_late(story, 1);
  expect_mended(story.history());
}

TEST(Mending, InSeveralWindowsFarApartAndNearEachOther) {
  Tale story;
  for (int64_t i = 1; i <= 40; ++i) {
    write_late(story, i);
    story.pass(1000 * i, i % 7 == 0 ? 50 : i % 4);
  }
  expect_mended(story.history());
}

TEST(Mending, OfOverlappingFailedCas) {
  Tale story;
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t v = 10 * i + 1;
    const size_t one = story.begin(Call::kWrite, v);
    const size_t other = story.begin(Call::kWrite, v + 1);
    const size_t not_one = story.begin_mismatch(v);
    const size_t not_other = story.begin_mismatch(v + 1);
    story.end(not_other);
    story.mismatch(v + 1);
    story.end(not_one);
    story.end(one);
    story.end(other);
  }
  expect_mended(story.history());
}

// The only write that can come between is one that was tried long before.
TEST(Mending, WidensAWindowUntilItHasRoom) {
  for (const int64_t between : {1, 6, 7, 8, 9, 31, 32, 33, 500}) {
    Tale story;
    story.pass(10'000, 20);
    const size_t pending = story.begin(Call::kWrite, 1);
    story.pass(100, between);
    story.mismatch(100 + between - 1);
    story.pass(20'000, 20);
    story.end(pending);
    story.pass(30'000, 20);
    expect_mended(story.history());
  }
}

TEST(Mending, KeepsOneWriteFromExplainingTwo) {
  for (const int64_t between : {3, 40}) {
    Tale story;
    const size_t pending = story.begin(Call::kWrite, 1);
    story.pass(100, between);
    story.mismatch(100 + between - 1);
    story.pass(200, between);
    story.mismatch(200 + between - 1);
    story.pass(300, 3);
    story.end(pending);
    expect_invalid(story.history());
  }
}

// What is made of the last value of a window needs it to be the last.
TEST(Mending, KeepsAChainTogether) {
  for (const int64_t length : {5, 20, 70}) {
    Tale story;
    write_late(story, 1);
    for (int64_t i = 1; i < length; ++i) story.cas(i, i + 1);
    write_late(story, 1000);
    const size_t pending = story.begin(Call::kWrite, 2000);
    for (int64_t i = 0; i < length; ++i) story.cas(1000 + i, 1001 + i);
    story.mismatch(1000 + length);
    story.end(pending);
    expect_mended(story.history());
  }
}

TEST(Mending, OfUnknownOutcomesThatWereSeen) {
  Tale story;
  for (int64_t i = 1; i <= 30; ++i) {
    story.give_up(story.begin(Call::kWrite, i));
    const size_t read = story.begin(Call::kRead, i);
    story.write(100 + i);
    story.mismatch(100 + i);
    story.pass(1000 * i, i % 5 == 0 ? 20 : 1);
    story.end(read);
  }
  expect_mended(story.history());
}

// Each explains one.
TEST(Mending, ByUnknownOutcomesThatNobodySaw) {
  for (const int64_t between : {0, 3, 40}) {
    for (const int unknown : {1, 2, 3}) {
      Tale story;
      for (int i = 1; i <= unknown; ++i) story.give_up(story.begin(Call::kWrite, i));
      for (int64_t i = 1; i <= 2; ++i) {
        story.pass(100 * i, between);
        story.write(50 + i);
        story.mismatch(50 + i);
      }
      story.pass(300, between);
      unknown == 1 ? expect_invalid(story.history()) : expect_mended(story.history());
    }
  }
}

TEST(Mending, ByAnUnknownCasThatNobodySaw) {
  for (const int64_t from : {49, 50}) {
    Tale story;
    story.pass(100, 20);
    story.give_up(story.begin_cas(from, 60));
    story.write(50);
    story.mismatch(50);
    story.pass(200, 20);
    from == 50 ? expect_mended(story.history()) : expect_invalid(story.history());
  }
}

// What a failed cas names would have to explain that as well.
TEST(Mending, LeavesUnknownOutcomesThatAFailedCasNamesToTheSearch) {
  Tale story;
  story.give_up(story.begin(Call::kWrite, 1));
  story.write(50);
  const size_t not_unknown = story.begin_mismatch(1);
  story.mismatch(50);
  story.end(not_unknown);
  const KeyResult result = judge_key(story.history(), {});
  EXPECT_EQ(result.found.outcome, Outcome::kValid);
  EXPECT_NE(result.found.stage, Stage::kUniqueRepair);
}

TEST(Mending, LeavesToTheSearchWhatIsImpossible) {
  Tale story;
  story.pass(100, 30);
  const size_t write = story.begin(Call::kWrite, 1);
  story.mismatch(1);
  const size_t late = story.begin(Call::kWrite, 2);
  story.end(write);
  story.mismatch(1);
  story.mismatch(2);
  story.end(late);
  story.pass(200, 30);
  expect_invalid(story.history());
}

TEST(Mending, OfLongRandomHistories) {
  Rng rng(11);
  int mended = 0;
  for (int i = 0; i < 60; ++i) {
    RegSim options{.operations = 2000 + static_cast<int>(rng.below(i % 5 == 0 ? 40'000 : 4000)),
                   .slots = 2 + static_cast<int>(rng.below(i % 3 == 0 ? 100 : 12)),
                   .unique = true};
    options.info_per_mille = i % 2 == 0 ? 0 : 20;
    options.seed = rng.next();
    const KeyHistory history = reg_sim(options);
    const KeyResult result = judge_key(history, {.want_order = true});
    ASSERT_EQ(result.found.outcome, Outcome::kValid) << "history " << i;
    ASSERT_EQ(replay(history, result.order), "") << "history " << i;
    mended += result.found.stage == Stage::kUniqueRepair;
  }
  std::cout << mended << " mended\n";
  EXPECT_GT(mended, 40);
}

}  // namespace
}  // namespace assay::linearizable
