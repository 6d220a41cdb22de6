#include "harness/quorum.h"

#include <algorithm>
#include <set>

#include "checkers/history/vocabulary.h"
#include "checkers/words.h"

namespace assay {
namespace {

constexpr const char* kProbePatience = "10s";

Value step_of(std::initializer_list<std::pair<const char*, Value>> members) {
  Value::Object made;
  for (const auto& [name, value] : members) made.emplace_back(Symbol(name), value);
  return Value::object(std::move(made));
}

std::string cell_key(int cut_off) { return "cut" + std::to_string(cut_off); }

// Whom the cut leaves together, of all nodes in order.
std::vector<QuorumSide> sides_of(const std::vector<std::string>& nodes, int cut_off) {
  const auto n = static_cast<int>(nodes.size());
  std::vector<QuorumSide> sides;
  if (cut_off == n) {
    for (const std::string& node : nodes) sides.push_back({{node}, 0});
    return sides;
  }
  if (cut_off > 0) sides.push_back({{nodes.begin(), nodes.begin() + cut_off}, 0});
  sides.push_back({{nodes.begin() + cut_off, nodes.end()}, 0});
  return sides;
}

Value side_names(const std::vector<QuorumSide>& sides) {
  Value::Array all;
  for (const QuorumSide& side : sides) {
    Value::Array names;
    for (const std::string& node : side.nodes) names.emplace_back(node);
    all.push_back(Value::array(std::move(names)));
  }
  return Value::array(std::move(all));
}

using Link = std::pair<Symbol, Symbol>;

std::set<Link> links_between(const std::vector<QuorumSide>& sides) {
  std::set<Link> links;
  for (const QuorumSide& from : sides)
    for (const QuorumSide& to : sides)
      for (const std::string& a : from.nodes)
        for (const std::string& b : to.nodes)
          if (&from != &to) links.emplace(Symbol(a), Symbol(b));
  return links;
}

class QuorumRow {
 public:
  explicit QuorumRow(const History& history)
      : history_(history), faults_(fault_intervals(history)), nodes_(history.header().nodes) {}

  QuorumCell cell(int cut_off) const {
    QuorumCell cell{static_cast<int>(nodes_.size()), cut_off, sides_of(nodes_, cut_off), ""};
    Nanos from{}, to = kNever;
    if (cell.sides.size() > 1) {
      const FaultInterval* cut = cut_of(cell);
      if (!cut) {
        cell.not_measured = "no such cut was seen to be in force";
        return cell;
      }
      from = cut->begin;
      to = cut->end;
    }
    for (QuorumSide& side : cell.sides) {
      for (const std::string& node : side.nodes) {
        const Seen seen = writes(cell_key(cut_off), Symbol(node), from, to);
        side.answered += seen.answered;
        if (!seen.asked) cell.not_measured = "nobody asked " + node + " under the cut";
      }
    }
    return cell;
  }

 private:
  struct Seen {
    bool asked = false;
    bool answered = false;
  };

  // The cut of exactly these links under which this cell's writes were begun.
  const FaultInterval* cut_of(const QuorumCell& cell) const {
    const std::set<Link> wanted = links_between(cell.sides);
    for (const FaultInterval& fault : faults_) {
      const std::set<Link> links(fault.cut.begin(), fault.cut.end());
      const bool certain = fault.installed && fault.bit && fault.completed && fault.begin < fault.end;
      if (certain && links == wanted &&
          writes(cell_key(cell.cut_off), Symbol(), fault.begin, fault.end).asked)
        return &fault;
    }
    return nullptr;
  }

  // Of a node, or of any.
  Seen writes(const std::string& key, Symbol node, Nanos from, Nanos to) const {
    Seen seen;
    for (size_t id = 0; id < history_.size(); ++id) {
      const Operation op = history_[id];
      if (op.f() != f::write || op.key() != Symbol(key)) continue;
      if (!node.empty() && op.node() != node) continue;
      if (op.invoke_time() < from || op.invoke_time() >= to) continue;
      seen.asked = true;
      seen.answered |= op.type() == OpType::kOk && op.return_time() < to;
    }
    return seen;
  }

