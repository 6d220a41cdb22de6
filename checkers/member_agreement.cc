// member-agreement: have all members applied one history?
//
//   chains           equal applied index means equal chain hash, over all status samples of all
//                    members and over the hashes that they give at the end (K5)
//   election-safety  at most one leader per term, over all samples (K7); two leaders in different
//                    terms at one moment are legal
//   convergence      progress: after the last heal there is a moment at which all members report
//                    one leader, one applied history and one revision (K9)
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

std::string where(Symbol node, Nanos time) {
  return std::string(node.text()) + " at " + format_point(time);
}

Verdict conflict(std::string name, std::string reason, std::vector<std::string> lines) {
  Verdict verdict{.name = std::move(name), .safety = Safety::kInvalid};
  verdict.reason = std::move(reason);
  verdict.witness = Witness{.operations = {}, .lines = std::move(lines)};
  return verdict;
}

struct Claim {
  Symbol chain;
  Symbol node;
  Nanos time;
};

// Everything that a member ever said about the hash after an index.
std::optional<Verdict> check_chains(const std::vector<StatusSample>& samples,
                                    const std::vector<ChainLine>& lines) {
  std::unordered_map<int64_t, Claim> first;
  int64_t compared = 0;
  std::optional<std::pair<int64_t, std::pair<Claim, Claim>>> lowest;
  auto claim = [&](int64_t index, const Claim& said) {
    const auto [at, inserted] = first.try_emplace(index, said);
    if (inserted) return;
    ++compared;
    if (at->second.chain == said.chain) return;
    if (!lowest || index < lowest->first) lowest = {index, {at->second, said}};
  };
  for (const StatusSample& sample : samples) {
    if (sample.applied >= 0 && !sample.chain.empty()) {
      claim(sample.applied, {sample.chain, sample.node, sample.time});
    }
  }
  for (const ChainLine& line : lines) {
    for (size_t i = 0; i < line.hashes.size(); ++i) {
      if (line.hashes[i].empty()) continue;
      claim(line.from + static_cast<int64_t>(i), {line.hashes[i], line.node, line.time});
    }
  }
  if (first.empty()) return std::nullopt;
  Verdict verdict{.name = "chains"};
  if (lowest) {
    const auto& [a, b] = lowest->second;
    verdict = conflict(
        "chains",
        "members have applied different histories: they differ at index " +
            std::to_string(lowest->first),
        {std::string(b.node.text()) + " and " + std::string(a.node.text()) + " had both applied " +
             std::to_string(lowest->first) + " entries, but not the same ones",
         where(a.node, a.time) + ": applied " + std::to_string(lowest->first) + ", chain " +
             std::string(a.chain.text()),
         where(b.node, b.time) + ": applied " + std::to_string(lowest->first) + ", chain " +
             std::string(b.chain.text())});
  } else if (compared == 0) {
    verdict.safety = Safety::kVacuous;
    verdict.reason = "no two samples speak of the same applied index: nothing was compared";
    verdict.facts.emplace_back(fact::kMissing, verdict.reason);
    verdict.facts.emplace_back(fact::kRemedy, "a longer run: `--time-limit 60s`");
  } else {
    verdict.reason = "wherever two members had applied equally much, their chains are equal";
  }
  verdict.counts = {{"chain hashes compared", compared},
                    {"applied indexes", static_cast<int64_t>(first.size())}};
  return verdict;
}

std::optional<Verdict> check_elections(const std::vector<StatusSample>& samples) {
  struct Said {
    Symbol leader;
    Symbol by;
    Nanos time;
  };
  std::map<int64_t, Said> leaders;
  for (const StatusSample& sample : samples) {
    if (sample.term < 0) continue;
    Symbol leader = sample.role == "leader" ? sample.node : sample.leader;
    if (leader.empty()) continue;
    const auto [at, inserted] =
        leaders.try_emplace(sample.term, Said{leader, sample.node, sample.time});
    if (inserted || at->second.leader == leader) continue;
    const Said& other = at->second;
    return conflict("election-safety", "term " + std::to_string(sample.term) + " has two leaders",
                    {std::string(other.leader.text()) + " and " + std::string(leader.text()) +
                         " both led term " + std::to_string(sample.term),
                     where(other.by, other.time) + " named " + std::string(other.leader.text()),
                     where(sample.node, sample.time) + " named " + std::string(leader.text())});
  }
  if (leaders.empty()) return std::nullopt;
  Verdict verdict{.name = "election-safety"};
  verdict.reason = "each of " + counted(leaders.size(), "term", "terms") + " had one leader";
  verdict.counts = {{"terms with a leader", static_cast<int64_t>(leaders.size())}};
  return verdict;
}

