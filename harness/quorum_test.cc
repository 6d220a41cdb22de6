#include "harness/quorum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "workloads/script_steps.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A matrix as the rule has it, of these sizes.
std::vector<QuorumCell> by_the_rule(const std::vector<int>& sizes) {
  std::vector<QuorumCell> cells;
  for (int members : sizes) {
    for (int cut_off = 0; cut_off <= members; ++cut_off) {
      QuorumCell cell{members, cut_off, {}, ""};
      const auto side = [&](int from, int to) {
        QuorumSide made;
        for (int i = from; i < to; ++i) made.nodes.push_back("n" + std::to_string(i + 1));
        made.answered = is_quorum(made.nodes.size(), members) ? to - from : 0;
        cell.sides.push_back(made);
      };
      if (cut_off == members) {
        for (int i = 0; i < members; ++i) side(i, i + 1);
      } else {
        if (cut_off > 0) side(0, cut_off);
        side(cut_off, members);
      }
      cells.push_back(cell);
    }
  }
  return cells;
}

QuorumCell& cell_of(std::vector<QuorumCell>& cells, int members, int cut_off) {
  for (QuorumCell& cell : cells)
    if (cell.members == members && cell.cut_off == cut_off) return cell;
  return cells.front();
}

TEST(Quorum, FourTolerateNoMoreThanThreeAndOfExactlyHalfNobodyAnswers) {
  const std::vector<int> sizes{1, 2, 3, 4, 5, 6, 7};
  auto cells = by_the_rule(sizes);
  EXPECT_THAT(judge_quorum(cells, sizes, "the rule"), IsEmpty());
  std::vector<int> tolerate;
  for (int members : sizes) tolerate.push_back(tolerated(cells, members));
  EXPECT_THAT(tolerate, ElementsAre(0, 0, 1, 1, 2, 2, 3));
  for (int members : {2, 4, 6}) {
    EXPECT_EQ(cell_of(cells, members, members / 2).sides[0].answered, 0);
    EXPECT_EQ(cell_of(cells, members, members / 2).sides[1].answered, 0);
  }
  EXPECT_EQ(quorum_text(cell_of(cells, 5, 2)), "2 silent, 3 answer");
  EXPECT_EQ(quorum_text(cell_of(cells, 4, 4)), "all alone, silent");
  EXPECT_EQ(quorum_text(cell_of(cells, 1, 1)), "1 answers");
}

TEST(Quorum, AMatrixWithOneWrongCellIsRejectedWithItsWitness) {
  const std::vector<int> sizes{1, 2, 3, 4, 5, 6, 7};
  const auto right = by_the_rule(sizes);
  for (size_t i = 0; i < right.size(); ++i) {
    for (size_t side = 0; side < right[i].sides.size(); ++side) {
      auto wrong = right;
      int& answered = wrong[i].sides[side].answered;
      answered = answered > 0 ? 0 : 1;
      const auto problems = judge_quorum(wrong, sizes, "the rule");
      ASSERT_EQ(problems.size(), 1u) << i << " " << side;
      EXPECT_THAT(problems[0], HasSubstr(std::to_string(right[i].members) + " members, " +
                                         std::to_string(right[i].cut_off) + " cut off"));
      EXPECT_THAT(problems[0], HasSubstr(right[i].sides[side].nodes[0]));
      EXPECT_THAT(judge_quorum(wrong, sizes, "otherwise"), IsEmpty());
      EXPECT_THAT(matrix_text(quorum_matrix(wrong, sizes, "t")), HasSubstr("**"));
    }
  }
}

TEST(Quorum, ACellThatIsMissingOrWasNotMeasuredIsNotAsExpected) {
  const std::vector<int> sizes{3};
  auto cells = by_the_rule(sizes);
  cells[1].not_measured = "nobody asked n1 under the cut";
  EXPECT_THAT(judge_quorum(cells, sizes, "the rule"),
              ElementsAre("3 members, 1 cut off: nobody asked n1 under the cut"));
  cells.erase(cells.begin() + 1);
  EXPECT_THAT(judge_quorum(cells, sizes, "the rule"),
              ElementsAre("3 members, 1 cut off: it was not played"));
}

TEST(Quorum, ADesignThatIsToDifferMustDiffer) {
  EXPECT_THAT(judge_quorum(by_the_rule({3}), {3}, "otherwise"), ElementsAre(HasSubstr("every cell")));
}