  const History& history_;
  const std::vector<FaultInterval> faults_;
  const std::vector<std::string>& nodes_;
};

std::string cell_name(const QuorumCell& cell) {
  return std::to_string(cell.members) + " members, " + std::to_string(cell.cut_off) + " cut off";
}

}  // namespace

Value quorum_script(int members, Nanos patience) {
  std::vector<std::string> nodes;
  for (int i = 1; i <= members; ++i) nodes.push_back("n" + std::to_string(i));
  Value::Array steps;
  int64_t value = 0;
  const auto write = [&](const std::string& node, const std::string& key, const std::string& span,
                         bool async) {
    steps.push_back(step_of({{"on", Value(node)}, {"f", Value("write")}, {"key", Value(key)},
                            {"value", Value(++value)}, {"until_ok", Value(span)},
                            {"async", Value(async)}}));
  };
  for (int cut_off = 0; cut_off <= members; ++cut_off) {
    const auto sides = sides_of(nodes, cut_off);
    const bool splits = sides.size() > 1;
    if (splits) steps.push_back(step_of({{"nemesis", Value("split")}, {"sides", side_names(sides)}}));
    for (const std::string& node : nodes)
      write(node, cell_key(cut_off), std::to_string(to_ms(patience)) + "ms", true);
    steps.push_back(step_of({{"wait", Value("answers")}}));
    if (!splits) continue;
    steps.push_back(step_of({{"nemesis", Value("heal")}}));
    write(nodes.front(), "healed" + std::to_string(cut_off), kProbePatience, false);
    write(nodes.back(), "healed" + std::to_string(cut_off), kProbePatience, false);
  }
  return Value::array(std::move(steps));
}

std::vector<QuorumCell> quorum_row(const History& history) {
  const QuorumRow row(history);
  std::vector<QuorumCell> cells;
  const auto members = static_cast<int>(history.header().nodes.size());
  for (int cut_off = 0; cut_off <= members; ++cut_off) cells.push_back(row.cell(cut_off));
  return cells;
}

bool is_quorum(size_t side, int members) { return side >= static_cast<size_t>(members / 2 + 1); }

std::string off_the_rule(const QuorumCell& cell) {
  if (!cell.not_measured.empty()) return "";
  for (const QuorumSide& side : cell.sides) {
    if ((side.answered > 0) == is_quorum(side.nodes.size(), cell.members)) continue;
    return cell_name(cell) + ": the side of " + listed(side.nodes) + " is " +
           (side.answered > 0 ? "no more than half, and a write was answered ok by " +
                                    std::to_string(side.answered) + " of " +
                                    std::to_string(side.nodes.size())
                              : std::string("more than half, and no write was answered ok"));
  }
  return "";
}

std::string quorum_text(const QuorumCell& cell) {
  if (!cell.not_measured.empty()) return "not measured";
  const bool alone = cell.cut_off == cell.members && cell.members > 1;
  if (alone) {
    const auto answers = std::count_if(cell.sides.begin(), cell.sides.end(),
                                       [](const QuorumSide& side) { return side.answered > 0; });
    return answers == 0 ? "all alone, silent"
                        : "all alone, " + std::to_string(answers) + " answer";
  }
  std::string text;
  for (const QuorumSide& side : cell.sides)
    text += (text.empty() ? "" : ", ") + std::to_string(side.nodes.size()) +
            (side.answered == 0              ? " silent"
             : side.nodes.size() == 1 ? " answers"
                                             : " answer");
  return text;
}

std::vector<std::string> judge_quorum(const std::vector<QuorumCell>& cells,
                                      const std::vector<int>& sizes, const std::string& expected) {
  std::vector<std::string> problems;
  bool any_differs = false;
  for (int members : sizes) {
    for (int cut_off = 0; cut_off <= members; ++cut_off) {
      const auto cell = std::find_if(cells.begin(), cells.end(), [&](const QuorumCell& c) {
        return c.members == members && c.cut_off == cut_off;
      });
      const std::string name = cell_name({members, cut_off, {}, ""});
      if (cell == cells.end()) {
        problems.push_back(name + ": it was not played");
        continue;
      }
      if (!cell->not_measured.empty()) problems.push_back(name + ": " + cell->not_measured);
      const std::string differs = off_the_rule(*cell);
      any_differs |= !differs.empty();
      if (expected == "the rule" && !differs.empty()) problems.push_back(differs);
    }
  }
  if (expected == "otherwise" && !any_differs)
    problems.push_back("every cell is as the rule of more than half has it, expected otherwise");
  return problems;
}

Matrix quorum_matrix(const std::vector<QuorumCell>& cells, const std::vector<int>& sizes,
                     const std::string& title) {
  Matrix matrix{.title = title,
                .columns_label = "how many are cut off from the others (all: each is alone)",
                .rows_label = "members"};
  const int largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  for (int cut_off = 0; cut_off <= largest; ++cut_off)
    matrix.columns.push_back(std::to_string(cut_off));
  std::string tolerate = "cut off, whichever, and the others still answered:";
  for (int members : sizes) {
    std::vector<MatrixCell> row(static_cast<size_t>(largest) + 1);
    for (const QuorumCell& cell : cells) {
      if (cell.members != members) continue;
      const std::string off = cell.not_measured.empty() ? off_the_rule(cell) : cell.not_measured;
      const bool answered = std::any_of(cell.sides.begin(), cell.sides.end(),
                                        [](const QuorumSide& side) { return side.answered > 0; });
      row[static_cast<size_t>(cell.cut_off)] = {!off.empty()  ? MatrixCell::Kind::kOff
                                                : answered ? MatrixCell::Kind::kYes
                                                           : MatrixCell::Kind::kNo,
                                                quorum_text(cell), off};
    }
    matrix.rows.push_back(std::to_string(members));
    matrix.cells.push_back(std::move(row));
    const int most = tolerated(cells, members);
    tolerate += " " + (most < 0 ? "?" : std::to_string(most)) + " of " + std::to_string(members) +
                (members == sizes.back() ? "" : ",");
  }
  matrix.notes = {tolerate, "orange: not as the rule has it, more than half of all members"};
  return matrix;
}

int tolerated(const std::vector<QuorumCell>& cells, int members) {
  int most = -1;
  for (int cut_off = 0; cut_off < members; ++cut_off) {
    const auto cell = std::find_if(cells.begin(), cells.end(), [&](const QuorumCell& c) {
      return c.members == members && c.cut_off == cut_off && c.not_measured.empty();
    });
    if (cell == cells.end() || cell->sides.back().answered == 0) break;
    most = cut_off;
  }
  return most;
}

}  // namespace assay
