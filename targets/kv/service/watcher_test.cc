#include "targets/kv/service/watcher.h"

#include <gtest/gtest.h>

#include <random>

#include "targets/kv/service/service.h"

namespace assay::kv {
namespace {

class WatcherTest : public ::testing::Test {
 protected:
  void put(const std::string& key, const std::string& value) {
    service.apply(PutRequest{key, value});
  }
  void del(const std::string& key) { service.apply(DeleteRangeRequest{key}); }
  void put_both(const std::string& a, const std::string& b) {
    TxnRequest txn;
    txn.success.push_back({PutRequest{a, "t"}});
    txn.success.push_back({PutRequest{b, "t"}});
    service.apply(txn);
  }
  void compact(int64_t at) { service.apply(CompactionRequest{{at}}); }

  Watcher watcher(int64_t start, const std::string& key = "w/", const std::string& end = "w0") {
    return Watcher({.key = key, .range_end = end, .start_revision = {start}}, service.store());
  }
  std::optional<WatchResponse> next(Watcher& w) { return w.next(service.store()); }

  static std::string show(const KeyValuePtr& kv) {
    return kv->key + (kv->tombstone() ? "-" : "=" + kv->value) + "@" +
           std::to_string(kv->mod_revision.value);
  }
  static std::string show(const WatchResponse& response) {
    std::string text = std::to_string(response.revision.value) + ":";
    if (response.created) text += " created";
    if (response.canceled) {
      text += " canceled " + std::to_string(response.compact_revision.value);
      if (!response.cancel_reason.empty()) text += " " + std::string(response.cancel_reason);
    }
    for (const WatchEvent& event : response.events) {
      text += " " + show(event.kv);
      if (event.prev_kv) text += "(" + show(event.prev_kv) + ")";
    }
    return text;
  }
  // All that it has to say now, an answer a line.
  std::string rest(Watcher& w, size_t events_max = 1000) {
    std::string text;
    while (const auto response = w.next(service.store(), events_max))
      text += show(*response) + "\n";
    return text;
  }

