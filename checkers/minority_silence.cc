// minority-silence: does a node that is verifiably cut off from every majority keep silent? (K8)
//
// A node is silent-bound at a time when fault intervals that are certain there (installed, seen to
// bite, from the completion of the start to the invocation of the heal) leave it so few links that
// what it sends reaches at most half of all nodes, itself counted, or at most half reach it, over
// however many others. No change, and no read of the latest state, that was invoked on it inside such
// a span is answered ok before the span ends. All nodes of the header count as voters.
//
// Changes and reads are parts of their own: a store whose nodes answer reads from what they have, and do
// not claim more, accepts nothing in the minority.
//
// Sound where times are those of one clock and the cut was verified before its start completed; faults
// of the store's own (their cuts are its own word) and reads that need not be of the latest state are
// left out. A cut of which a victim was healed before the others counts up to nothing: when exactly
// its links came back is not recorded.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::minority_silence {
namespace {

struct Span {
  Nanos begin;
  Nanos end;
};

std::vector<FaultInterval> certain_cuts(const History& history) {
  std::vector<FaultInterval> cuts = fault_intervals(history);
  std::erase_if(cuts, [&](const FaultInterval& fault) {
    return fault.cut.empty() || !fault.installed || !fault.bit || !fault.completed ||
           !fault.back.empty() || fault.begin >= fault.end || is_own_fault(history.header(), fault.kind);
  });
  return cuts;
}

// Links between the nodes of the header, by number, without those that are cut.
class Links {
 public:
  explicit Links(size_t nodes) : out_(nodes, nodes >= 64 ? ~0ull : (1ull << nodes) - 1) {}
  void cut(size_t from, size_t to) { out_[from] &= ~(1ull << to); }
  // At most half of all nodes get what it sends, or at most half reach it.
  bool minority(size_t node) const {
    return 2 * std::popcount(reached(node)) <= static_cast<int>(out_.size()) ||
           2 * std::popcount(reaching(node)) <= static_cast<int>(out_.size());
  }

