// Each rule has a history that breaks it and nothing else; and small random ones are compared with
// a plain oracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "checkers/checker.h"
#include "checkers/history/history_io.h"
#include "checkers/history/test_history.h"
#include "checkers/history/watch_value.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kHeader =
    R"({"checkers":["watch"],"token":"orderable","claims":{"compacts":false}})";

Verdict judged(std::string_view script) {
  auto verdict = check_history(history_of(script, kHeader), {"watch"}, Budget{});
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict->children.empty() ? *verdict : verdict->children[0];
}

std::vector<std::string> broken_rules(const Verdict& verdict) {
  std::vector<std::string> broken;
  for (const Verdict& child : verdict.children) {
    if (child.safety == Safety::kInvalid) broken.push_back(child.name);
  }
  return broken;
}

// Four changes: 2 and 3 of w/1, its deletion 4, and 5 of w/2.
constexpr const char* kWrites = R"(
1 invoke write w/1 1
1 ok write w/1 1 revision=2 at=2
1 invoke write w/1 2
1 ok write w/1 2 revision=3 at=3
1 invoke delete w/1
1 ok delete w/1 revision=0 at=4 deleted=1
1 invoke write w/2 3
1 ok write w/2 3 revision=5 at=5
)";

std::string watch(const std::string& from, const std::string& seen, const std::string& more = "") {
  return "2 invoke watch w/ {\"prefix\":\"w/\",\"from\":" + from + ",\"for\":1000} @n1 " + more +
         "\n2 ok watch w/ {" + seen + "} @n1\n";
}

TEST(WatchChecker, WhoMadeAChangeIsAskedOnlyWhereEveryChangeIsInWordsThatItReads) {
  const std::string written = "1 invoke txn [[\"write\",\"w/1\",1]]\n"
                              "1 ok txn [[\"write\",\"w/1\",1]] revision=2 at=2\n";
  const auto told = [](const char* value) {
    return watch("2", std::string(R"("events":[[2,"w/1","put",)") + value +
                          R"(,null,2]],"progress":[],"next":3,"end":"cut")");
  };
  EXPECT_EQ(judged(written + told("1")).word(), Word::kValid);
  EXPECT_EQ(judged(written + "3 invoke append w/2 9\n3 ok append w/2 9\n" +
                   watch("3", R"("events":[[3,"w/2","put",[9],null,3]],"progress":[],"next":4,"end":"cut")"))
                .word(),
            Word::kValid);
}

TEST(WatchChecker, ToldEverythingOnceAndInOrderIsValid) {
  const Verdict verdict =
      judged(kWrites +
             watch("2",
                   R"("events":[[2,"w/1","put",1,null,2],[3,"w/1","put",2,[2,1],2]],)"
                   R"("progress":[[3,2]],"next":4,"end":"cut")",
                   "session=a") +
             watch("4",
                   R"("events":[[4,"w/1","delete",null,[3,2]],[5,"w/2","put",3,null,5]],)"
                   R"("progress":[],"next":6,"end":"done")",
                   "session=a"));
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason;
  EXPECT_THAT(verdict.reason, HasSubstr("2 watches were told of 4 changes"));
  EXPECT_THAT(verdict.counts, testing::IsSupersetOf({std::pair<std::string, int64_t>("cut", 1),
                                                     {"resumed", 1},
                                                     {"changes known", 4},
                                                     {"progress notifications", 1}}));
}

TEST(WatchChecker, WithoutAnyChangeToldItIsVacuous) {
  const Verdict verdict =
      judged(kWrites + watch("6", R"("events":[],"progress":[[5,0]],"next":6,"end":"done")"));
  EXPECT_EQ(verdict.word(), Word::kVacuous);
  EXPECT_EQ(judged("2 invoke watch w/ {\"prefix\":\"w/\",\"from\":0,\"for\":1}\n"
                   "2 info watch w/ {\"prefix\":\"w/\",\"from\":0,\"for\":1}\n")
                .word(),
            Word::kVacuous);
}

