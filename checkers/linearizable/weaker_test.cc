#include "checkers/linearizable/weaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "checkers/facts.h"
#include "checkers/history/rng.h"
#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay::linearizable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Sessions3 {
  const char* name;
  const char* script;
  Kept reads, writes;
};

constexpr Sessions3 kSessions[] = {
    {"an old value after a new one", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke write k 2
      0 ok write k 2
      1 invoke read k
      1 ok read k 2
      1 invoke read k
      1 ok read k 1)", Kept::kNo, Kept::kYes},
    {"two processes, each going forward", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke write k 2
      0 ok write k 2
      1 invoke read k
      1 ok read k 2
      2 invoke read k
      2 ok read k 1)", Kept::kYes, Kept::kYes},
    {"its own write is gone", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke read k
      0 ok read k null)", Kept::kYes, Kept::kNo},
    {"its own cas is gone, and what it expected is back", R"(
      1 invoke write k 1
      0 invoke cas k [1,2]
      0 ok cas k [1,2]
      0 invoke read k
      0 ok read k 1
      1 ok write k 1)", Kept::kYes, Kept::kNo},
    {"two saw two writes in two orders", R"(
      0 invoke write k 1
      1 invoke write k 2
      0 ok write k 1
      1 ok write k 2
      2 invoke read k
      2 ok read k 1
      3 invoke read k
      3 ok read k 2
      2 invoke read k
      2 ok read k 2
      3 invoke read k
      3 ok read k 1)", Kept::kNo, Kept::kYes},
    {"which write of 1 it was is not known", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke write k 2
      0 ok write k 2
      1 invoke read k
      1 ok read k 2
      0 invoke write k 1
      0 ok write k 1
      1 invoke read k
      1 ok read k 1)", Kept::kUnknown, Kept::kYes},
    {"whichever write of 1 it was, it came before", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke write k 1
      0 ok write k 1
      0 invoke write k 2
      0 ok write k 2
      1 invoke read k
      1 ok read k 2
      1 invoke read k
      1 ok read k 1)", Kept::kNo, Kept::kYes},
};

KeyHistory only_key(const History& history) {
  return key_history(history, group_by_key(history)[0]);
}

TEST(WeakerPromises, OfSessionsAreJudgedByWhatEachProcessSawAndDid) {
  for (const Sessions3& c : kSessions) {
    const History history = history_of(c.script);
    EXPECT_EQ(monotonic_reads(history, only_key(history)).kept, c.reads) << c.name;
    EXPECT_EQ(read_your_writes(history, only_key(history)).kept, c.writes) << c.name;
  }
}

// Tries every order of the values.
bool some_order_fits(const History& history, bool own_writes) {
  std::vector<std::string> values = {"null"};
  std::map<std::string, Operation> makers;
  std::map<std::string, std::string> from;
  std::vector<std::pair<std::string, std::string>> before;
  std::map<int64_t, std::string> last;
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation o = history[id];
    const bool ok = o.type() == OpType::kOk;
    std::string& known = last[o.process().id];
    if (o.f() == f::read) {
      if (!ok) continue;
      const std::string value = o.result().to_json();
      if (!known.empty() && known != value) before.emplace_back(known, value);
      if (!own_writes) known = value;
      continue;
    }
    const bool cas = o.f() == f::cas;
    const std::string made = cas ? o.argument().as_array()[1].to_json() : o.argument().to_json();
    values.push_back(made);
    makers.emplace(made, o);
    if (cas) before.emplace_back(o.argument().as_array()[0].to_json(), made);
    if (own_writes && ok) known = made;
  }
  for (const auto& [a, x] : makers) {
    before.emplace_back("null", a);
    for (const auto& [b, y] : makers) {
      if (x.type() == OpType::kOk && x.return_position() < y.invoke_position()) {
        before.emplace_back(a, b);
      }
    }
  }
  std::sort(values.begin(), values.end());
  do {
    const auto at = [&](const std::string& v) {
      return std::find(values.begin(), values.end(), v) - values.begin();
    };
    if (std::all_of(before.begin(), before.end(),
                    [&](const auto& pair) { return at(pair.first) < at(pair.second); })) {
      return true;
    }
  } while (std::next_permutation(values.begin(), values.end()));
  return false;
}

// Four processes; values are made once each; reads find anything that was begun.
History any_history(Rng& rng) {
  std::string script;
  std::vector<std::string> open(4), begun = {"null"};
  int64_t fresh = 0;
  const auto any = [&] { return begun[rng.below(begun.size())]; };
  for (int step = 0; step < 18; ++step) {
    const size_t p = rng.below(4);
    const std::string process = std::to_string(p);
    if (!open[p].empty()) {
      script += process + " ok " + (open[p] == "read k" ? "read k " + any() : open[p]) + "\n";
      open[p].clear();
      continue;
    }
    if (begun.size() >= 6 || rng.chance(1, 2)) {
      open[p] = "read k";
    } else {
      const std::string value = std::to_string(++fresh);
      open[p] = rng.chance(1, 3) ? "cas k [" + any() + "," + value + "]" : "write k " + value;
      begun.push_back(value);
    }
    script += process + " invoke " + open[p] + "\n";
  }
  return history_of(script);
}

