// The rule of a quorum as a matrix: clusters of N members by k of them cut off, for each k from 0 to N:
// on which side is a write answered ok? INV-008's exercise 2: more than half of all members must be
// together; so four tolerate no more than three do, and of exactly half nobody answers.
//
// One run plays a row of the matrix: the same cluster, k = 0 … N one after another, healed in between.
// k members cut off stand against the other N-k; k = N: each is alone. In each cell a write is tried on
// every node, and again until it is answered ok or the patience is over.
#pragma once

#include <string>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/time.h"
#include "checkers/history/value.h"
#include "results/report/matrix.h"

namespace assay {

// The steps of the workload `script` that play a row.
Value quorum_script(int members, Nanos patience);

struct QuorumSide {
  std::vector<std::string> nodes;
  int answered = 0;  // of them: a write begun there under the cut was answered ok before the heal
};

struct QuorumCell {
  int members = 0;
  int cut_off = 0;
  std::vector<QuorumSide> sides;  // those that are cut off first
  std::string not_measured;       // why it says nothing; empty: it does
};

// The row that a run of such a script has played: what its history says, cuts included, and nothing
// that the script meant. A cell of which the cut was not seen, or not asked on every node, is not
// measured.
std::vector<QuorumCell> quorum_row(const History& history);

// Whether writes are answered on a side of so many, by the rule.
bool is_quorum(size_t side, int members);

// How the cell differs from the rule: which side, and what was seen there. Empty: it does not; nor
// does one that was not measured.
std::string off_the_rule(const QuorumCell& cell);

// "2 silent, 3 answer"; "not measured".
std::string quorum_text(const QuorumCell& cell);

// "the rule": every cell from 1 … `sizes` by 0 … N is there, measured, and as the rule has it;
// "otherwise": some cell is not. What is wrong, a sentence each; empty: nothing.
std::vector<std::string> judge_quorum(const std::vector<QuorumCell>& cells,
                                      const std::vector<int>& sizes, const std::string& expected);

// To be drawn: a row per size, a column per number of members that are cut off.
Matrix quorum_matrix(const std::vector<QuorumCell>& cells, const std::vector<int>& sizes,
                     const std::string& title);

// How many members may be cut off, whichever, with the others still answered; -1: unknown.
int tolerated(const std::vector<QuorumCell>& cells, int members);

}  // namespace assay
