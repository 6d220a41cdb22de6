// What the tests of checkers ask of verdicts.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "checkers/checker.h"
#include "checkers/history/test_history.h"

namespace assay::testing_verdicts {

// The verdict of a checker that applies to the script and accepts it.
inline Verdict judged_by(const Checker& checker, std::string_view script,
                         std::string_view header = R"({"token":"orderable"})") {
  const History history = history_of(script, header);
  EXPECT_TRUE(checker.applies(history));
  EXPECT_TRUE(checker.accepts(history));
  return checker.check(history, Budget{});
}

// The first line of the first witness; "none".
inline std::string headline_of(const Verdict& verdict) {
  if (verdict.witness) return verdict.witness->lines.at(0);
  for (const Verdict& child : verdict.children) {
    if (const std::string line = headline_of(child); line != "none") return line;
  }
  return "none";
}

// What a checker says when its time is up at once.
inline Verdict without_time(const Checker& checker, std::string_view script,
                            std::string_view header = R"({"token":"orderable"})") {
  Budget budget;
  budget.exhausted = [] { return true; };
  return checker.check(history_of(script, header), budget);
}

}  // namespace assay::testing_verdicts