TEST(WeakerPromises, OfSessionsAreThoseOfTryingEveryOrderOfTheValues) {
  Rng rng(11);
  int kept = 0, broken = 0;
  for (int i = 0; i < 3000; ++i) {
    const History history = any_history(rng);
    // An open cas need not have happened: the plain way takes all as done, so leave those out.
    bool open_cas = false;
    for (size_t id = 0; id < history.size(); ++id) {
      open_cas |= history[id].f() == f::cas && history[id].type() != OpType::kOk;
    }
    if (open_cas || history.size() == 0) continue;
    for (bool own_writes : {false, true}) {
      const KeyHistory key = only_key(history);
      const Kept found = own_writes ? read_your_writes(history, key).kept
                                    : monotonic_reads(history, key).kept;
      const bool fits = some_order_fits(history, own_writes);
      ASSERT_NE(found, Kept::kUnknown);
      // Without sessions that could break it, a circle of changes alone breaks nothing.
      if (!fits && found == Kept::kYes) {
        ASSERT_EQ((own_writes ? read_your_writes(history, key) : monotonic_reads(history, key)).pairs,
                  0u) << i;
        continue;
      }
      ASSERT_EQ(found == Kept::kYes, fits) << i << (own_writes ? " writes" : " reads");
      ++(fits ? kept : broken);
    }
  }
  EXPECT_GT(kept, 300);
  EXPECT_GT(broken, 300);
}

Staleness staleness_of(const History& history) {
  uint64_t work = 1'000'000;
  return staleness(history, only_key(history), work, {});
}

constexpr const char* kReadTooLate = R"(
  0 invoke write k 4 time=10s
  0 ok write k 4
  0 invoke write k 5 time=13500ms
  0 ok write k 5 time=13600ms
  3 invoke read k time=13812ms
  3 ok read k 4 time=13815ms
)";

TEST(WeakerPromises, AReadIsAsStaleAsTheAcknowledgementOfWhatReplacedItsValueIsOld) {
  const Staleness found = staleness_of(history_of(kReadTooLate));
  EXPECT_EQ(found.bounded, Kept::kYes);
  EXPECT_GE(found.at_most, milliseconds(212));
  EXPECT_LE(found.at_most, milliseconds(213));
  EXPECT_LT(found.more_than, milliseconds(212));
  EXPECT_GT(found.more_than, milliseconds(211));
}

// Values repeat, so that only an order that explains older reads shows that no process went back.
TEST(WeakerPromises, WhereValuesRepeatAnOrderWithOlderReadsShowsWhatIsKept) {
  const History history = history_of(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke read k
    1 ok read k 1
    0 invoke write k 2
    0 ok write k 2
    1 invoke read k
    1 ok read k 1
    1 invoke read k
    1 ok read k 2
    0 invoke write k 1
    0 ok write k 1)");
  const KeyHistory key = only_key(history);
  EXPECT_EQ(monotonic_reads(history, key).kept, Kept::kUnknown);
  const Staleness found = staleness_of(history);
  ASSERT_EQ(found.bounded, Kept::kYes);
  EXPECT_TRUE(follows_sessions(history, key, found.order, false));
  std::vector<uint32_t> wrong = found.order;
  std::reverse(wrong.begin(), wrong.end());
  EXPECT_FALSE(follows_sessions(history, key, wrong, false));
}

TEST(WeakerPromises, NoAgeOfReadsExplainsWhatOtherOperationsSaw) {
  const Staleness cas = staleness_of(history_of(R"(
    0 invoke write k 4 time=1s
    0 ok write k 4
    0 invoke cas k [7,5] time=2s
    0 ok cas k [7,5] time=3s)"));
  EXPECT_EQ(cas.bounded, Kept::kNo);
  const Staleness future = staleness_of(history_of(R"(
    0 invoke read k time=1s
    0 ok read k 4
    0 invoke write k 4 time=2s
    0 ok write k 4 time=3s)"));
  EXPECT_EQ(future.bounded, Kept::kNo);
}

TEST(WeakerPromises, StandInTheVerdictOfWhatIsNotLinearizable) {
  const auto facts_of = [](const char* script) {
    std::vector<std::string> facts;
    for (const auto& [name, text] : linearizable_checker().check(history_of(script), Budget{}).facts) {
      if (name == fact::kWeaker) facts.push_back(text);
    }
    return facts;
  };
  EXPECT_THAT(facts_of(kReadTooLate),
              ElementsAre("monotonic reads: kept: no process read an older value after a newer one",
                          "read your writes: kept: no process read a value older than one that it "
                          "had written",
                          "bounded staleness: kept: reads are at most 213 ms stale, and some read "
                          "is more than 211 ms stale"));
  EXPECT_THAT(facts_of(kSessions[0].script),
              ElementsAre(HasSubstr("broken: p1 read 2 (index 4), and then read 1 (index 6), which "
                                    "was older"),
                          HasSubstr("kept"), HasSubstr("stale")));
  EXPECT_THAT(facts_of("0 invoke read k\n0 ok read k null\n"), ElementsAre());
}

}  // namespace
}  // namespace assay::linearizable