 private:
  uint64_t reached(size_t node) const {
    uint64_t seen = 1ull << node;
    for (uint64_t todo = seen; todo;) {
      const uint64_t more = out_[static_cast<size_t>(std::countr_zero(todo))] & ~seen;
      todo = (todo & (todo - 1)) | more;
      seen |= more;
    }
    return seen;
  }
  uint64_t reaching(size_t node) const {
    uint64_t seen = 0;
    for (size_t from = 0; from < out_.size(); ++from)
      if (reached(from) >> node & 1) seen |= 1ull << from;
    return seen;
  }
  std::vector<uint64_t> out_;
};

// The spans in which each node is bound to be silent.
std::map<Symbol, std::vector<Span>> silent_spans(const HistoryHeader& header,
                                                 const std::vector<FaultInterval>& cuts) {
  std::map<Symbol, std::vector<Span>> silent;
  std::map<Symbol, size_t> number;
  for (const std::string& node : header.nodes) number.emplace(Symbol(node), number.size());
  if (number.empty() || number.size() > 64) return silent;
  std::set<Nanos> bounds;
  for (const FaultInterval& cut : cuts) bounds.insert({cut.begin, cut.end});
  for (auto at = bounds.begin(); at != bounds.end() && std::next(at) != bounds.end(); ++at) {
    const Span span{*at, *std::next(at)};
    Links links(number.size());
    for (const FaultInterval& cut : cuts) {
      if (cut.begin > span.begin || cut.end < span.end) continue;
      for (const auto& [from, to] : cut.cut)
        if (number.contains(from) && number.contains(to)) links.cut(number[from], number[to]);
    }
    for (const auto& [node, i] : number) {
      if (!links.minority(i)) continue;
      auto& spans = silent[node];
      if (!spans.empty() && spans.back().end == span.begin) {
        spans.back().end = span.end;
      } else {
        spans.push_back(span);
      }
    }
  }
  return silent;
}

class MinoritySilence : public Checker {
 public:
  std::string_view name() const override { return "minority-silence"; }
  std::string_view summary() const override {
    return "no node that is verifiably cut off from every majority answers ok";
  }
  bool applies(const History& history) const override {
    return !silent_spans(history.header(), certain_cuts(history)).empty();
  }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "minority-silence"};
    Verdict changes{.name = "changes"}, latest{.name = "reads"};
    const auto silent = silent_spans(history.header(), certain_cuts(history));
    const bool reads_latest = read_claim(history.header()) == "linearizable";
    std::map<std::pair<Symbol, bool>, size_t> told;
    int64_t asked = 0, broken = 0, reads_asked = 0, changes_asked = 0;
    for (size_t id = 0; id < history.size(); ++id) {
      if (id % 4096 == 0 && budget.exhausted()) {
        verdict.safety = std::max(verdict.safety, Safety::kUnknown);
        verdict.reason = "not decided within its budget";
        break;
      }
      const Operation op = history[id];
      const auto of = silent.find(op.node());
      if (of == silent.end() || op.invoke_time().count < 0 || op.f() == f::watch) continue;
      const bool reads = op.f() == f::read || op.f() == f::list;
      if (reads && (!reads_latest || op.invoke_extra().bool_or("stale", false))) continue;
      const Span* span = around(of->second, op.invoke_time());
      if (!span) continue;
      ++asked;
      ++(reads ? reads_asked : changes_asked);
      if (op.type() != OpType::kOk || op.return_time() >= span->end) continue;
      ++broken;
      Verdict& part = reads ? latest : changes;
      if (told[{op.node(), reads}]++ > 0 || told.size() > 10) {
        part.safety = Safety::kInvalid;
        continue;
      }
      part.add(tell(op, *span));
    }
    if (reads_asked > 0) verdict.add(std::move(latest));
    if (changes_asked > 0) verdict.add(std::move(changes));
    size_t spans = 0;
    for (const auto& [node, of] : silent) spans += of.size();
    verdict.counts = {{"spans of a node cut off from every majority", static_cast<int64_t>(spans)},
                      {"operations asked there", asked},
                      {"answered ok", broken}};
    if (asked == 0)
      nothing_judged("nobody asked a node that was cut off from every majority",
                     "operations on a node that is cut off from every majority",
                     "longer faults: `--fault-duration 5s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = "none of " + counted(static_cast<size_t>(asked), "operation", "operations") +
                       " on nodes cut off from every majority was answered ok before the heal";
    return verdict;
  }

 private:
  static const Span* around(const std::vector<Span>& spans, Nanos time) {
    auto next = std::upper_bound(spans.begin(), spans.end(), time,
                                 [](Nanos t, const Span& span) { return t < span.begin; });
    if (next == spans.begin()) return nullptr;
    const Span& span = *std::prev(next);
    return time < span.end ? &span : nullptr;
  }
  static Verdict tell(const Operation& op, const Span& span) {
    Verdict child{.name = std::string(op.node().text()), .safety = Safety::kInvalid};
    child.reason = "an answer from the minority: " + std::string(op.node().text());
    const std::string cut = std::string(op.node().text()) +
                            " was verifiably cut off from every majority from " +
                            format_point(span.begin) + " to " + format_point(span.end);
    child.witness = Witness{
        .operations = {op.id()},
        .lines = {author_text(op) + " was answered ok to " + std::string(op.f().text()) + " " +
                      std::string(op.key().text()) + " by " + std::string(op.node().text()) + ", " +
                      format_duration(span.end - op.return_time()) +
                      " before the cut of that node was healed",
                  cut, who(op) + ": invoked at " + format_point(op.invoke_time()) +
                           ", answered at " + format_point(op.return_time())}};
    child.facts.emplace_back(fact::kRestsOn,
                             "independent of your error mapping: it rests on an acknowledgement and "
                             "on the cut, which was verified");
    return child;
  }
};

}  // namespace
}  // namespace assay::minority_silence

namespace assay {

const Checker& minority_silence_checker() {
  static const minority_silence::MinoritySilence checker;
  return checker;
}

}  // namespace assay