TEST(WatchChecker, WhatIsMissingIsListedWithItsWriter) {
  const Verdict verdict =
      judged(kWrites +
             watch("2", R"("events":[[2,"w/1","put",1],[5,"w/2","put",3]],"next":6,"end":"done")"));
  EXPECT_THAT(broken_rules(verdict), ElementsAre("reliable"));
  const Verdict* reliable = verdict.find("reliable");
  ASSERT_TRUE(reliable->witness);
  EXPECT_THAT(reliable->witness->lines, ElementsAre(HasSubstr("was not told of 2 changes there"),
                                                    "missing: revision 3 put w/1 = 2 by p1",
                                                    "missing: revision 4 delete w/1 by p1"));
  EXPECT_THAT(reliable->witness->operations, ElementsAre(1, 2, 4));
}

struct Broken {
  const char* rule;
  std::string script;
  const char* says;
};

class WatchRule : public testing::TestWithParam<Broken> {};

TEST_P(WatchRule, IsBrokenAloneAndToldInWords) {
  const Verdict verdict = judged(GetParam().script);
  EXPECT_EQ(verdict.word(), Word::kInvalid);
  EXPECT_THAT(broken_rules(verdict), ElementsAre(GetParam().rule));
  ASSERT_TRUE(verdict.find(GetParam().rule)->witness);
  std::string all;
  for (const std::string& line : verdict.find(GetParam().rule)->witness->lines) all += line + "\n";
  EXPECT_THAT(all, HasSubstr(GetParam().says));
}

const std::string kAll = R"([2,"w/1","put",1],[3,"w/1","put",2],[4,"w/1","delete",null],)"
                         R"([5,"w/2","put",3])";
const std::string kCompact = "3 invoke compact 4\n3 ok compact 4 at=5\n";

