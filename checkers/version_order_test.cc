#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "checkers/history/rng.h"
#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Verdict judge_versions(std::string_view script, std::string_view more = "") {
  const std::string header = R"({"token":"orderable")" + std::string(more) + "}";
  return version_order_checker().check(history_of(script, header), Budget{});
}
std::string headline(const Verdict& verdict) {
  if (verdict.children.empty() || !verdict.children[0].witness) return "none";
  return verdict.children[0].witness->lines[0];
}

constexpr std::string_view kTwoWrites =
    "0 invoke write k 1\n0 ok write k 1 revision=2 at=2\n"
    "0 invoke write k 1\n0 ok write k 1 revision=3 at=3\n";

TEST(VersionOrder, AcceptsAnswersInTheOrderOfTheirRevisions) {
  const Verdict verdict = judge_versions(
      "2 invoke read k\n" + std::string(kTwoWrites) +
      "1 invoke read k\n1 ok read k 1 revision=3 at=3\n2 ok read k 1 revision=2 at=2\n");
  EXPECT_EQ(verdict.safety, Safety::kValid) << verdict.reason << headline(verdict);
  EXPECT_EQ(verdict.counts[0].second, 4);
  EXPECT_EQ(verdict.counts[1].second, 2);
}

TEST(VersionOrder, FindsAStaleReadOfAValueThatWasWrittenTwice) {
  const Verdict verdict = judge_versions(std::string(kTwoWrites) +
                                         "1 invoke read k @n2\n1 ok read k 1 @n2 revision=2 at=2\n");
  EXPECT_EQ(verdict.safety, Safety::kInvalid);
  ASSERT_THAT(verdict.children, SizeIs(1));
  EXPECT_EQ(verdict.reason, "stale state of k");
  EXPECT_THAT(headline(verdict), HasSubstr("p1 from n2 read 1 at revision 2"));
  EXPECT_THAT(headline(verdict), HasSubstr("after revision 3 was acknowledged to p0"));
  EXPECT_THAT(verdict.children[0].witness->operations, SizeIs(2));
}

TEST(VersionOrder, AConflictObservesTheCurrentRevision) {
  const std::string conflict =
      "1 invoke write k 9 expected=1\n1 fail write k error=conflict current=2 at=3\n";
  EXPECT_EQ(judge_versions(std::string(kTwoWrites) + conflict).safety, Safety::kInvalid);
  EXPECT_EQ(judge_versions("1 invoke write k 9 expected=1\n" + std::string(kTwoWrites) +
                           "1 fail write k error=conflict current=2 at=3\n")
                .safety,
            Safety::kValid);
}

TEST(VersionOrder, OneRevisionIsOneState) {
  EXPECT_THAT(headline(judge_versions("0 invoke write k 1\n0 ok write k 1 revision=2\n"
                                      "0 invoke write k 2\n0 ok write k 2 revision=2\n")),
              HasSubstr("revision 2 was given to two accepted writes"));
  EXPECT_THAT(headline(judge_versions("0 invoke write k 1\n0 ok write k 1 revision=2\n"
                                      "0 invoke read k\n0 ok read k 7 revision=2\n")),
              HasSubstr("revision 2 is 1 to one, and 7 to another"));
}

TEST(VersionOrder, AReadDoesNotSeeTheFuture) {
  EXPECT_THAT(headline(judge_versions("0 invoke read k\n0 ok read k 1 revision=2\n"
                                      "0 invoke write k 1\n0 ok write k 1 revision=2\n")),
              HasSubstr("before the write of that revision was invoked"));
}

TEST(VersionOrder, WhetherAGuardWasHonouredIsNotItsMatter) {
  EXPECT_EQ(judge_versions("0 invoke write k 1\n0 ok write k 1 revision=2\n"
                           "0 invoke write k 2 expected=2\n1 invoke write k 3 expected=2\n"
                           "0 ok write k 2 revision=3\n1 ok write k 3 revision=4\n")
                .safety,
            Safety::kValid);
}