  Service service;
};

TEST_F(WatcherTest, BeginsAtExactlyTheRevisionAskedFor) {
  put("w/1", "a");  // 2
  put("w/1", "b");  // 3
  put("w/2", "c");  // 4
  Watcher w = watcher(3);
  EXPECT_EQ(rest(w), "4: created\n4: w/1=b@3 w/2=c@4\n");
  EXPECT_EQ(rest(w), "");
  del("w/1");
  EXPECT_EQ(rest(w), "5: w/1-@5\n");
}

TEST_F(WatcherTest, FromZeroIsFromTheNextChangeOn) {
  put("w/1", "a");
  Watcher w = watcher(0);
  EXPECT_EQ(rest(w), "2: created\n");
  put("w/1", "b");
  EXPECT_EQ(rest(w), "3: w/1=b@3\n");
}

TEST_F(WatcherTest, ARevisionToComeIsWaitedForAndNothingOlderIsTold) {
  Watcher w = watcher(4);
  put("w/1", "a");  // 2
  EXPECT_EQ(rest(w), "2: created\n");
  put("w/1", "b");  // 3
  EXPECT_EQ(rest(w), "");
  put("w/1", "c");  // 4
  EXPECT_EQ(rest(w), "4: w/1=c@4\n");
}

TEST_F(WatcherTest, TellsTheRangeAskedForAndNoOther) {
  put("v", "1");
  put("w/", "2");
  put("w/~", "3");
  put("w0", "4");
  Watcher prefix = watcher(1);
  EXPECT_EQ(rest(prefix), "5: created\n5: w/=2@3 w/~=3@4\n");
  Watcher one = watcher(1, "w0", "");
  EXPECT_EQ(rest(one), "5: created\n5: w0=4@5\n");
  Watcher from = watcher(1, "w/~", std::string(1, '\0'));
  EXPECT_EQ(rest(from), "5: created\n5: w/~=3@4 w0=4@5\n");
  Watcher all = watcher(1, "", std::string(1, '\0'));
  EXPECT_EQ(rest(all), "5: created\n5: v=1@2 w/=2@3 w/~=3@4 w0=4@5\n");
  Watcher none = watcher(1, "w0", "w/");
  EXPECT_EQ(rest(none), "5: created canceled 0 mvcc: watcher range is empty\n");
  EXPECT_TRUE(none.ended());
}

TEST_F(WatcherTest, NeverSplitsAChange) {
  for (int i = 0; i < 3; ++i) put_both("w/1", "w/2");
  Watcher w = watcher(2);
  EXPECT_EQ(rest(w, 1), "4: created\n4: w/1=t@2 w/2=t@2\n4: w/1=t@3 w/2=t@3\n4: w/1=t@4 w/2=t@4\n");
}

TEST_F(WatcherTest, LeavesOutTheKindsThatAreFilteredAway) {
  put("w/1", "a");
  del("w/1");
  Watcher no_put({.key = "w/1", .start_revision = {1}, .no_put = true}, service.store());
  EXPECT_EQ(rest(no_put), "3: created\n3: w/1-@3\n");
  Watcher no_delete({.key = "w/1", .start_revision = {1}, .no_delete = true}, service.store());
  EXPECT_EQ(rest(no_delete), "3: created\n3: w/1=a@2\n");
}

TEST_F(WatcherTest, GivesTheVersionBeforeWhileItIsKept) {
  put("w/1", "a");  // 2
  put("w/1", "b");  // 3
  del("w/1");       // 4
  put("w/1", "c");  // 5
  Watcher w({.key = "w/1", .start_revision = {2}, .prev_kv = true}, service.store());
  EXPECT_EQ(rest(w), "5: created\n5: w/1=a@2 w/1=b@3(w/1=a@2) w/1-@4(w/1=b@3) w/1=c@5\n");
  compact(3);
  Watcher later({.key = "w/1", .start_revision = {3}, .prev_kv = true}, service.store());
  EXPECT_EQ(rest(later), "5: created\n5: w/1=b@3 w/1-@4(w/1=b@3) w/1=c@5\n");
}

TEST_F(WatcherTest, AStartBeforeTheCompactionIsAnExplicitError) {
  for (int i = 0; i < 5; ++i) put("w/1", "a");  // 2 … 6
  compact(4);
  Watcher w = watcher(3);
  EXPECT_EQ(rest(w), "6: created\n0: canceled 4\n");
  EXPECT_TRUE(w.ended());
  EXPECT_EQ(rest(w), "");
  Watcher at = watcher(4);
  EXPECT_EQ(rest(at), "6: created\n6: w/1=a@4 w/1=a@5 w/1=a@6\n");
  Watcher nonsense = watcher(-3);
  EXPECT_EQ(rest(nonsense), "6: created\n0: canceled 4\n");
}

// etcd#18089: the deletion of the compacted revision itself.
TEST_F(WatcherTest, ADeletionAtTheCompactedRevisionIsStillTold) {
  put("w/1", "a");  // 2
  del("w/1");       // 3
  put("w/2", "b");  // 4
  compact(3);
  Watcher w = watcher(3);
  EXPECT_EQ(rest(w), "4: created\n4: w/1-@3 w/2=b@4\n");
}

TEST_F(WatcherTest, CompactionThatOvertakesASlowWatcherIsAnExplicitError) {
  Watcher w = watcher(2);
  EXPECT_EQ(show(*next(w)), "1: created");
  for (int i = 0; i < 5; ++i) put("w/1", "a");
  EXPECT_EQ(show(*w.next(service.store(), 1)), "6: w/1=a@2");
  compact(5);
  EXPECT_EQ(rest(w), "0: canceled 5\n");
}

TEST_F(WatcherTest, CompactionBehindAWatcherChangesNothingForIt) {
  Watcher w = watcher(2);
  for (int i = 0; i < 5; ++i) put("w/1", "a");
  rest(w);
  compact(6);
  put("w/1", "b");
  EXPECT_EQ(rest(w), "7: w/1=b@7\n");
}

TEST_F(WatcherTest, ProgressIsNeverAheadOfTheStream) {
  Watcher w({.key = "w/1", .start_revision = {2}, .progress_notify = true}, service.store());
  EXPECT_FALSE(w.progress(service.store())) << "before it was created";
  next(w);
  put("w/1", "a");
  EXPECT_FALSE(w.progress(service.store())) << "an event waits";
  next(w);
  ASSERT_TRUE(w.progress(service.store()));
  EXPECT_EQ(show(*w.progress(service.store())), "2:");
  put("x", "elsewhere");
  EXPECT_FALSE(w.progress(service.store())) << "it was not looked at yet";
  EXPECT_FALSE(next(w));
  EXPECT_EQ(show(*w.progress(service.store())), "3:");
  Watcher not_asked = watcher(0);
  next(not_asked);
  EXPECT_FALSE(not_asked.progress(service.store()));
}

TEST_F(WatcherTest, GoesOnWithAStoreThatReplacedTheOldOne) {
  put("w/1", "a");  // 2
  Watcher lagging = watcher(2);
  Watcher compacted_away = watcher(3);
  EXPECT_EQ(rest(lagging), "2: created\n2: w/1=a@2\n");
  EXPECT_EQ(rest(compacted_away), "2: created\n");
  Service other;
  for (const char* value : {"a", "b", "c", "d"}) other.apply(PutRequest{"w/1", value});
  EXPECT_EQ(show(*lagging.next(other.store())), "5: w/1=b@3 w/1=c@4 w/1=d@5");
  other.apply(CompactionRequest{{5}});
  EXPECT_EQ(show(*compacted_away.next(other.store())), "0: canceled 5");
}

TEST_F(WatcherTest, TheCanaryForgetsTheStartRevisionAndNothingElse) {
  put("w/1", "a");
  Watcher w({.key = "w/1", .start_revision = {2}}, service.store(), {.wrong_from_now = true});
  EXPECT_EQ(rest(w), "2: created\n");
  put("w/1", "b");
  EXPECT_EQ(rest(w), "3: w/1=b@3\n");
}

// Whenever it is asked, it tells what happened, once and in order, or that it is gone.
TEST_F(WatcherTest, TellsEveryChangeOnceWheneverItIsAsked) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 rng(seed);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(rng() % n); };
    service = Service();
    std::vector<std::string> expected, told;
    const int64_t start = 1 + below(5);
    Watcher w = watcher(start);
    bool gone = false;
    for (int step = 0; step < 60 && !gone; ++step) {
      const int64_t what = below(6);
      const std::string key = "w/" + std::to_string(below(3));
      if (what < 2) put(key, std::to_string(step));
      if (what == 2) del(key);
      if (what == 3) put("x", "elsewhere");
      if (what == 4 && below(4) == 0) compact(service.revision().value - below(6));
      if (what != 5) continue;
      const auto response = w.next(service.store(), 1 + below(3));
      if (!response) continue;
      gone = response->canceled;
      for (const WatchEvent& event : response->events) told.push_back(show(event.kv));
    }
    // The log of a store that was never compacted is not kept here: compare with what is left.
    while (!gone) {
      const auto response = w.next(service.store());
      if (!response) break;
      gone = response->canceled;
      for (const WatchEvent& event : response->events) told.push_back(show(event.kv));
    }
    if (gone) {
      EXPECT_LT(w.next_revision(), service.compacted()) << seed;
      continue;
    }
    for (const KeyValuePtr& kv : service.store().events({start}, 1000)) {
      if (kv->key.starts_with("w/")) expected.push_back(show(kv));
    }
    ASSERT_GE(told.size(), expected.size()) << seed;
    // What was compacted meanwhile was told before that.
    EXPECT_EQ(std::vector<std::string>(told.end() - static_cast<long>(expected.size()), told.end()),
              expected)
        << seed;
    if (service.compacted().value == 0) {
      EXPECT_EQ(told.size(), expected.size()) << seed;
    }
  }
}

}  // namespace
}  // namespace assay::kv
