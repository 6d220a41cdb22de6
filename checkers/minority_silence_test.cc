#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/run_script.h"
#include "checkers/testing_verdicts.h"

namespace assay::minority_silence {
namespace {

using run_script::Script;
using testing::HasSubstr;
using testing_verdicts::headline_of;

constexpr const char* kFive = R"({"nodes":["n1","n2","n3","n4","n5"]})";
// n1 and n2 on one side: every link from them to the others; both ways, where asked.
std::string cut(bool both, bool bit = true) {
  std::string links;
  for (const char* a : {"n1", "n2"}) {
    for (const char* b : {"n3", "n4", "n5"}) {
      links += std::string(links.empty() ? "" : ",") + "[\"" + a + "\",\"" + b + "\"]";
      if (both) links += std::string(",[\"") + b + "\",\"" + a + "\"]";
    }
  }
  return "{\"victims\":[\"n1\",\"n2\"],\"installed\":true,\"bit\":" + std::string(bit ? "true" : "false") +
         ",\"cut\":[" + links + "]}";
}
Verdict judge(const Script& script, std::string_view header = kFive) {
  return testing_verdicts::judged_by(minority_silence_checker(), script.text(), header);
}

TEST(MinoritySilence, WhoIsCutOffAnswersNothingAndTheMajorityDoes) {
  const Verdict verdict = judge(Script()
                                    .fault("partition", 1000, 5000, cut(true))
                                    .op(2000, 2001, "write", "n3")
                                    .op(2000, 3000, "write", "n1", "info", "error=timeout")
                                    .op(3000, 5010, "write", "n2")
                                    .op(900, 1500, "write", "n1")
                                    .op(6000, 6001, "write", "n1"));
  EXPECT_EQ(verdict.safety, Safety::kValid) << headline_of(verdict);
  EXPECT_EQ(verdict.counts[1].second, 2);
}

TEST(MinoritySilence, AnAcknowledgementFromTheMinorityIsInvalidAlsoWhereOneDirectionIsCut) {
  for (bool both : {true, false}) {
    for (const char* f : {"write", "read", "cas"}) {
      const Verdict verdict =
          judge(Script().fault("partition", 1000, 5000, cut(both)).op(2000, 2001, f, "n1"));
      EXPECT_EQ(verdict.reason, "an answer from the minority: n1");
      EXPECT_THAT(headline_of(verdict), HasSubstr("by n1, 3 s before the cut of that node was healed"));
    }
  }
}

TEST(MinoritySilence, CutsThatOverlapAddUp) {
  const auto one = [](const std::string& a, const std::string& b) {
    return "{\"victims\":[],\"installed\":true,\"bit\":true,\"cut\":[[\"" + a + "\",\"" + b +
           "\"],[\"" + b + "\",\"" + a + "\"]]}";
  };
  const char* three = R"({"nodes":["n1","n2","n3"]})";
  Script script;
  script.fault("partition", 1000, 5000, one("n1", "n2")).fault("cut", 2000, 6000, one("n1", "n3"));
  EXPECT_EQ(judge(Script(script).op(3000, 3001, "write", "n1"), three).safety, Safety::kInvalid);
  EXPECT_EQ(judge(Script(script).op(5500, 5501, "write", "n1"), three).safety, Safety::kVacuous);
  EXPECT_EQ(judge(Script(script).op(3000, 3001, "write", "n2"), three).safety, Safety::kVacuous);
}

TEST(MinoritySilence, ReadsThatNeedNotBeOfTheLatestStateMayBeAnswered) {
  EXPECT_EQ(judge(Script().fault("partition", 1000, 5000, cut(true)).op(2000, 2001, "read", "n1"),
                  R"({"nodes":["n1","n2","n3","n4","n5"],"claims":{"read":"stale"}})")
                .safety,
            Safety::kVacuous);
}

TEST(MinoritySilence, NobodyAskedIsVacuousAndACutThatWasNotVerifiedIsNone) {
  EXPECT_EQ(judge(Script().fault("partition", 1000, 5000, cut(true)).op(2000, 2001, "read", "n4"))
                .safety,
            Safety::kVacuous);
  EXPECT_FALSE(minority_silence_checker().applies(
      history_of(Script().fault("partition", 1000, 5000, cut(true, false)).text(), kFive)));
  EXPECT_EQ(testing_verdicts::without_time(
                minority_silence_checker(),
                Script().fault("partition", 1000, 5000, cut(true)).op(2000, 2001, "read", "n4").text(),
                kFive)
                .safety,
            Safety::kUnknown);
}

}  // namespace
}  // namespace assay::minority_silence