TEST(VersionOrder, AListReadsEachKeyUnderItsPrefixAndAlsoThatOneIsNotThere) {
  const std::string two =
      "0 invoke txn [[\"w\",\"s/a\",1],[\"w\",\"s/b\",2]]\n"
      "0 ok txn [[\"w\",\"s/a\",1],[\"w\",\"s/b\",2]] revision=5 at=5\n"
      "0 invoke write s/a 3\n0 ok write s/a 3 revision=6 at=6\n";
  EXPECT_EQ(judge_versions(two + "1 invoke list s/\n"
                                 "1 ok list s/ [[\"s/a\",3,6],[\"s/b\",2,5]] at=6\n")
                .safety,
            Safety::kValid);
  EXPECT_EQ(judge_versions(two + "1 invoke list s/\n"
                                 "1 ok list s/ [[\"s/a\",1,5],[\"s/b\",2,5]] at=6\n")
                .reason,
            "stale state of s/a");
  EXPECT_EQ(judge_versions(two + "1 invoke list s/\n1 ok list s/ [[\"s/a\",3,6]] at=6\n").reason,
            "lost write of s/b");
}

TEST(VersionOrder, AWriteThatIsGoneIsLostUnlessSomebodyMayHaveDeletedIt) {
  const std::string gone = "1 invoke read k\n1 ok read k null revision=0 at=3\n";
  const Verdict lost = judge_versions(std::string(kTwoWrites) + gone);
  EXPECT_EQ(lost.reason, "lost write of k");
  EXPECT_EQ(judge_versions("3 invoke delete k\n" + std::string(kTwoWrites) + gone).safety,
            Safety::kValid);
  EXPECT_EQ(judge_versions(std::string(kTwoWrites) +
                           "0 invoke delete k\n0 ok delete k revision=0 at=4\n"
                           "1 invoke read k\n1 ok read k null revision=0 at=4\n")
                .safety,
            Safety::kValid);
  EXPECT_EQ(judge_versions(std::string(kTwoWrites) +
                           "0 invoke delete k\n0 ok delete k revision=0 at=4\n"
                           "1 invoke read k\n1 ok read k 1 revision=3 at=4\n")
                .reason,
            "stale state of k");
}

TEST(VersionOrder, WhereTheKeysRevisionsAreNotTheStoresAbsenceSaysNothing) {
  EXPECT_EQ(judge_versions("0 invoke write k 1\n0 ok write k 1 revision=20 at=3\n"
                           "1 invoke read k\n1 ok read k null revision=0 at=30\n")
                .safety,
            Safety::kValid);
  // Versions of a key of its own, which go on after the delete at revision 11 of the store.
  EXPECT_EQ(judge_versions("0 invoke write k 1\n0 ok write k 1 revision=1 at=10\n"
                           "0 invoke delete k\n0 ok delete k revision=0 at=11\n"
                           "0 invoke write k 2\n0 ok write k 2 revision=2 at=12\n")
                .safety,
            Safety::kValid);
}

TEST(VersionOrder, ReadsThatAreNotClaimedToBeLatestAreLeftOut) {
  const Verdict verdict =
      judge_versions(std::string(kTwoWrites) + "1 invoke read k\n1 ok read k 1 revision=2 at=2\n",
                     R"(,"claims":{"read":"stale"})");
  EXPECT_EQ(verdict.safety, Safety::kValid);
  EXPECT_THAT(verdict.facts, testing::Contains(testing::Pair("not claimed", testing::_)));
}

TEST(VersionOrder, WithoutRevisionsThereIsNothingToJudge) {
  const History none = history_of("0 invoke write k 1\n0 ok write k 1\n", R"({"token":"orderable"})");
  EXPECT_FALSE(version_order_checker().applies(none));
  EXPECT_EQ(version_order_checker().check(none, Budget{}).safety, Safety::kVacuous);
  EXPECT_FALSE(version_order_checker().applies(history_of(kTwoWrites, R"({"token":"opaque"})")));
}

TEST(VersionOrder, AnExhaustedBudgetIsUnknown) {
  Budget budget;
  budget.exhausted = [] { return true; };
  EXPECT_EQ(version_order_checker()
                .check(history_of(kTwoWrites, R"({"token":"orderable"})"), budget)
                .safety,
            Safety::kUnknown);
}

// A versioned register in small: operations are invoked, take effect and return; then something may
// be spoilt.
struct VersionedOp {
  bool write = false;
  bool guarded = false;
  int64_t value = 0, revision = 0, expected = 0;
  bool refused = false;
  int call = 0, ret = 0;
};

