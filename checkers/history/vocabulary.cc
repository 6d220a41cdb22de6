#include "checkers/history/vocabulary.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace assay {
namespace {

constexpr std::string_view kStart = "start-";
constexpr std::string_view kStop = "stop-";

std::string_view after_prefix(Symbol f, std::string_view prefix) {
  const std::string_view text = f.text();
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

Symbol text_of(const Value& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.as_symbol() : Symbol(value.to_json());
}

void add_evidence(std::string& evidence, std::string_view more) {
  if (more.empty()) return;
  if (!evidence.empty()) evidence += "; ";
  evidence += more;
}

std::vector<std::pair<Symbol, Symbol>> links_of(const Value& value) {
  std::vector<std::pair<Symbol, Symbol>> links;
  if (!value.is_array()) return links;
  for (const Value& link : value.as_array()) {
    if (!link.is_array() || link.as_array().size() != 2) continue;
    links.emplace_back(text_of(link.as_array()[0]), text_of(link.as_array()[1]));
  }
  return links;
}

FaultInterval started(std::string_view kind, const NemesisOp& op) {
  FaultInterval fault;
  fault.kind = kind;
  fault.asked = op.invocation.time;
  fault.shape = op.invocation.value.text_or("shape", "");
  fault.completed = op.return_position != kOpen;
  if (!fault.completed) return fault;
  const Value& value = op.completion.value;
  fault.shape = value.text_or("shape", fault.shape);
  if (value["victims"].is_array()) {
    for (const Value& node : value["victims"].as_array()) fault.victims.push_back(text_of(node));
  }
  fault.cut = links_of(value["cut"]);
  fault.delayed = links_of(value["delayed"]);
  fault.faulty = links_of(value["faulty"]);
  fault.installed = value.bool_or("installed", false);
  fault.bit = value.bool_or("bit", false);
  add_evidence(fault.evidence, value.text_or("evidence", ""));
  add_evidence(fault.evidence, value.text_or("error", ""));
  fault.begin = op.completion.time;
  return fault;
}

bool contains(const std::vector<Symbol>& nodes, Symbol node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// The nodes that a stop is for; none where it is for all.
std::vector<Symbol> named_nodes(const Value& asked) {
  std::vector<Symbol> nodes;
  if (const Symbol node = text_of(asked["node"]); !node.empty()) nodes.push_back(node);
  if (asked["victims"].is_array()) {
    for (const Value& node : asked["victims"].as_array()) nodes.push_back(text_of(node));
  }
  return nodes;
}

// `named`: the nodes that the stop is for; none where it is for all.
void stopped(FaultInterval& fault, const NemesisOp& op, const std::vector<Symbol>& named) {
  std::vector<Symbol> back;
  bool closes = true;
  if (!named.empty()) {
    if (!fault.completed) return;  // nobody knows its victims
    for (Symbol victim : fault.victims) {
      if (fault.healed_at_of(victim) != kNever) continue;
      if (contains(named, victim)) {
        back.push_back(victim);
      } else {
        closes = false;
      }
    }
    if (back.empty() && !fault.victims.empty()) return;  // it is not about this fault
  }
  if (closes) fault.end = op.invocation.time;
  if (op.return_position == kOpen) return;
  const Value& value = op.completion.value;
  const bool healed = value.bool_or("healed", false);
  fault.bit |= value.bool_or("bit", false);
  add_evidence(fault.evidence, value.text_or("error", ""));
  if (!healed) return;
  if (closes) {
    fault.healed = true;
    fault.healed_at = op.completion.time;
  } else {
    for (Symbol victim : back) fault.back.emplace_back(victim, op.completion.time);
  }
}

Symbol node_of(const Observation& observation) {
  const Value& node = observation.op.value["node"];
  return node.is_null() ? observation.op.node : text_of(node);
}

template <typename Fn>
void each(const History& history, Symbol f, const Fn& fn) {
  for (const Observation& observation : history.observations()) {
    if (observation.op.f == f) fn(observation);
  }
}

bool overlaps(const FaultInterval& fault, Nanos from, Nanos to) {
  return fault.asked <= to && fault.healed_at >= from;
}

// A largest set of nodes that all have links to each other, as a bit mask.
class Clique {
 public:
  explicit Clique(std::vector<uint64_t> links) : links_(std::move(links)) {}
  uint64_t largest(uint64_t candidates) {
    best_ = 0;
    // Each entry: the clique so far, and what may still join it.
    std::vector<std::pair<uint64_t, uint64_t>> stack{{0, candidates}};
    while (!stack.empty()) {
      const auto [clique, rest] = stack.back();
      stack.pop_back();
      if (std::popcount(clique) > std::popcount(best_)) best_ = clique;
      if (rest == 0 || std::popcount(clique | rest) <= std::popcount(best_)) continue;
      const int node = std::countr_zero(rest);
      const uint64_t bit = uint64_t{1} << node;
      stack.emplace_back(clique, rest & ~bit);
      stack.emplace_back(clique | bit, rest & links_[node]);
    }
    return best_;
  }

 private:
  std::vector<uint64_t> links_;
  uint64_t best_ = 0;
};

}  // namespace

std::string_view started_fault(Symbol f) { return after_prefix(f, kStart); }
std::string_view stopped_fault(Symbol f) { return after_prefix(f, kStop); }
Symbol start_of(std::string_view kind) { return Symbol(std::string(kStart) + std::string(kind)); }
Symbol stop_of(std::string_view kind) { return Symbol(std::string(kStop) + std::string(kind)); }

Nanos FaultInterval::healed_at_of(Symbol victim) const {
  for (const auto& [node, at] : back) {
    if (node == victim) return at;
  }
  return healed_at;
}

std::vector<FaultInterval> fault_intervals(const History& history) {
  std::vector<FaultInterval> faults;
  std::map<std::string, std::vector<size_t>, std::less<>> in_force;
  for (const NemesisOp& op : history.nemesis()) {
    if (const auto kind = started_fault(op.invocation.f); !kind.empty()) {
      in_force[std::string(kind)].push_back(faults.size());
      faults.push_back(started(kind, op));
    } else if (const auto ended = stopped_fault(op.invocation.f); !ended.empty()) {
      std::vector<size_t>& open = in_force[std::string(ended)];
      const std::vector<Symbol> named = named_nodes(op.invocation.value);
      for (size_t i : open) stopped(faults[i], op, named);
      // What could not be healed stays in force for the next stop.
      std::erase_if(open, [&](size_t i) { return faults[i].healed; });
    }
  }
  return faults;
}

std::vector<FaultInterval> outages(const History& history) {
  std::vector<FaultInterval> faults = fault_intervals(history);
  const std::vector<StatusSample> samples = status_samples(history);
  for (const NodeExit& exit : node_exits(history)) {
    if (exit.expected) continue;
    FaultInterval outage{.kind = "exit", .victims = {exit.node}, .installed = true, .bit = true};
    outage.completed = true;
    outage.asked = outage.begin = exit.time;
    for (const StatusSample& sample : samples) {
      if (sample.node != exit.node || sample.time <= exit.time || !sample.reachable()) continue;
      outage.healed = true;
      outage.end = outage.healed_at = sample.time;
      break;
    }
    faults.push_back(std::move(outage));
  }
  return faults;
}

std::optional<StatusSample> status_sample(const Observation& observation) {
  if (observation.op.f != f::status) return std::nullopt;
  const Value& value = observation.op.value;
  StatusSample sample;
  sample.node = node_of(observation);
  sample.role = value.text_or("role", "");
  sample.term = value.int_or("term", -1);
  sample.leader = text_of(value["leader"]);
  sample.commit = value.int_or("commit", -1);
  sample.applied = value.int_or("applied", -1);
  sample.chain = text_of(value["chain"]);
  sample.at = value.int_or("at", -1);
  sample.time = observation.op.time;
  return sample;
}

std::vector<StatusSample> status_samples(const History& history) {
  std::vector<StatusSample> samples;
  for (const Observation& observation : history.observations()) {
    if (auto sample = status_sample(observation)) samples.push_back(*sample);
  }
  return samples;
}

std::vector<ChainLine> chain_lines(const History& history) {
  std::vector<ChainLine> lines;
  each(history, f::chain, [&](const Observation& observation) {
    const Value& value = observation.op.value;
    ChainLine line{.node = node_of(observation), .from = value.int_or("from", 0)};
    line.time = observation.op.time;
    if (value["hashes"].is_array()) {
      for (const Value& hash : value["hashes"].as_array()) line.hashes.push_back(text_of(hash));
    }
    lines.push_back(std::move(line));
  });
  return lines;
}

std::vector<NodeExit> node_exits(const History& history) {
  std::vector<NodeExit> exits;
  each(history, f::exit, [&](const Observation& observation) {
    const Value& value = observation.op.value;
    exits.push_back({.node = node_of(observation),
                     .code = value.int_or("code", -1),
                     .signal = value.int_or("signal", 0),
                     .expected = value.bool_or("expected", false),
                     .time = observation.op.time});
  });
  return exits;
}

std::vector<LogLine> log_lines(const History& history) {
  std::vector<LogLine> lines;
  each(history, f::log, [&](const Observation& observation) {
    const Value& value = observation.op.value;
    lines.push_back({.node = node_of(observation),
                     .line = value.text_or("line", ""),
                     .finding = value.text_or("finding", ""),
                     .time = observation.op.time});
  });
  return lines;
}

std::vector<PhaseChange> phase_changes(const History& history) {
  std::vector<PhaseChange> changes;
  each(history, f::phase, [&](const Observation& observation) {
    changes.push_back({observation.op.value.text_or("phase", ""), observation.op.time});
  });
  return changes;
}

std::string ended_early(const History& history) {
  bool has_phases = false;
  std::optional<std::string> why;
  each(history, f::phase, [&](const Observation& observation) {
    has_phases = true;
    if (observation.op.value.text_or("phase", "") == "end")
      why = observation.op.value.text_or("why", "");
  });
  // A run tells how long its load was to be; other histories have no phases.
  if (!has_phases && timing_of(history.header()).load == Nanos{}) return "";
  return why ? *why : "the run does not say that it ended: was its driver killed?";
}

bool failed_fast(const History& history) {
  bool proven = false;
  each(history, f::proof, [&](const Observation&) { proven = true; });
  return proven;
}

Timing timing_of(const HistoryHeader& header) {
  const Value& timing = header.raw["timing"];
  const auto time = [&](std::string_view name) { return Nanos{timing.int_or(name, 0)}; };
  return {.election_timeout_min = time("election_timeout_min"),
          .op_timeout = time("op_timeout"),
          .lead_in = time("lead_in"),
          .load = time("load"),
          .recovery = time("recovery")};
}

bool shares_revisions(const HistoryHeader& header) {
  return !header.raw["claims"].bool_or("own-revisions", false);
}

std::string_view read_claim(const HistoryHeader& header) {
  return header.raw["claims"].text_or("read", "linearizable");
}

int64_t threshold_of(const HistoryHeader& header, std::string_view name, int64_t fallback) {
  return header.raw["thresholds"].int_or(name, fallback);
}

bool is_own_fault(const HistoryHeader& header, std::string_view kind) {
  const Value& own = header.raw["own_faults"];
  if (!own.is_array()) return false;
  const auto& kinds = own.as_array();
  return std::find(kinds.begin(), kinds.end(), Value(kind)) != kinds.end();
}

std::string_view phase_of(const Operation& operation) {
  return operation.invoke_extra().text_or("phase", "");
}

std::vector<HostStall> host_stalls(const History& history, Nanos longer_than) {
  std::vector<HostStall> stalls;
  each(history, f::host, [&](const Observation& observation) {
    const Nanos stall{observation.op.value.int_or("stall", 0)};
    if (stall > longer_than) {
      stalls.push_back({observation.op.time - stall, observation.op.time});
    }
  });
  std::stable_sort(stalls.begin(), stalls.end(), [](const HostStall& a, const HostStall& b) {
    return a.end - a.begin > b.end - b.begin;
  });
  return stalls;
}

std::vector<Symbol> connected_majority(const HistoryHeader& header,
                                       const std::vector<FaultInterval>& faults, Nanos from,
                                       Nanos to) {
  const size_t count = std::min<size_t>(header.nodes.size(), 64);
  std::map<Symbol, size_t> index;
  for (size_t i = 0; i < count; ++i) index.emplace(Symbol(header.nodes[i]), i);
  const uint64_t everyone = count == 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
  uint64_t live = everyone;
  std::vector<uint64_t> links(count, everyone);
  for (size_t i = 0; i < count; ++i) links[i] &= ~(uint64_t{1} << i);
  for (const FaultInterval& fault : faults) {
    if (!overlaps(fault, from, to)) continue;
    if (!fault.completed) return {};
    if (!fault.of_links()) {
      for (Symbol victim : fault.victims) {
        const auto at = index.find(victim);
        if (at != index.end() && fault.healed_at_of(victim) >= from)
          live &= ~(uint64_t{1} << at->second);
      }
    }
    for (const auto* broken : {&fault.cut, &fault.delayed, &fault.faulty}) {
      for (const auto& [sender, receiver] : *broken) {
        const auto a = index.find(sender), b = index.find(receiver);
        if (a == index.end() || b == index.end()) continue;
        links[a->second] &= ~(uint64_t{1} << b->second);
        links[b->second] &= ~(uint64_t{1} << a->second);
      }
    }
  }
  const uint64_t clique = Clique(links).largest(live);
  std::vector<Symbol> members;
  if (2 * static_cast<size_t>(std::popcount(clique)) <= header.nodes.size()) return members;
  for (size_t i = 0; i < count; ++i) {
    if (clique >> i & 1) members.emplace_back(header.nodes[i]);
  }
  return members;
}

std::vector<MajoritySpan> majority_spans(const HistoryHeader& header,
                                         const std::vector<FaultInterval>& faults, Nanos end) {
  std::set<Nanos> bounds{Nanos{0}, end};
  for (const FaultInterval& fault : faults) {
    if (fault.asked < end) bounds.insert(fault.asked);
    if (fault.healed_at < end) bounds.insert(fault.healed_at);
    for (const auto& [node, at] : fault.back) {
      if (at < end) bounds.insert(at);
    }
  }
  std::vector<MajoritySpan> spans;
  for (auto at = bounds.begin(); std::next(at) != bounds.end(); ++at) {
    const Nanos begin = *at, until = *std::next(at);
    // The bounds themselves belong to the fault.
    auto members = connected_majority(header, faults, begin + Nanos{1}, until - Nanos{1});
    if (members.empty()) continue;
    if (!spans.empty() && spans.back().end == begin && spans.back().members == members) {
      spans.back().end = until;
    } else {
      spans.push_back({begin, until, std::move(members)});
    }
  }
  return spans;
}

}  // namespace assay
