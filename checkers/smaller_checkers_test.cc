// convergence, bank, unique-names and snapshot-reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::smaller_checkers {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;
using testing_verdicts::judged_by;
using testing_verdicts::without_time;

std::string last(const std::string& value, const std::string& node, const std::string& more = "") {
  return "9 invoke read k @" + node + " phase=final\n9 ok read k " + value + " @" + node + " " + more +
         "\n";
}
const std::string kWrite = "0 invoke write k 1\n0 ok write k 1 revision=2\n";

TEST(Convergence, NodesThatSayTheSameAreOne) {
  const Verdict verdict = judged_by(convergence_checker(), kWrite + last("1", "n1", "revision=2") +
                                                               last("1", "n2", "revision=2"));
  EXPECT_EQ(verdict.word(), Word::kValid);
  EXPECT_EQ(verdict.progress, Progress::kOk);
}

TEST(Convergence, NodesThatDifferAreInvalidOrWhereReadsMayBeOldBlockedIfTheyClaimToConverge) {
  const std::string differ = kWrite + last("1", "n1") + last("null", "n3");
  const Verdict verdict = judged_by(convergence_checker(), differ);
  EXPECT_EQ(verdict.reason, "nodes that differ in the end of k");
  EXPECT_EQ(headline_of(verdict), "n1 says 1, n3 says absent: the nodes did not become one");
  EXPECT_EQ(judged_by(convergence_checker(), differ,
                      R"({"claims":{"read":"stale","converges":true}})")
                .word(),
            Word::kBlocked);
  const Verdict late = judged_by(convergence_checker(), differ, R"({"claims":{"read":"stale"}})");
  EXPECT_EQ(late.word(), Word::kValid);
  EXPECT_EQ(late.reason, "copies may be late: k: n1 says 1, n3 says absent: the nodes did not become one");
  EXPECT_EQ(judged_by(convergence_checker(),
                      kWrite + last("1", "n1", "revision=2") + last("1", "n2", "revision=3"))
                .safety,
            Safety::kInvalid);
}

TEST(Convergence, WhereEachNodeCountsItsOwnRevisionsTheContentDecides) {
  constexpr const char* kWeak = R"({"claims":{"read":"stale","converges":true,"own-revisions":true}})";
  const std::string one = kWrite + last("1", "n1", "revision=2");
  EXPECT_EQ(judged_by(convergence_checker(), one + last("1", "n2", "revision=3"), kWeak).word(),
            Word::kValid);
  EXPECT_EQ(judged_by(convergence_checker(), one + last("7", "n2", "revision=2"), kWeak).word(),
            Word::kBlocked);
}

TEST(Convergence, AWriteThatMayHaveComeBetweenTheReadsExcusesThem) {
  EXPECT_EQ(judged_by(convergence_checker(), kWrite + "4 invoke write k 7\n4 info write k\n" +
                                                 last("1", "n1") + last("7", "n2"))
                .word(),
            Word::kUnknown);
  EXPECT_FALSE(convergence_checker().applies(history_of(kWrite + last("1", "n1"))));
  EXPECT_EQ(without_time(convergence_checker(), kWrite + last("1", "n1")).word(), Word::kUnknown);
}

const std::string kAccounts = "0 invoke txn [[\"w\",\"b/a\",60],[\"w\",\"b/b\",40]]\n"
                              "0 ok txn [[\"w\",\"b/a\",60],[\"w\",\"b/b\",40]] revision=2\n";
std::string look(int a, int b) {
  return "1 invoke list b/ @n2\n1 ok list b/ [[\"b/a\"," + std::to_string(a) + ",2],[\"b/b\"," +
         std::to_string(b) + ",2]] @n2\n";
}
constexpr const char* kBank = R"({"total":100,"accounts":"b/"})";

TEST(Bank, TheSumIsTheSameWheneverSomebodyLooks) {
  EXPECT_EQ(judged_by(bank_checker(), kAccounts + look(60, 40) + look(10, 90), kBank).safety,
            Safety::kValid);
  const Verdict verdict = judged_by(bank_checker(), kAccounts + look(60, 40) + look(60, 30), kBank);
  EXPECT_EQ(verdict.reason, "the accounts sum to 90 instead of 100");
  EXPECT_EQ(verdict.witness->operations.size(), 2u);
  EXPECT_THAT(headline_of(verdict), HasSubstr("p1 from n2 found the accounts to sum to 90"));
}