const Broken kBroken[] = {
    {"filter",
     kWrites + std::string("1 invoke write x 9\n1 ok write x 9 revision=6 at=6\n") +
         watch("2", "\"events\":[" + kAll + R"(,[6,"x","put",9]],"next":7,"end":"done")"),
     "told of another key: revision 6 put x = 9"},
    {"ordered",
     kWrites + watch("2",
                     R"("events":[[3,"w/1","put",2],[2,"w/1","put",1],[4,"w/1","delete",null],)"
                     R"([5,"w/2","put",3]],"next":6,"end":"done")"),
     "told after revision 3: revision 2 put w/1 = 1"},
    {"unique",
     kWrites + watch("2", "\"events\":[" + kAll + R"(,[5,"w/2","put",3]],"next":6,"end":"done")"),
     "told twice: revision 5"},
    {"atomic",
     kWrites + watch("2", "\"events\":[" + kAll + R"(],"split":[5],"next":6,"end":"done")"),
     "revision 5 in several messages"},
    {"resumable", kWrites + watch("3", "\"events\":[" + kAll + R"(],"next":6,"end":"done")"),
     "told of something older: revision 2 put w/1 = 1"},
    {"resumable",
     kWrites + watch("2", R"("events":[[2,"w/1","put",1]],"next":3,"end":"cut")", "session=a") +
         watch("0", R"("events":[],"start":6,"next":6,"end":"done")", "session=a"),
     "resumed a watch from now, which had come to revision 3"},
    {"resumable",
     kWrites + watch("2", R"("events":[[2,"w/1","put",1]],"next":3,"end":"cut")", "session=a") +
         watch("5", R"("events":[[5,"w/2","put",3]],"next":6,"end":"done")", "session=a"),
     "resumed a watch from revision 5, which had come to revision 3"},
    {"bookmarkable",
     kWrites + watch("2", "\"events\":[" + kAll + R"(],"progress":[[4,2]],"next":6,"end":"done")"),
     "knew all up to revision 4, and after that: revision 4 delete w/1"},
    {"reliable",
     kWrites +
         watch("2", R"("events":[[2,"w/1","put",1]],"progress":[[5,1]],"next":6,"end":"done")"),
     "missing: revision 3 put w/1 = 2 by p1"},
    {"reliable",  // what another one was told, though its write is unknown
     std::string("1 invoke write w/1 1\n1 info write w/1 1\n5 invoke write w/1 2\n"
                 "5 ok write w/1 2 revision=3 at=3\n") +
         watch("2", R"("events":[[2,"w/1","put",1],[3,"w/1","put",2]],"next":4,"end":"done")") +
         watch("2", R"("events":[[3,"w/1","put",2]],"next":4,"end":"done")"),
     "missing: revision 2 put w/1 = 1, seen by p2 through n1"},
    {"reliable",  // what a list shows
     std::string("1 invoke write w/1 1\n1 info write w/1 1\n3 invoke list w/\n"
                 "3 ok list w/ [[\"w/1\",1,2]] at=2\n5 invoke write w/2 2\n"
                 "5 ok write w/2 2 revision=3 at=3\n") +
         watch("2", R"("events":[[3,"w/2","put",2]],"next":4,"end":"done")"),
     "missing: revision 2 put w/1 = 1, seen by p3"},
    {"reliable",  // half of a transaction
     std::string("1 invoke txn [[\"w\",\"w/1\",1],[\"w\",\"w/2\",2]]\n"
                 "1 ok txn [[\"w\",\"w/1\",1],[\"w\",\"w/2\",2]] revision=2 at=2\n") +
         watch("2", R"("events":[[2,"w/1","put",1]],"next":3,"end":"done")"),
     "missing: revision 2 put w/2 = 2 by p1"},
    {"predecessor",
     kWrites + watch("2", R"("events":[[2,"w/1","put",1],[3,"w/1","put",2,[2,7]],)"
                          R"([4,"w/1","delete",null],[5,"w/2","put",3]],"next":6,"end":"done")"),
     "revision 2 was there before, 7"},
    {"predecessor",
     kWrites + watch("2", R"("events":[[2,"w/1","put",1],[3,"w/1","put",2,null,3],)"
                          R"([4,"w/1","delete",null],[5,"w/2","put",3]],"next":6,"end":"done")"),
     "nothing was there before"},
    {"predecessor",
     kWrites + watch("4", R"("events":[[4,"w/1","delete",null,[2,1]],[5,"w/2","put",3]],"next":6,)"
                          R"("end":"done")"),
     "the change before it is revision 3 put w/1 = 2 by p1"},
    {"predecessor",
     kWrites + watch("2", R"("events":[[2,"w/1","put",1,null,2],[3,"w/1","put",2,[2,1],3],)"
                          R"([4,"w/1","delete",null],[5,"w/2","put",3]],"next":6,"end":"done")"),
     "descends from a creation at revision 3"},
    {"compacted",
     kWrites + watch("2", R"("events":[],"next":2,"end":"compacted","compact_revision":4)") +
         watch("2", "\"events\":[" + kAll + R"(],"next":6,"end":"done")"),
     "nobody had asked to forget any"},
    {"compacted",
     kWrites + kCompact +
         watch("2", R"("events":[],"next":2,"end":"compacted","compact_revision":5)") +
         watch("2", "\"events\":[" + kAll + R"(],"next":6,"end":"done")"),
     "nobody had asked to forget more than those before 4"},
    {"compacted",
     kWrites + kCompact +
         watch("4", R"("events":[],"next":4,"end":"compacted","compact_revision":4)") +
         watch("2", "\"events\":[" + kAll + R"(],"next":6,"end":"done")"),
     "needed none of them"},
    {"agreement",
     kWrites + watch("2", "\"events\":[" + kAll + R"(],"next":6,"end":"done")") +
         "4 invoke write w/2 4\n4 info write w/2 4\n" +
         watch("5", R"("events":[[5,"w/2","put",4]],"next":6,"end":"done")"),
     "two say different things about w/2 at revision 5"},
    {"origin",
     kWrites + watch("2", "\"events\":[" + kAll + R"(,[6,"w/2","put",8]],"next":7,"end":"done")"),
     "revision 6 put w/2 = 8, which nobody has written"},
    {"origin",
     kWrites + std::string("4 invoke write w/2 8\n4 fail write w/2 8 error=refused\n") +
         watch("2", "\"events\":[" + kAll + R"(,[6,"w/2","put",8]],"next":7,"end":"done")"),
     "a write that was refused"},
    {"origin",  // told before it was asked
     kWrites + watch("2", "\"events\":[" + kAll + R"(,[6,"w/2","put",8]],"next":7,"end":"done")") +
         "1 invoke write w/2 8\n1 info write w/2 8\n",
     "which nobody has written"},
    {"origin",
     std::string("1 invoke write w/1 1\n1 ok write w/1 1 revision=9 at=9\n") +
         watch("2", R"("events":[[2,"w/1","put",1]],"next":3,"end":"done")"),
     "wrote it at revision 9"},
};

