// Checker::refutes on recorded histories: a prefix of a valid one is never refuted, and what is
// refuted once stays so.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "checkers/check_model.h"
#include "checkers/history/history_io.h"
#include "checkers/history/test_history.h"
#include "checkers/models/registry.h"
#include "checkers/registry.h"
#include "checkers/testing_manifest.h"

namespace assay {
namespace {

History prefix_of(const History& history, const std::vector<Op>& lines, size_t count) {
  HistoryBuilder builder;
  builder.set_header(history.header());
  for (size_t i = 0; i < count; ++i) EXPECT_TRUE(builder.add(lines[i]).ok());
  return builder.build();
}

std::vector<Op> lines_of(const History& history) {
  std::vector<Op> lines;
  history.for_each_line([&](const Op& line) { lines.push_back(line); });
  return lines;
}

// The length of the shortest prefix that is refuted, looked for at every line; 0: none is.
size_t refuted_from(const History& history, const Checker& checker) {
  const std::vector<Op> lines = lines_of(history);
  size_t from = 0;
  for (size_t count = 1; count <= lines.size(); ++count) {
    const History prefix = prefix_of(history, lines, count);
    const bool refuted = checker.refutes(prefix, Budget{});
    EXPECT_TRUE(refuted || from == 0) << "refuted at " << from << ", and no more at " << count;
    if (refuted && from == 0) from = count;
  }
  return from;
}

struct Recorded {
  std::string file;
  History history;
};

// Those that are short enough to be split at every line.
std::vector<Recorded> recorded() {
  std::vector<Recorded> all;
  for (const ManifestRow& row : manifest_rows()) {
    if (row.at("set") == "elle" || find_model(row.at("model")) == nullptr ||
        std::atoi(row.at("events").c_str()) > 500)
      continue;
    auto history = read_history(histories_folder() + row.at("file"));
    if (!history) continue;
    apply_conventions(row, history->mutable_header());
    all.push_back({row.at("file"), std::move(*history)});
  }
  return all;
}

TEST(Refutes, NoPrefixOfARecordedValidHistoryAndEachInvalidOneOnceAndForAll) {
  const std::vector<Recorded> histories = recorded();
  if (histories.empty())
    GTEST_SKIP() << "the corpus is not part of the repository, and no histories are under "
                 << histories_folder();
  const Checker& checker = linearizable_checker();
  size_t valid = 0, invalid = 0;
  for (const Recorded& one : histories) {
    SCOPED_TRACE(one.file);
    if (!checker.accepts(one.history)) continue;
    const Safety safety = checker.check(one.history, Budget{}).safety;
    const size_t from = refuted_from(one.history, checker);
    EXPECT_EQ(from > 0, safety == Safety::kInvalid);
    (safety == Safety::kInvalid ? invalid : valid) += 1;
  }
  std::cout << valid << " valid and " << invalid << " invalid histories\n";
  EXPECT_GT(valid, 0u);
  EXPECT_GT(invalid, 0u);
}

TEST(Refutes, AGuessOfTheModelIsNoProof) {
  const char* stale = "0 invoke write k 1\n0 ok write k 1\n0 invoke read k\n0 ok read k null\n";
  EXPECT_FALSE(linearizable_checker().refutes(history_of(stale), Budget{}));
  EXPECT_TRUE(
      linearizable_checker().refutes(history_of(stale, R"({"model":"register"})"), Budget{}));
}

TEST(Refutes, VersionOrderAtTheReadOfAnOlderRevision) {
  const History history = history_of(
      "0 invoke write k 1\n0 ok write k 1 revision=2 at=2\n0 invoke write k 1\n"
      "0 ok write k 1 revision=3 at=3\n1 invoke read k\n1 ok read k 1 revision=2 at=3\n"
      "0 invoke read k\n0 ok read k 1 revision=3 at=3\n",
      R"({"token":"orderable"})");
  EXPECT_EQ(refuted_from(history, version_order_checker()), 6u);
}

// The first answers look as if both counted alike, until one shows that they do not.
TEST(Refutes, WhetherAKeyIsGoneIsNotJudgedOfAPrefix) {
  const History history = history_of(
      "0 invoke write k 1\n0 ok write k 1 revision=2 at=2\n"
      "1 invoke read k\n1 ok read k null revision=0 at=3\n"
      "0 invoke write k 1\n0 ok write k 1 revision=9 at=4\n",
      R"({"token":"orderable"})");
  EXPECT_NE(version_order_checker().check(history, Budget{}).safety, Safety::kInvalid);
  EXPECT_EQ(refuted_from(history, version_order_checker()), 0u);
}

TEST(Refutes, NothingOnceItsTimeIsUp) {
  Budget none;
  none.exhausted = [] { return true; };
  const History history =
      history_of("0 invoke write k 1\n0 ok write k 1\n0 invoke read k\n0 ok read k null\n",
                 R"({"model":"register","checkers":["linearizable"]})");
  EXPECT_EQ(refuting_checker(history, none), nullptr);
  EXPECT_EQ(refuting_checker(history, Budget{}), &linearizable_checker());
}

}  // namespace
}  // namespace assay
