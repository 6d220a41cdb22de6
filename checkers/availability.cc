// availability: progress. Operations must be answered ok while a connected live majority of the
// nodes is verified, and after the final heal on every node. Never a verdict on safety.
//
//   gaps      in no span in which a majority stands does it take longer than `gap_ms_max`
//             (threshold, default 5,000) until an operation is ok, while some are waiting for the
//             nodes of that majority: who asks a node that is cut off may wait for ever
//   before    operations before the first fault, and none ok: blocked
//   heal      operations after the last heal, and none ok: blocked
//   final     a node whose final operations are not ok, tried for 5 s: blocked. One that says that
//             another leads (error class "not-leader") has answered, if there is one that is ok
//
// Where the host itself stalled for longer than the store's least election time-out, what would be
// blocked is unknown. Progress that was seen is never degraded.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

const Symbol kNotLeader{"not-leader"}, kClientLied{"client-lied"}, kClientEnded{"client-ended"};
constexpr Nanos kFinalSpan = seconds(5);
constexpr Nanos kLeadMin = seconds(1);  // a shorter time before the first fault proves nothing

struct Gap {
  Nanos begin{};
  Nanos end{};
  Nanos length() const { return end - begin; }
};

// When client operations were under way, and when they were ok.
struct Load {
  explicit Load(const History& history) {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation operation = history[id];
      if (operation.invoke_time().count < 0) continue;
      Asked& on = asked[operation.node()];
      on.invoked.push_back(operation.invoke_time());
      invoked.push_back(operation.invoke_time());
      if (operation.return_position() != kOpen) on.ended.push_back(operation.return_time());
      if (operation.type() == OpType::kOk) ok.push_back(operation.return_time());
    }
    for (auto& [node, on] : asked) {
      std::sort(on.invoked.begin(), on.invoked.end());
      std::sort(on.ended.begin(), on.ended.end());
    }
    std::sort(invoked.begin(), invoked.end());
    std::sort(ok.begin(), ok.end());
  }
  static size_t count(const std::vector<Nanos>& times, Nanos from, Nanos to) {
    return static_cast<size_t>(std::upper_bound(times.begin(), times.end(), to) -
                               std::lower_bound(times.begin(), times.end(), from));
  }
  std::optional<Nanos> first_ok(Nanos from) const {
    const auto at = std::lower_bound(ok.begin(), ok.end(), from);
    return at == ok.end() ? std::nullopt : std::optional(*at);
  }

  struct Asked {
    std::vector<Nanos> invoked;
    std::vector<Nanos> ended;  // however
    Nanos waiting_since(Nanos from) const {
      const auto next = std::upper_bound(invoked.begin(), invoked.end(), from);
      const auto begun = next - invoked.begin();
      const auto over = std::upper_bound(ended.begin(), ended.end(), from) - ended.begin();
      if (begun > over) return from;
      return next == invoked.end() ? kNever : *next;
    }
  };
  // From when on somebody waits for one of `nodes`, or for a node that nobody named, at `from` or
  // later.
  Nanos waiting_since(Nanos from, const std::vector<Symbol>& nodes) const {
    Nanos since = kNever;
    const auto consider = [&](Symbol node) {
      const auto on = asked.find(node);
      if (on != asked.end()) since = std::min(since, on->second.waiting_since(from));
    };
    consider({});
    for (Symbol node : nodes) consider(node);
    return since;
  }

  std::map<Symbol, Asked> asked;  // by node
  std::vector<Nanos> invoked;
  std::vector<Nanos> ok;
};