std::vector<VersionedOp> simulate_versions(Rng& rng) {
  std::vector<VersionedOp> ops;
  std::vector<int> open(1 + rng.below(4), -1);
  std::vector<bool> done(open.size());
  int64_t revision = 1, value = 0;
  int time = 0;
  const size_t wanted = 2 + rng.below(7);
  for (size_t busy = 0; ops.size() < wanted || busy > 0;) {
    const size_t p = rng.below(open.size());
    if (open[p] < 0) {
      if (ops.size() == wanted) continue;
      VersionedOp op{.write = rng.chance(1, 2), .guarded = rng.chance(1, 2), .call = time++};
      op.value = op.write ? static_cast<int64_t>(rng.below(3)) : 0;
      op.expected = revision - static_cast<int64_t>(rng.chance(1, 3));
      open[p] = static_cast<int>(ops.size());
      done[p] = false;
      ops.push_back(op);
      ++busy;
      continue;
    }
    VersionedOp& op = ops[static_cast<size_t>(open[p])];
    if (!done[p]) {
      op.refused = op.write && op.guarded && op.expected != revision;
      if (op.write && !op.refused) {
        ++revision;
        value = op.value;
      }
      op.revision = revision;
      if (!op.write) op.value = value;
      done[p] = true;
      continue;
    }
    op.ret = time++;
    open[p] = -1;
    --busy;
  }
  for (uint64_t i = rng.below(3); i > 0; --i) {
    VersionedOp& op = ops[rng.below(ops.size())];
    if (rng.chance(1, 2)) op.revision = 1 + static_cast<int64_t>(rng.below(5));
    if (rng.chance(1, 4)) op.expected = 1 + static_cast<int64_t>(rng.below(5));
    if (!op.write && rng.chance(1, 4)) op.value = static_cast<int64_t>(rng.below(3));
  }
  return ops;
}

// Tries every order.
bool some_order(const std::vector<VersionedOp>& ops, uint32_t placed, int64_t revision,
                int64_t value) {
  if (placed + 1 == 1u << ops.size()) return true;
  for (size_t i = 0; i < ops.size(); ++i) {
    const VersionedOp& op = ops[i];
    bool may = (placed >> i & 1) == 0;
    for (size_t j = 0; j < ops.size() && may; ++j)
      may = (placed >> j & 1) != 0 || ops[j].ret > op.call;
    if (!may) continue;
    const uint32_t next = placed | 1u << i;
    if (op.write && !op.refused) {
      if (op.revision <= revision) continue;
      if (some_order(ops, next, op.revision, op.value)) return true;
    } else if (op.revision == revision && (op.write || op.value == value)) {
      if (some_order(ops, next, revision, value)) return true;
    }
  }
  return false;
}

std::string to_script(const std::vector<VersionedOp>& ops) {
  std::vector<std::pair<int, std::string>> lines;
  // The state before is a write of its own, so that every revision has one.
  lines.emplace_back(-2, "99 invoke write k 0");
  lines.emplace_back(-1, "99 ok write k 0 revision=1");
  for (size_t i = 0; i < ops.size(); ++i) {
    const VersionedOp& op = ops[i];
    const std::string process = std::to_string(i);
    const std::string guard =
        op.write && op.guarded ? " expected=" + std::to_string(op.expected) : "";
    const std::string value = std::to_string(op.value), revision = std::to_string(op.revision);
    lines.emplace_back(op.call, process + (op.write ? " invoke write k " + value + guard
                                                    : " invoke read k"));
    lines.emplace_back(op.ret,
                       op.refused ? process + " fail write k error=conflict current=" + revision
                                  : process + (op.write ? " ok write k " : " ok read k ") + value +
                                        " revision=" + revision);
  }
  std::sort(lines.begin(), lines.end());
  std::string script;
  for (const auto& line : lines) script += line.second + "\n";
  return script;
}

TEST(VersionOrder, AgreesWithBruteForceOnSmallVersionedHistories) {
  Rng rng(20261130);
  int valid = 0, invalid = 0, beyond = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<VersionedOp> ops = simulate_versions(rng);
    std::set<int64_t> made{1};
    for (const VersionedOp& op : ops)
      if (op.write && !op.refused) made.insert(op.revision);
    const bool known = std::all_of(ops.begin(), ops.end(), [&](const VersionedOp& op) {
      return made.contains(op.revision) && (!op.write || !op.guarded || op.refused ||
                                            made.contains(op.expected));
    });
    if (!known) {  // a revision of nobody: a write of unknown outcome might have made it
      ++beyond;
      continue;
    }
    const bool expected = some_order(ops, 0, 1, 0);
    const Verdict verdict = judge_versions(to_script(ops));
    ASSERT_EQ(verdict.safety == Safety::kValid, expected) << to_script(ops) << headline(verdict);
    ++(expected ? valid : invalid);
  }
  EXPECT_GT(valid, 5'000);
  EXPECT_GT(invalid, 2'000);
  EXPECT_GT(beyond, 100);
}

}  // namespace
}  // namespace assay