TEST(Quorum, AScriptIsOneOfTheWorkloadAndCutsEachNumberOnce) {
  for (int members = 1; members <= 7; ++members) {
    std::vector<std::string> nodes;
    for (int i = 1; i <= members; ++i) nodes.push_back("n" + std::to_string(i));
    auto script = Script::parse(quorum_script(members, seconds(2)), nodes);
    ASSERT_TRUE(script.ok()) << script.error().message;
    int splits = 0;
    for (const ScriptStep& step : script->steps()) splits += !step.op.value["sides"].is_null();
    EXPECT_EQ(splits, members == 1 ? 0 : members);
  }
}

constexpr std::string_view kNodes = R"({"nodes":["n1","n2","n3"]})";
const std::string kCut =
    R"(nemesis info start-partition {"sides":[["n1"],["n2","n3"]]}
       nemesis info start-partition {"victims":["n1","n2","n3"],"cut":[["n1","n2"],["n2","n1"],["n1","n3"],["n3","n1"]],"installed":true,"bit":true}
)";
const std::string kHeal = "nemesis info stop-partition\nnemesis info stop-partition {\"healed\":true}\n";

std::string tried(const std::string& process, const std::string& node, const std::string& type) {
  return process + " invoke write cut1 1 @" + node + "\n" + process + " " + type + " write cut1 1 @" + node +
         (type == "ok" ? "\n" : " error=timeout\n");
}

TEST(Quorum, ACellIsReadFromTheCutThatWasSeenAndTheAnswersUnderIt) {
  const auto cells = quorum_row(history_of(
      kCut + tried("0", "n1", "info") + tried("1", "n2", "ok") + tried("2", "n3", "ok") + kHeal, kNodes));
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(quorum_text(cells[1]), "1 silent, 2 answer");
  EXPECT_EQ(off_the_rule(cells[1]), "");
  EXPECT_EQ(quorum_text(cells[2]), "not measured");
}

TEST(Quorum, AnAnswerAfterTheHealIsNoAnswerUnderTheCut) {
  const auto cells = quorum_row(history_of(kCut + "0 invoke write cut1 1 @n1\n" + tried("1", "n2", "ok") +
                                               tried("2", "n3", "ok") + kHeal +
                                               "0 ok write cut1 1 @n1\n",
                                           kNodes));
  EXPECT_EQ(quorum_text(cells[1]), "1 silent, 2 answer");
}

TEST(Quorum, AnAnswerFromTheMinorityIsOffTheRule) {
  const auto cells = quorum_row(history_of(
      kCut + tried("0", "n1", "ok") + tried("1", "n2", "ok") + tried("2", "n3", "ok") + kHeal, kNodes));
  EXPECT_EQ(off_the_rule(cells[1]),
            "3 members, 1 cut off: the side of n1 is no more than half, and a write was answered ok by "
            "1 of 1");
}

TEST(Quorum, ACutThatDidNotBiteOrIsAnotherMeasuresNothing) {
  std::string toothless = kCut, another = kCut;
  toothless.replace(toothless.find("\"bit\":true"), 10, "\"bit\":false");
  another.replace(another.find(R"(,["n3","n1"])"), 12, "");
  for (const std::string& cut : {toothless, another}) {
    const auto cells = quorum_row(history_of(
        cut + tried("0", "n1", "info") + tried("1", "n2", "ok") + tried("2", "n3", "ok") + kHeal, kNodes));
    EXPECT_EQ(cells[1].not_measured, "no such cut was seen to be in force");
  }
  const auto cells = quorum_row(
      history_of(kCut + tried("0", "n1", "info") + tried("1", "n2", "ok") + kHeal, kNodes));
  EXPECT_EQ(cells[1].not_measured, "nobody asked n3 under the cut");
}

TEST(Quorum, TheMatrixIsDrawn) {
  auto cells = by_the_rule({3, 4});
  cells[1].sides[0].answered = 1;
  const std::string svg = matrix_svg(quorum_matrix(cells, {3, 4}, "quorum"));
  EXPECT_THAT(svg, HasSubstr("class=\"off\""));
  EXPECT_THAT(svg, HasSubstr("class=\"yes\""));
  EXPECT_THAT(svg, HasSubstr("class=\"no\""));
  EXPECT_THAT(svg, HasSubstr("1 of 3, 1 of 4"));
  EXPECT_THAT(svg, HasSubstr("all alone, silent"));
}

}  // namespace
}  // namespace assay