// What keeps the latest samples of all nodes from being one state; empty when nothing does.
std::string disagreement(const std::map<Symbol, StatusSample>& latest, size_t nodes) {
  if (latest.size() < nodes) return "not all members reported after the last heal";
  const StatusSample* head = nullptr;
  for (const auto& [node, sample] : latest) {
    if (!sample.reachable()) return std::string(node.text()) + " does not answer";
    if (head == nullptr || sample.applied > head->applied) head = &sample;
  }
  for (const auto& [node, sample] : latest) {
    const std::string name(node.text());
    if (sample.leader.empty() && sample.role != "leader") return name + " knows no leader";
    const Symbol leader = sample.role == "leader" ? sample.node : sample.leader;
    const Symbol head_leader = head->role == "leader" ? head->node : head->leader;
    if (leader != head_leader) {
      return name + " follows " + std::string(leader.text()) + ", " +
             std::string(head->node.text()) + " follows " + std::string(head_leader.text());
    }
    if (sample.applied != head->applied) {
      return name + " has applied " + std::to_string(sample.applied) + " of " +
             std::to_string(head->applied);
    }
    if (sample.chain != head->chain) return name + " has another history";
    if (sample.at >= 0 && head->at >= 0 && sample.at != head->at)
      return name + " is at revision " + std::to_string(sample.at) + ", " +
             std::string(head->node.text()) + " at " + std::to_string(head->at);
  }
  return "";
}

std::optional<Verdict> check_convergence(const History& history,
                                         const std::vector<StatusSample>& samples) {
  const auto& nodes = history.header().nodes;
  Nanos due{-1};
  for (const PhaseChange& change : phase_changes(history)) {
    if (due.count < 0 && change.phase == "recovery") due = change.begin;
  }
  if (nodes.empty() || due.count < 0) return std::nullopt;
  for (const FaultInterval& fault : fault_intervals(history)) {
    if (fault.healed_at == kNever)
      return std::nullopt;  // members that are still cut off owe nothing
    due = std::max(due, fault.healed_at);
  }
  Verdict verdict{.name = "convergence", .progress = Progress::kOk};
  std::map<Symbol, StatusSample> latest;
  std::string why = "no member reported after the last heal";
  for (const StatusSample& sample : samples) {
    if (sample.time < due) continue;
    latest[sample.node] = sample;
    why = disagreement(latest, nodes.size());
    if (why.empty()) {
      verdict.reason = "all members were one " + format_duration(sample.time - due) +
                       " after the recovery began";
      verdict.counts = {{"convergence ms", to_ms(sample.time - due)}};
      return verdict;
    }
  }
  verdict.progress = ended_early(history).empty() ? Progress::kBlocked : Progress::kUnknown;
  verdict.reason = "the members did not become one after the last heal: " + why;
  const Timing timing = timing_of(history.header());
  for (const HostStall& stall : host_stalls(history, timing.election_timeout_min)) {
    if (timing.election_timeout_min.count == 0 || stall.end < due) continue;
    verdict.progress = Progress::kUnknown;
    verdict.reason += "; host stalled " + format_duration(stall.end - stall.begin) + " at " +
                      format_point(stall.begin);
    break;
  }
  verdict.facts.emplace_back(fact::kMissing, why);
  return verdict;
}

class MemberAgreement : public Checker {
 public:
  std::string_view name() const override { return "member-agreement"; }
  std::string_view summary() const override {
    return "members that have applied equally much have applied the same, one leader per term, "
           "all one at the end";
  }
  bool applies(const History& history) const override {
    const auto& observations = history.observations();
    return std::any_of(observations.begin(), observations.end(), [](const Observation& o) {
      const auto sample = status_sample(o);
      return o.op.f == f::chain || (sample && (sample->term >= 0 || sample->applied >= 0));
    });
  }

  Verdict check(const History& history, const Budget&) const override {
    Verdict verdict{.name = "member-agreement"};
    if (!applies(history)) {
      verdict.safety = Safety::kVacuous;
      verdict.reason = "no member reported its state";
      return verdict;
    }
    const std::vector<StatusSample> samples = status_samples(history);
    verdict.counts = {{"status samples", static_cast<int64_t>(samples.size())}};
    if (auto child = check_chains(samples, chain_lines(history))) {
      verdict.add(std::move(*child));
    } else {
      verdict.facts.emplace_back(fact::kNotTested,
                                 "that members applied the same: they report no chain hash");
    }
    if (auto child = check_elections(samples)) verdict.add(std::move(*child));
    if (auto child = check_convergence(history, samples)) verdict.add(std::move(*child));
    if (verdict.reason.empty() && !verdict.children.empty()) {
      verdict.reason = verdict.children.front().reason;
    } else if (verdict.children.empty()) {
      // What they say is not of the kind that members could disagree in.
      verdict.reason = "nothing to compare: members reported neither hashes nor terms";
      verdict.facts.emplace_back(fact::kNotTested, "one leader per term: they report no terms");
    }
    return verdict;
  }
};

}  // namespace

const Checker& member_agreement_checker() {
  static const MemberAgreement checker;
  return checker;
}

}  // namespace assay