INSTANTIATE_TEST_SUITE_P(Each, WatchRule, testing::ValuesIn(kBroken), [](const auto& info) {
  return std::string(info.param.rule) + "_" + std::to_string(info.index);
});

// --- What looks wrong and is not

struct Kept {
  const char* why;
  std::string script;
};

class WatchAccepts : public testing::TestWithParam<Kept> {};

TEST_P(WatchAccepts, WhatNoRuleForbids) {
  const Verdict verdict = judged(GetParam().script);
  EXPECT_THAT(broken_rules(verdict), testing::IsEmpty()) << GetParam().why << verdict.reason;
  EXPECT_EQ(verdict.word(), Word::kValid) << GetParam().why;
}

const std::string kSawAll = watch("2", "\"events\":[" + kAll + R"(],"next":6,"end":"done")");

INSTANTIATE_TEST_SUITE_P(
    Each, WatchAccepts,
    testing::Values(
        Kept{"a member that lags has not told yet",
             kWrites + watch("2", R"("events":[[2,"w/1","put",1]],"next":3,"end":"done")")},
        Kept{"from now, everything before is none of its business",
             kWrites +
                 watch("0", R"("events":[[5,"w/2","put",3]],"start":5,"next":6,"end":"done")")},
        Kept{"other prefixes", kWrites +
                                   std::string("1 invoke write x 9\n1 ok write x 9 revision=6"
                                               " at=6\n1 invoke write w/2 4\n1 ok write w/2 4 "
                                               "revision=7 at=7\n") +
                                   watch("5", R"("events":[[5,"w/2","put",3],[7,"w/2","put",4]],)"
                                              R"("next":8,"end":"done")")},
        Kept{
            "an unknown write that was told",
            kWrites + std::string("4 invoke write w/2 8\n4 info write w/2 8\n") +
                watch("2", "\"events\":[" + kAll + R"(,[6,"w/2","put",8]],"next":7,"end":"done")")},
        Kept{"a deletion of nothing is no change",
             kWrites +
                 std::string("1 invoke delete w/9\n1 ok delete w/9 revision=0 at=5 deleted=0\n") +
                 kSawAll},
        Kept{"after it was compacted away it is listed and watched from there",
             kWrites + kCompact +
                 watch("2", R"("events":[],"next":2,"end":"compacted","compact_revision":4)",
                       "session=a") +
                 "2 invoke list w/ session=a\n2 ok list w/ [[\"w/2\",3,5]] at=5\n" +
                 "1 invoke write w/2 4\n1 ok write w/2 4 revision=6 at=6\n" +
                 watch("6", R"("events":[[6,"w/2","put",4,[5,3],5]],"next":7,"end":"done")",
                       "session=a")},
        Kept{"a watch without an answer is tried again from the same revision",
             kWrites +
                 std::string("7 invoke watch w/ {\"prefix\":\"w/\",\"from\":2,\"for\":1} "
                             "session=a\n7 info watch w/ {\"prefix\":\"w/\",\"from\":2,"
                             "\"for\":1}\n") +
                 watch("2", "\"events\":[" + kAll + R"(],"next":6,"end":"done")", "session=a")},
        Kept{"what was before the watch is not known well enough",
             std::string("1 invoke write w/1 1\n1 ok write w/1 1 revision=2 at=2\n"
                         "4 invoke delete w/1\n4 info delete w/1\n"
                         "1 invoke write w/1 2\n1 ok write w/1 2 revision=4 at=4\n") +
                 watch("4", R"("events":[[4,"w/1","put",2,null,4]],"next":5,"end":"done")")},
        Kept{"the same change, told to everybody", kWrites + kSawAll + kSawAll}));

TEST(WatchChecker, AStoreThatForgetsByItselfMayHaveForgottenAnything) {
  const std::string script =
      kWrites + kSawAll +
      watch("2", R"("events":[],"next":2,"end":"compacted","compact_revision":4)");
  for (const char* header : {R"({"claims":{"compacts":true}})", "{}"}) {
    const auto verdict = check_history(history_of(script, header), {"watch"}, Budget{});
    EXPECT_EQ(verdict->word(), Word::kValid) << header << verdict->reason;
  }
}