TEST(Bank, BanksAreSetUpOneByOne) {
  const char* header = R"({"total":100})";
  const std::string other = "0 invoke txn [[\"w\",\"c/a\",100]]\n0 ok txn [[\"w\",\"c/a\",100]]\n";
  EXPECT_EQ(judged_by(bank_checker(), kAccounts + look(60, 30) + other, header).safety,
            Safety::kInvalid);
  EXPECT_EQ(judged_by(bank_checker(), "1 invoke list c/\n1 ok list c/ []\n" + kAccounts +
                                          look(10, 90) + other, header)
                .safety,
            Safety::kValid);
}

TEST(Bank, WhoLookedBeforeAllWasSetUpSaysNothing) {
  EXPECT_EQ(judged_by(bank_checker(), "1 invoke list b/\n1 ok list b/ []\n" + kAccounts, kBank).safety,
            Safety::kVacuous);
  EXPECT_EQ(judged_by(bank_checker(), kAccounts + "1 invoke list b/\n1 ok list b/ [] at=1\n", kBank)
                .safety,
            Safety::kVacuous)
      << "a copy of before";
  EXPECT_EQ(judged_by(bank_checker(), "1 invoke list c/\n1 ok list c/ []\n", R"({"total":100})").safety,
            Safety::kVacuous)
      << "a bank that nobody set up";
  EXPECT_FALSE(bank_checker().applies(history_of(kAccounts)));
  EXPECT_EQ(without_time(bank_checker(), kAccounts + look(60, 40), kBank).safety, Safety::kUnknown);
}

std::string create(int process, int revision) {
  const std::string p = std::to_string(process), r = std::to_string(revision);
  return p + " invoke write n/a \"" + p + "\" expected=0\n" + p + " ok write n/a \"" + p +
         "\" revision=" + r + " at=" + r + "\n";
}

TEST(UniqueNames, ANameThatWasGivenBackMayBeTakenAgain) {
  const std::string free = "1 invoke delete n/a\n1 ok delete n/a revision=0 at=3\n";
  EXPECT_EQ(judged_by(unique_names_checker(), create(1, 2) + free + create(2, 4)).safety,
            Safety::kValid);
  EXPECT_EQ(judged_by(unique_names_checker(), create(1, 2) + create(2, 4)).reason,
            "one name, two owners of n/a");
  EXPECT_EQ(judged_by(unique_names_checker(), create(1, 2) + create(2, 4) + free, "{}").safety,
            Safety::kInvalid)
      << "too late";
  EXPECT_EQ(judged_by(unique_names_checker(), "5 invoke delete n/a\n" + create(1, 2) + create(2, 4))
                .safety,
            Safety::kValid)
      << "it may have happened";
  EXPECT_EQ(judged_by(unique_names_checker(),
                      "5 invoke delete n/a\n" + create(1, 2) + create(2, 4) + create(3, 5), "{}")
                .safety,
            Safety::kInvalid)
      << "once";
}

TEST(UniqueNames, NoNameGivenIsVacuous) {
  EXPECT_EQ(judged_by(unique_names_checker(),
                      "1 invoke write n/a 1 expected=0\n1 fail write n/a error=conflict\n")
                .safety,
            Safety::kVacuous);
  EXPECT_FALSE(unique_names_checker().applies(history_of(kWrite)));
  EXPECT_EQ(without_time(unique_names_checker(), create(1, 2)).safety, Safety::kUnknown);
}

constexpr const char* kStale = R"({"token":"orderable","claims":{"read":"stale"}})";
const std::string kTwo = "0 invoke write k 1\n0 ok write k 1 revision=2 at=2\n"
                         "0 invoke write k 2\n0 ok write k 2 revision=4 at=4\n";
std::string stale(const std::string& value, int revision, int at, const std::string& node = "n2") {
  return "1 invoke read k @" + node + "\n1 ok read k " + value + " @" + node +
         " revision=" + std::to_string(revision) + " at=" + std::to_string(at) + "\n";
}
Verdict judge_snapshots(const std::string& script, std::string_view header = kStale) {
  return judged_by(snapshot_reads_checker(), script, header);
}

