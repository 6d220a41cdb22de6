#include "harness/exit_code.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Verdict verdict(Safety safety, Progress progress = Progress::kOk) {
  Verdict v;
  v.name = "run";
  v.safety = safety;
  v.progress = progress;
  return v;
}

TEST(ExitCode, EachWordHasItsOwn) {
  EXPECT_EQ(exit_code(Word::kValid), 0);
  EXPECT_EQ(exit_code(Word::kInvalid), 1);
  EXPECT_EQ(exit_code(Word::kUnknown), 2);
  EXPECT_EQ(exit_code(Word::kBlocked), 3);
  EXPECT_EQ(exit_code(Word::kVacuous), 4);
  EXPECT_EQ(exit_code(input_error("x")), 254);
  EXPECT_EQ(exit_code(environment_error("x")), 255);
}

TEST(ExitCode, AnExpectationThatHoldsIsZeroAndOneThatDoesNotIsFive) {
  std::string why;
  EXPECT_EQ(expected_exit_code(verdict(Safety::kInvalid), {{"", "invalid"}}, &why), 0);
  EXPECT_EQ(expected_exit_code(verdict(Safety::kValid), {{"", "invalid"}}, &why), 5);
  EXPECT_NE(why.find("expected invalid"), std::string::npos);
  EXPECT_EQ(expected_exit_code(verdict(Safety::kInvalid), {{"", "valid"}}, &why), 5);
  EXPECT_EQ(
      expected_exit_code(verdict(Safety::kValid, Progress::kBlocked), {{"", "blocked"}}, &why), 0);
  EXPECT_EQ(expected_exit_code(verdict(Safety::kInvalid), {}, &why), 1);
}

TEST(ExitCode, AnUndecidedRunStaysUndecidedUnderAnExpectation) {
  std::string why;
  EXPECT_EQ(expected_exit_code(verdict(Safety::kUnknown), {{"", "valid"}}, &why), 2);
  EXPECT_EQ(expected_exit_code(verdict(Safety::kVacuous), {{"", "invalid"}}, &why), 4);
}

TEST(ExitCode, AnExpectationMayNameAPart) {
  Verdict run = verdict(Safety::kValid);
  Verdict part = verdict(Safety::kInvalid);
  part.name = "linearizable";
  run.add(part);
  std::string why;
  EXPECT_EQ(expected_exit_code(run, {{"linearizable", "invalid"}}, &why), 0);
  EXPECT_EQ(expected_exit_code(run, {{"availability", "invalid"}}, &why), 5);
  EXPECT_NE(why.find("absent"), std::string::npos);
}

TEST(ExitCode, OfSeveralRunsTheWorstCounts) {
  const ExitCode order[] = {kExitBadInput, kExitInvalid,     kExitUnexpected,
                            kExitHarness,  kExitInterrupted, kExitBlocked,
                            kExitUnknown,  kExitVacuous,     kExitValid};
  for (size_t i = 0; i < std::size(order); ++i) {
    for (size_t j = i; j < std::size(order); ++j) {
      EXPECT_EQ(worse(order[i], order[j]), order[i]);
      EXPECT_EQ(worse(order[j], order[i]), order[i]);
    }
  }
}

}  // namespace
}  // namespace assay