class Progression {
 public:
  explicit Progression(const History& history)
      : history_(history),
        header_(history.header()),
        load_(history),
        faults_(outages(history)),
        gap_max_(milliseconds(threshold_of(header_, "gap_ms_max", 5'000))),
        election_timeout_min_(timing_of(header_).election_timeout_min) {
    verdict_.name = "availability";
  }

  Verdict run() {
    judge_gaps();
    judge_lead();
    judge_heal();
    judge_final();
    verdict_.facts.emplace_back("threshold gap_ms_max", std::to_string(to_ms(gap_max_)));
    const std::string stall = stalled(Nanos{0}, history_.end_time());
    if (!stall.empty()) good_.push_back(stall);
    if (verdict_.progress == Progress::kNotDue) {
      verdict_.reason = "progress was not due: no connected live majority was verified";
    } else if (verdict_.progress == Progress::kOk) {
      verdict_.reason = listed(good_);
    }
    return std::move(verdict_);
  }

 private:
  void seen(std::string what) {
    verdict_.progress = std::max(verdict_.progress, Progress::kOk);
    if (!what.empty()) good_.push_back(std::move(what));
  }
  // "host stalled 2.3 s at 14.1 s": the longest within [from, to] that can cost an election; else
  // "".
  std::string stalled(Nanos from, Nanos to) const {
    if (election_timeout_min_.count == 0) return "";
    for (const HostStall& stall : host_stalls(history_, election_timeout_min_)) {
      if (stall.end < from || stall.begin > to) continue;
      return "host stalled " + format_duration(stall.end - stall.begin) + " at " +
             format_point(stall.begin);
    }
    return "";
  }
  // What client programs that broke said in [from, to], if there is nothing that they did not
  // break: no statement about the store then.
  std::string broken_client(Nanos from, Nanos to) const {
    std::string broken;
    for (size_t id = 0; id < history_.size(); ++id) {
      const Operation operation = history_[id];
      if (operation.return_position() == kOpen || operation.return_time() < from ||
          operation.return_time() > to || operation.type() == OpType::kOk)
        continue;
      const Symbol cls = operation.error_class();
      if (cls != kClientLied && cls != kClientEnded) return "";
      if (broken.empty()) broken = operation.error_text();
      if (broken.empty()) broken = "client programs broke their protocol";
    }
    return broken;
  }
  // No progress in [from, to]: blocked, unless the host was at fault.
  void lacking(std::string what, Nanos from, Nanos to, Progress progress = Progress::kBlocked) {
    if (const std::string stall = stalled(from, to); !stall.empty()) {
      progress = Progress::kUnknown;
      what += "; " + stall;
    } else if (const std::string broken = broken_client(from, to); !broken.empty()) {
      progress = Progress::kUnknown;
      what += "; but " + broken;
    }
    verdict_.facts.emplace_back(fact::kMissing, what);
    if (progress > verdict_.progress) {
      verdict_.progress = progress;
      verdict_.reason = std::move(what);
    }
  }

  void judge_gaps() {
    std::optional<Gap> longest;
    for (const MajoritySpan& span : majority_spans(header_, faults_, history_.end_time())) {
      Nanos last = span.begin;
      auto consider = [&](Nanos until) {
        const Gap gap{load_.waiting_since(last, span.members), until};
        last = until;
        if (gap.begin >= gap.end) return;  // nobody waited: nothing was due
        if (!longest || gap.length() > longest->length()) longest = gap;
      };
      const auto first = std::lower_bound(load_.ok.begin(), load_.ok.end(), span.begin);
      for (auto at = first; at != load_.ok.end() && *at <= span.end; ++at) consider(*at);
      consider(span.end);
    }
    if (!longest) return;
    verdict_.counts.emplace_back("longest gap ms", to_ms(longest->length()));
    if (longest->length() > gap_max_) {
      lacking("no operation was ok from " + format_point(longest->begin) + " to " +
                  format_point(longest->end) + " (" + format_duration(longest->length()) +
                  ") although a connected live majority stood",
              longest->begin, longest->end);
    } else {
      seen("longest gap " + format_duration(longest->length()));
    }
  }

  void judge_lead() {
    Nanos first_fault = history_.end_time();
    for (const FaultInterval& fault : faults_) first_fault = std::min(first_fault, fault.asked);
    if (load_.invoked.empty() || load_.invoked.front() + kLeadMin > first_fault) return;
    if (Load::count(load_.ok, Nanos{0}, first_fault) > 0) return seen("");
    lacking("no operation was ok before the first fault", Nanos{0}, first_fault);
  }

  void judge_heal() {
    Nanos heal{-1};
    for (const FaultInterval& fault : faults_) {
      if (fault.healed_at == kNever) return;
      heal = std::max(heal, fault.healed_at);
    }
    if (heal.count < 0) return;
    if (const auto first = load_.first_ok(heal)) {
      verdict_.counts.emplace_back("heal to first ok ms", to_ms(*first - heal));
      return seen("first ok " + format_duration(*first - heal) + " after the last heal");
    }
    if (Load::count(load_.invoked, heal, history_.end_time()) == 0) return;
    lacking("no operation was ok after the last heal", heal, history_.end_time(), at_the_end());
  }

  void judge_final() {
    struct Asked {
      int64_t ok = 0;
      bool turned_away = false;  // by its last answer
      Nanos since = kNever;
    };
    std::map<std::string, Asked> nodes;
    for (size_t id = 0; id < history_.size(); ++id) {
      const Operation operation = history_[id];
      if (phase_of(operation) != "final") continue;
      Asked& asked = nodes[std::string(operation.node().text())];
      asked.ok += operation.type() == OpType::kOk;
      asked.turned_away =
          operation.type() == OpType::kFail && operation.error_class() == kNotLeader;
      asked.since = std::min(asked.since, operation.invoke_time());
    }
    if (nodes.empty()) return;
    const bool healed = std::all_of(faults_.begin(), faults_.end(), [](const FaultInterval& fault) {
      return fault.healed_at != kNever || !fault.installed;
    });
    std::vector<std::string> silent;
    Nanos since = kNever;
    int64_t ok = 0;
    for (const auto& [name, asked] : nodes) ok += asked.ok;
    for (const auto& [name, asked] : nodes) {
      if (asked.ok > 0 || (asked.turned_away && ok > 0)) continue;
      silent.push_back(name.empty() ? "the store" : name);
      since = std::min(since, asked.since);
    }
    verdict_.counts.emplace_back("final operations ok", ok);
    if (silent.empty()) {
      return seen("final operations ok on " + counted(nodes.size(), "node", "nodes"));
    }
    // Who is still under a fault owes nothing; who is not cannot be told apart from it.
    lacking(listed(silent) + " did not answer within 5 s after the recovery" +
                (healed ? "" : "; a fault was not seen to have ended"),
            since, since + kFinalSpan, healed ? at_the_end() : Progress::kUnknown);
  }
  // What a run owes at its end is not owed by one that was cut short.
  Progress at_the_end() const {
    return ended_early(history_).empty() ? Progress::kBlocked : Progress::kUnknown;
  }

  const History& history_;
  const HistoryHeader& header_;
  const Load load_;
  const std::vector<FaultInterval> faults_;
  const Nanos gap_max_;
  const Nanos election_timeout_min_;
  Verdict verdict_;
  std::vector<std::string> good_;
};

class Availability : public Checker {
 public:
  std::string_view name() const override { return "availability"; }
  std::string_view summary() const override {
    return "progress: operations are answered while a majority is connected, and on every node "
           "after the last heal";
  }
  // Where nobody says which nodes there are, no majority can be verified.
  bool applies(const History& history) const override {
    return !history.header().nodes.empty() && history.size() > 0;
  }
  Verdict check(const History& history, const Budget&) const override {
    if (history.size() > 0) return Progression(history).run();
    Verdict verdict{.name = "availability", .safety = Safety::kVacuous};
    verdict.reason = "there is no client operation to wait for";
    return verdict;
  }
};

}  // namespace

const Checker& availability_checker() {
  static const Availability checker;
  return checker;
}

}  // namespace assay
