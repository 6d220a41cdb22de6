#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"
#include "checkers/run_script.h"

namespace assay {
namespace {

using run_script::Script;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

const std::string kHeader =
    R"({"workload":"register","nodes":["n1","n2","n3"],"faults":["partition"]})";

Verdict judge(const Script& script) {
  return exposure_checker().check(history_of(script.text(), kHeader), Budget{});
}

TEST(Exposure, CountsWhatCouldHaveGoneWrong) {
  Script script;
  script
      .fault("partition", 2000, 8000,
             R"({"victims":["n3"],"cut":[["n1","n3"],["n3","n1"],["n2","n3"],["n3","n2"]],)"
             R"("installed":true,"bit":true})")
      .observe(1000, "status", R"({"node":"n3","role":"leader","term":1})")
      .observe(4000, "status", R"({"node":"n1","role":"leader","term":2})")
      .op(3000, 3001, "read", "n3")  // cut off, still leading
      .op(4100, 4101, "read", "n3")  // cut off and deposed
      .op(4200, 4201, "read", "n1")  // of the majority
      .op(8500, 8501, "read", "n3")  // healed, deposed not long ago
      .op(20'000, 20'001, "read", "n3")
      .op(4300, 5300, "write", "n2", "info");
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kValid);
  EXPECT_THAT(verdict.counts, Contains(Pair("reads on nodes cut off", 2)));
  EXPECT_THAT(verdict.counts, Contains(Pair("reads on deposed leaders", 2)));
  EXPECT_THAT(verdict.counts, Contains(Pair("unknown changes", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("leader changes", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("elections under load", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("partition bit", 1)));
  EXPECT_THAT(verdict.facts,
              Contains(Pair("could have been caught",
                            "2 reads were served by nodes that had lost leadership")));
}

// n1 goes on saying that it leads.
TEST(Exposure, WithoutTermsAnElectionIsANodeThatBeginsToLead) {
  Script script;
  const auto leads = [&](int64_t at, const char* node) {
    script.observe(at, "status", std::string(R"({"role":"leader","node":")") + node + "\"}");
  };
  for (int64_t at : {1000, 2000, 3000, 4000, 5000}) leads(at, "n1");
  for (int64_t at : {3100, 4100, 5100}) leads(at, "n2");
  script.op(4200, 4201, "read", "n1").op(4300, 4301, "read", "n2");
  const Verdict verdict = judge(script);
  EXPECT_THAT(verdict.counts, Contains(Pair("leader changes", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("reads on deposed leaders", 1)));
}

TEST(Exposure, ReadsThatMayBeStaleAreNoChanceToCatchAnything) {
  Script script;
  script
      .fault("partition", 2000, 8000,
             R"({"victims":["n3"],"cut":[["n1","n3"],["n3","n1"],["n2","n3"],["n3","n2"]],)"
             R"("installed":true,"bit":true})")
      .op(3000, 3001, "read", "n3");
  const std::string header =
      kHeader.substr(0, kHeader.size() - 1) + R"(,"claims":{"read":"stale"}})";
  const Verdict verdict = exposure_checker().check(history_of(script.text(), header), Budget{});
  EXPECT_THAT(verdict.counts, Contains(Pair("reads on nodes cut off", 1)));
  EXPECT_THAT(verdict.facts,
              testing::Not(Contains(Pair("could have been caught", HasSubstr("read")))));
  EXPECT_THAT(verdict.facts, testing::Not(Contains(Pair("not tested", HasSubstr("read")))));
}

TEST(Exposure, SaysWhatWasNotTested) {
  Script script;
  script.op(100, 101, "read", "n1");
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kValid) << "it judges nothing";
  EXPECT_THAT(verdict.facts,
              Contains(Pair("not tested", HasSubstr("reads on nodes that were cut off: none"))));
  EXPECT_THAT(verdict.counts, Contains(Pair("partition installed", 0)));
}

}  // namespace
}  // namespace assay