TEST(WatchChecker, ValuesThatAreNoWatchAreInputErrors) {
  for (const char* script :
       {"1 invoke watch w/ 5\n1 ok watch w/ {\"events\":[],\"end\":\"done\"}\n",
        "1 invoke watch w/ {\"prefix\":\"w/\",\"for\":1}\n1 ok watch w/ {\"events\":5}\n"}) {
    EXPECT_FALSE(check_history(history_of(script), {"watch"}, Budget{})) << script;
  }
}

// --- Against a plain oracle

// A run: what the store did, and what each of a few sessions was told of it, with at most one
// mistake somewhere.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : rng_(seed) {
    make_changes();
    mistake_ = static_cast<Mistake>(below(7));
    for (int session = 0; session < 2 + below(2); ++session) make_session(session);
  }
  std::string script() const { return script_; }

 private:
  enum Mistake { kNone, kDrop, kDuplicate, kSwap, kFromNow, kSplit, kInvent };
  struct Change {
    int64_t revision;
    std::string key;
    int64_t value;  // 0: deleted
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }
  bool strikes() { return mistake_ != kNone && !struck_ && below(4) == 0 && (struck_ = true); }
  std::string name(int64_t n) { return (below(5) == 0 ? "x/" : "w/") + std::to_string(n); }

  void make_changes() {
    std::map<std::string, bool> live;
    int64_t revision = 1;
    for (int i = 0; i < 8; ++i) {
      const std::string process = std::to_string(10 + i);
      const std::string key = name(below(2));
      if (below(4) == 0 && live[key]) {
        changes_.push_back({++revision, key, 0});
        script_ += process + " invoke delete " + key + "\n" + process + " ok delete " + key +
                   " revision=0 at=" + std::to_string(revision) + " deleted=1\n";
        live[key] = false;
        continue;
      }
      if (below(4) == 0) {
        ++revision;
        std::string value = "[";
        for (int64_t n = 0; n < 2; ++n) {
          changes_.push_back({revision, "w/t" + std::to_string(n), ++last_value_});
          value += (n > 0 ? "," : "") + ("[\"w\",\"w/t" + std::to_string(n)) + "\"," +
                   std::to_string(last_value_) + "]";
        }
        script_ += process + " invoke txn " + value + "]\n" + process + " ok txn " + value +
                   "] revision=" + std::to_string(revision) + " at=" + std::to_string(revision) +
                   "\n";
        continue;
      }
      changes_.push_back({++revision, key, ++last_value_});
      live[key] = true;
      const std::string write = " write " + key + " " + std::to_string(last_value_);
      script_ += process + " invoke" + write + "\n" + process +
                 (below(4) == 0 ? " info" + write + "\n"
                                : " ok" + write + " revision=" + std::to_string(revision) +
                                      " at=" + std::to_string(revision) + "\n");
    }
    last_ = revision;
  }

  void make_session(int session) {
    int64_t from = 1 + below(last_);
    for (int leg = 0; leg < 3; ++leg) {
      std::vector<Change> told;
      int64_t upto = std::min(last_, from + below(6));
      const int64_t start = mistake_ == kFromNow && strikes() ? from + 1 + below(3) : from;
      for (const Change& change : changes_) {
        if (change.revision >= start && change.revision <= upto && change.key.starts_with("w/"))
          told.push_back(change);
      }
      spoil(told);
      int64_t next = told.empty() ? from : std::max(from, told.back().revision + 1);
      std::string marks;
      if (below(2) == 0 && upto >= next) {
        marks = "[" + std::to_string(upto) + "," + std::to_string(told.size()) + "]";
        next = upto + 1;
      }
      write_leg(session, from, told, marks, next);
      from = next;
    }
  }

  void spoil(std::vector<Change>& told) {
    if (told.empty()) return;
    const auto at = told.begin() + below(static_cast<int64_t>(told.size()));
    if (mistake_ == kDrop && strikes()) {
      told.erase(at);
    } else if (mistake_ == kDuplicate && strikes()) {
      told.insert(at, *at);
    } else if (mistake_ == kSwap && std::next(at) != told.end() && strikes()) {
      std::iter_swap(at, std::next(at));
    } else if (mistake_ == kInvent && strikes()) {
      at->value = 1000;
    } else if (mistake_ == kSplit && strikes()) {
      // The rest of a revision is lost with the connection.
      if (told.size() > 1 && told.back().revision == told[told.size() - 2].revision)
        told.pop_back();
    }
  }

  void write_leg(int session, int64_t from, const std::vector<Change>& told,
                 const std::string& marks, int64_t next) {
    WatchSeen seen;
    for (const Change& c : told) {
      seen.events.push_back({.revision = c.revision,
                             .key = Symbol(c.key),
                             .deleted = c.value == 0,
                             .value = c.value == 0 ? Value() : Value(c.value)});
    }
    seen.next = next;
    std::string value = to_value(seen).to_json();
    if (!marks.empty()) {
      const std::string empty = "\"progress\":[]";
      value.replace(value.find(empty), empty.size(), "\"progress\":[" + marks + "]");
    }
    const std::string process = std::to_string(session);
    script_ += process + " invoke watch w/ {\"prefix\":\"w/\",\"from\":" + std::to_string(from) +
               ",\"for\":1} session=s" + process + "\n" + process + " ok watch w/ " + value + "\n";
  }

  std::mt19937_64 rng_;
  Mistake mistake_ = kNone;
  bool struck_ = false;
  std::vector<Change> changes_;
  std::string script_;
  int64_t last_value_ = 0;
  int64_t last_ = 1;
};