TEST(SnapshotReads, AnOldStateIsFineWhereItIsThatOfItsRevision) {
  EXPECT_EQ(judge_snapshots(kTwo + stale("null", 0, 1) + stale("1", 2, 3) + stale("2", 4, 7)).safety,
            Safety::kValid);
}

TEST(SnapshotReads, WhatItsRevisionDoesNotHaveIsOfNoState) {
  EXPECT_EQ(judge_snapshots(kTwo + stale("1", 2, 5)).reason, "a read of no state of its revision of k");
  EXPECT_EQ(judge_snapshots(kTwo + stale("2", 4, 3)).reason, "a read newer than its own revision of k");
  EXPECT_EQ(judge_snapshots(kTwo + stale("7", 2, 3)).safety, Safety::kInvalid);
  EXPECT_EQ(judge_snapshots(kTwo + stale("null", 0, 5)).safety, Safety::kInvalid);
  EXPECT_EQ(judge_snapshots(stale("1", 2, 3) + kTwo).reason, "a state that was not yet of k");
}

TEST(SnapshotReads, WhereEachNodeCountsItsOwnRevisionsOnlyGoingBackIsWrong) {
  constexpr const char* kWeak =
      R"({"token":"orderable","claims":{"read":"stale","own-revisions":true}})";
  EXPECT_EQ(judge_snapshots(kTwo + stale("1", 2, 5) + stale("2", 9, 9), kWeak).word(), Word::kValid);
  EXPECT_EQ(judge_snapshots(kTwo + stale("2", 4, 5) + stale("1", 2, 5), kWeak).reason,
            "a session that goes back of k");
  EXPECT_EQ(judge_snapshots(kTwo + stale("null", 0, 1), kWeak).word(), Word::kVacuous);
}

TEST(SnapshotReads, ADeleteThatFoundTheKeyGoneMadeNoState) {
  const std::string gone = "0 invoke delete k\n0 ok delete k revision=0 at=5\n";
  const std::string again = "0 invoke delete k\n0 ok delete k revision=0 at=7\n";
  EXPECT_EQ(judge_snapshots(kTwo + gone + stale("null", 0, 7) + again).safety, Safety::kValid);
  const std::string guarded = "0 invoke delete k expected=4\n0 ok delete k revision=0 at=5\n";
  EXPECT_EQ(judge_snapshots(kTwo + stale("null", 0, 5) + guarded).reason,
            "a state that was not yet of k");
}

TEST(SnapshotReads, AnUnknownWriteMayBeBehindANewerState) {
  const std::string unknown = "5 invoke write k 9\n5 info write k\n";
  EXPECT_EQ(judge_snapshots(kTwo + unknown + stale("9", 5, 6)).safety, Safety::kValid);
  EXPECT_EQ(judge_snapshots(kTwo + unknown + stale("1", 2, 6)).safety, Safety::kInvalid);
}

TEST(SnapshotReads, ASessionNeverGoesBackOnOneNode) {
  EXPECT_EQ(judge_snapshots(kTwo + stale("2", 4, 5) + stale("1", 2, 3)).reason,
            "a session that goes back of k");
  EXPECT_EQ(judge_snapshots(kTwo + stale("2", 4, 5) + stale("1", 2, 3, "n3")).safety, Safety::kValid);
}

TEST(SnapshotReads, OnlyWhatIsLabelledIsJudged) {
  EXPECT_FALSE(snapshot_reads_checker().applies(
      history_of(kTwo + stale("1", 2, 5), R"({"token":"orderable"})")));
  const std::string one = "1 invoke read k stale=true\n1 ok read k 1 revision=2 at=5\n";
  EXPECT_EQ(judge_snapshots(kTwo + one, R"({"token":"orderable"})").safety, Safety::kInvalid);
  EXPECT_EQ(judge_snapshots(kTwo + "1 invoke read k\n1 ok read k 1\n").safety, Safety::kVacuous);
  EXPECT_EQ(without_time(snapshot_reads_checker(), kTwo + stale("1", 2, 3), kStale).safety,
            Safety::kUnknown);
}

}  // namespace
}  // namespace assay::smaller_checkers
