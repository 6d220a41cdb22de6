// node-exits: did a node end, or say something in its log, that nobody asked for?
//
// A node that ends by itself is a crash: invalid, whatever the clients saw. So is a log line that
// speaks of a panic, a failed assertion, or damaged data. Other findings are shown, not judged.
#include <algorithm>
#include <array>

#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kGrave = {"panic", "assertion", "corruption", "data loss",
                                                    "sanitizer"};
constexpr size_t kLinesMax = 10;
constexpr Nanos kAround = seconds(2);

bool is_grave(std::string_view finding) {
  return std::find(kGrave.begin(), kGrave.end(), finding) != kGrave.end();
}

std::string how(const NodeExit& exit) {
  return exit.signal > 0 ? "signal " + std::to_string(exit.signal)
                         : "code " + std::to_string(exit.code);
}

std::string said(const LogLine& log) {
  return std::string(log.node.text()) + " logged at " + format_point(log.time) + ": " +
         std::string(log.line);
}

// The last finding of that node shortly before or after it ended.
const LogLine* explanation(const NodeExit& exit, const std::vector<LogLine>& logs) {
  const LogLine* found = nullptr;
  for (const LogLine& log : logs) {
    if (log.node != exit.node || log.finding.empty()) continue;
    if (log.time + kAround >= exit.time && log.time <= exit.time + kAround) found = &log;
  }
  return found;
}

class NodeExits : public Checker {
 public:
  std::string_view name() const override { return "node-exits"; }
  std::string_view summary() const override {
    return "no node ends by itself, panics or finds its data damaged";
  }
  bool applies(const History& history) const override { return !history.observations().empty(); }

  Verdict check(const History& history, const Budget&) const override {
    Verdict verdict{.name = "node-exits"};
    if (history.observations().empty()) {
      verdict.safety = Safety::kVacuous;
      verdict.reason = "nobody observed the nodes";
      return verdict;
    }
    const std::vector<NodeExit> exits = node_exits(history);
    const std::vector<LogLine> logs = log_lines(history);
    Witness witness;
    size_t crashes = 0, findings = 0;
    for (const NodeExit& exit : exits) {
      if (exit.expected) continue;
      ++crashes;
      std::string line = std::string(exit.node.text()) + " ended by itself at " +
                         format_point(exit.time) + " (" + how(exit) + ")";
      if (const LogLine* log = explanation(exit, logs)) line += ", " + said(*log);
      witness.lines.push_back(std::move(line));
    }
    for (const LogLine& log : logs) {
      if (log.finding.empty()) continue;
      ++findings;
      if (is_grave(log.finding)) {
        witness.lines.push_back(said(log));
      } else if (verdict.facts.size() < kLinesMax) {
        verdict.facts.emplace_back("finding " + std::string(log.finding), said(log));
      }
    }
    verdict.counts = {{"exits expected", static_cast<int64_t>(exits.size() - crashes)},
                      {"exits unexpected", static_cast<int64_t>(crashes)},
                      {"log findings", static_cast<int64_t>(findings)}};
    if (witness.lines.empty()) {
      verdict.reason = "no node ended by itself; " +
                       counted(exits.size(), "exit was asked for", "exits were asked for");
      return verdict;
    }
    verdict.safety = Safety::kInvalid;
    verdict.reason = crashes > 0 ? "unexpected exit: " + witness.lines.front()
                                 : "finding in a log: " + witness.lines.front();
    if (witness.lines.size() > kLinesMax) {
      const size_t more = witness.lines.size() - kLinesMax;
      witness.lines.resize(kLinesMax);
      witness.lines.push_back("and " + std::to_string(more) + " more");
    }
    verdict.witness = std::move(witness);
    return verdict;
  }
};

}  // namespace

const Checker& node_exits_checker() {
  static const NodeExits checker;
  return checker;
}

}  // namespace assay