// In the words of the definition: of all that anybody says has happened, what a watch was told is
// exactly the part that it vouches for, in the order of revisions. Quadratic.
bool oracle_accepts(const History& history) {
  using Said = std::tuple<int64_t, std::string, std::string>;
  std::set<Said> happened, attempted;
  std::vector<std::pair<std::pair<int64_t, int64_t>, std::vector<Said>>> watches;
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    const bool ok = op.type() == OpType::kOk;
    const auto change = [&](std::string_view key, const Value& value, int64_t revision) {
      attempted.emplace(0, key, value.to_json());
      if (ok) happened.emplace(revision, key, value.to_json());
    };
    if (op.f() == f::write) change(op.key().text(), op.argument(), ok ? op.revision().number() : 0);
    if (op.f() == f::delete_) change(op.key().text(), Value(), op.at().number());
    if (op.f() == f::txn) {
      for (const Value& w : op.argument().as_array())
        change(w.as_array()[1].as_text(), w.as_array()[2], op.revision().number());
    }
    if (op.f() != f::watch) continue;
    const WatchSeen seen = *watch_seen(op.result());
    std::vector<Said> told;
    for (const WatchedEvent& e : seen.events)
      told.emplace_back(e.revision, e.key.text(), e.value.to_json());
    for (const Said& t : told) {
      if (!attempted.contains({0, std::get<1>(t), std::get<2>(t)})) return false;
      happened.insert(t);
    }
    watches.push_back({{watch_wish(op.argument())->from, seen.next}, told});
  }
  std::set<std::pair<int64_t, std::string>> places;
  for (const auto& [revision, key, value] : happened) {
    if (!places.emplace(revision, key).second) return false;
  }
  for (const auto& [span, told] : watches) {
    std::vector<Said> expected;
    for (const Said& said : happened) {
      const auto& [revision, key, value] = said;
      if (revision >= span.first && revision < span.second && key.starts_with("w/"))
        expected.push_back(said);
    }
    std::vector<Said> sorted = told;
    std::sort(sorted.begin(), sorted.end());
    const bool in_order = std::is_sorted(
        told.begin(), told.end(),
        [](const Said& a, const Said& b) { return std::get<0>(a) < std::get<0>(b); });
    if (!in_order || sorted != expected) return false;
  }
  return true;
}

TEST(WatchChecker, AgreesWithAPlainOracleOnSmallRunsWithMistakes) {
  int accepted = 0, rejected = 0;
  for (uint64_t seed = 1; seed <= 5'000; ++seed) {
    const RandomRun run(seed);
    const History history = history_of(run.script(), kHeader);
    const Verdict verdict = find_checker("watch")->check(history, Budget{});
    const bool expected = oracle_accepts(history);
    ASSERT_EQ(verdict.safety != Safety::kInvalid, expected)
        << "seed " << seed << ": " << verdict.reason << "\n"
        << run.script();
    ++(expected ? accepted : rejected);
  }
  EXPECT_GT(accepted, 800);
  EXPECT_GT(rejected, 800);
}

}  // namespace
}  // namespace assay
