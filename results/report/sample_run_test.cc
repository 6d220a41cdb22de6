#include "results/report/sample_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"

namespace assay::sample {
namespace {

Value object(std::initializer_list<std::pair<const char*, Value>> members) {
  Value::Object out;
  for (const auto& [name, value] : members) out.emplace_back(Symbol(name), value);
  return Value::object(std::move(out));
}

Symbol node_name(int node) { return Symbol("n" + std::to_string(node + 1)); }

struct Span {
  Nanos from;
  Nanos to;
  bool contains(Nanos t) const { return from <= t && t < to; }
};

struct Fault {
  std::string kind;
  std::string shape;
  std::vector<int> victims;
  Span certain;
};

struct Reign {  // of a leader
  int node;
  int64_t term;
  Span span;
};

// The whole story is decided first, then told in the order of time.
class Storyteller {
 public:
  explicit Storyteller(const Options& options)
      : options_(options), rng_(options.seed), load_end_(options.length - seconds(6)) {}

  History tell() {
    plan_faults();
    plan_leaders();
    tell_phases();
    tell_faults();
    tell_statuses();
    tell_clients();
    if (options_.stale_read) tell_stale_read();
    return build();
  }

 private:
  void plan_faults() {
    if (!options_.faults) return;
    const char* kKinds[] = {"partition", "pause", "kill"};
    Nanos at = seconds(5);
    for (int i = 0; at + seconds(4) < load_end_ - seconds(2); ++i) {
      Fault fault;
      fault.kind = kKinds[i % 3];
      const int first = static_cast<int>(rng_.below(static_cast<uint64_t>(options_.nodes)));
      fault.victims = {first};
      fault.shape = "one";
      if (fault.kind == "partition" && i % 2 == 0) {
        fault.shape = "halves";
        fault.victims.push_back((first + 1) % options_.nodes);
      }
      fault.certain = {at, at + milliseconds(rng_.between(2200, 3800))};
      if (options_.stale_read && i == 3) {
        fault.shape = "one";
        fault.victims = {1};
        cut_off_ = fault.certain;
      }
      faults_.push_back(fault);
      at = at + milliseconds(rng_.between(3000, 5200));
    }
  }

  bool is_hit(int node, Nanos t) const {
    return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
      return fault.certain.contains(t) &&
             std::find(fault.victims.begin(), fault.victims.end(), node) != fault.victims.end();
    });
  }

  void plan_leaders() {
    Nanos at = milliseconds(420);
    int leader = static_cast<int>(rng_.below(static_cast<uint64_t>(options_.nodes)));
    for (int64_t term = 1; at < options_.length; ++term) {
      Nanos end = options_.length;
      for (const Fault& fault : faults_) {
        const bool hit =
            std::find(fault.victims.begin(), fault.victims.end(), leader) != fault.victims.end();
        if (hit && fault.certain.to > at) end = std::min(end, std::max(at, fault.certain.from));
      }
      if (end > at) reigns_.push_back({leader, term, {at, end}});
      at = end + milliseconds(rng_.between(350, 900));
      do {
        leader = static_cast<int>(rng_.below(static_cast<uint64_t>(options_.nodes)));
      } while (is_hit(leader, at) && options_.nodes > 2);
    }
  }

  const Reign* reign_at(Nanos t) const {
    for (const Reign& reign : reigns_) {
      if (reign.span.contains(t)) return &reign;
    }
    return nullptr;
  }

  Op line(Nanos time, Process process, OpType type, Symbol f, Value value) {
    Op op;
    op.time = time;
    op.process = process;
    op.type = type;
    op.f = f;
    op.value = std::move(value);
    return op;
  }

  void tell_phases() {
    const auto phase = [&](Nanos t, const char* name) {
      lines_.push_back(line(t, kObserver, OpType::kInfo, f::phase, object({{"phase", name}})));
    };
    phase(Nanos{0}, "quiet");
    phase(seconds(5), "faults");
    phase(load_end_, "heal");
    phase(load_end_ + milliseconds(600), "recovery");
    phase(load_end_ + seconds(5), "final");
  }

  void tell_faults() {
    for (const Fault& fault : faults_) {
      Value::Array victims;
      for (int node : fault.victims) victims.emplace_back(node_name(node));
      const Value asked = object({{"shape", fault.shape}});
      const Value found = object({{"shape", fault.shape},
                                  {"victims", Value::array(victims)},
                                  {"installed", true},
                                  {"bit", true},
                                  {"healed", true},
                                  {"evidence", "12 packets dropped"}});
      const Nanos took = milliseconds(30);
      const auto put = [&](Nanos from, Nanos to, Symbol f) {
        lines_.push_back(line(from, kNemesis, OpType::kInfo, f, asked));
        lines_.push_back(line(to, kNemesis, OpType::kInfo, f, found));
      };
      put(fault.certain.from - took, fault.certain.from, start_of(fault.kind));
      put(fault.certain.to, fault.certain.to + took, stop_of(fault.kind));
    }
  }

  void tell_statuses() {
    for (Nanos t = milliseconds(100); t < options_.length; t = t + milliseconds(200)) {
      const Reign* reign = reign_at(t);
      for (int node = 0; node < options_.nodes; ++node) {
        lines_.push_back(line(t + microseconds(node * 150), kObserver, OpType::kInfo, f::status,
                              status_of(node, t, reign)));
      }
    }
  }

  Value status_of(int node, Nanos t, const Reign* reign) const {
    const Value name = node_name(node);
    for (const Fault& fault : faults_) {
      const bool hit =
          std::find(fault.victims.begin(), fault.victims.end(), node) != fault.victims.end();
      if (!hit || fault.kind == "partition" || !fault.certain.contains(t)) continue;
      return object({{"node", name},
                     {"role", "down"},
                     {"why", fault.kind == "kill" ? "refused" : "timeout"}});
    }
    const char* role = "follower";
    if (reign == nullptr && t > milliseconds(300)) role = node % 2 == 0 ? "candidate" : "follower";
    if (reign != nullptr && reign->node == node) role = "leader";
    return object({{"node", name},
                   {"role", role},
                   {"term", reign == nullptr ? int64_t{0} : reign->term},
                   {"leader", reign == nullptr ? Value() : Value(node_name(reign->node))},
                   {"commit", t.count / 1'000'000},
                   {"applied", t.count / 1'000'000}});
  }

  void tell_clients() {
    const Nanos gap{load_end_.count /
                    std::max<int64_t>(1, options_.operations / options_.processes)};
    for (int worker = 0; worker < options_.processes; ++worker) {
      int64_t process = worker;
      Nanos t = milliseconds(500) + microseconds(worker * 700);
      while (t < load_end_ + seconds(5)) {
        t = tell_operation(worker, process, t) +
            Nanos{rng_.between(gap.count / 2, gap.count * 3 / 2)};
      }
    }
  }

  // Returns when the worker is free again.
  Nanos tell_operation(int worker, int64_t& process, Nanos t) {
    const int node = worker % options_.nodes;
    Op op = line(t, Process{process}, OpType::kInvoke, f::read, Value());
    op.key = Symbol("k" + std::to_string(t.count / 1'000'000'000 / 2 * 2 + worker / 10));
    op.node = node_name(node);
    const uint64_t kind = rng_.below(10);
    if (kind >= 5) op.f = f::write;
    if (kind >= 8) op.f = f::cas;
    const Value value = rng_.between(0, 4);
    if (op.f == f::write) op.value = value;
    if (op.f == f::cas) op.value = Value::pair(value, rng_.between(0, 4));
    lines_.push_back(op);

    Nanos took = microseconds(600 + static_cast<int64_t>(rng_.below(900)));
    if (rng_.chance(1, 40)) took = took * static_cast<int64_t>(2 + rng_.below(20));
    while (reign_at(t + took) == nullptr && took < seconds(1)) took = took + milliseconds(40);
    OpType type = OpType::kOk;
    const char* error = nullptr;
    if (op.f == f::cas && rng_.chance(1, 2))
      std::tie(type, error) = std::pair{OpType::kFail, "mismatch"};
    if (took >= seconds(1) || is_hit(node, t)) {
      const bool killed = rng_.chance(1, 3);
      took = killed ? microseconds(400) : seconds(1);
      std::tie(type, error) =
          killed ? std::pair{OpType::kFail, "refused"} : std::pair{OpType::kInfo, "timeout"};
    }
    Op done = complete(op, type);
    done.time = t + took;
    if (type == OpType::kOk && op.f == f::read) done.value = value;
    if (error != nullptr)
      done.error = OpError{Symbol(error), std::string("after ") + format_duration(took), {}};
    lines_.push_back(done);
    if (type == OpType::kInfo) process += options_.processes;
    return done.time;
  }

  void tell_stale_read() {
    const Nanos t = cut_off_.from + milliseconds(150);
    const auto pair = [&](int64_t process, Symbol f, Value argument, Value result, int node,
                          Nanos from, Nanos took) {
      Op op = line(from, Process{process}, OpType::kInvoke, f, std::move(argument));
      op.key = Symbol("k7");
      op.node = node_name(node);
      lines_.push_back(op);
      Op done = complete(op, OpType::kOk);
      done.value = std::move(result);
      done.time = from + took;
      lines_.push_back(done);
    };
    pair(1000, f::write, 4, 4, 0, t, microseconds(1400));
    pair(1001, f::cas, Value::pair(4, 5), Value::pair(4, 5), 2, t + microseconds(1900),
         microseconds(2100));
    pair(1003, f::read, {}, 4, 1, t + milliseconds(216), microseconds(700));
    pair(1004, f::read, {}, 5, 3, t + milliseconds(120), microseconds(900));
  }

  History build() {
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const Op& a, const Op& b) { return a.time < b.time; });
    HistoryBuilder builder;
    HistoryHeader header;
    header.present = true;
    header.target = "raft";
    header.workload = "register";
    for (int node = 0; node < options_.nodes; ++node) {
      header.nodes.emplace_back(node_name(node).text());
    }
    if (options_.faults) header.faults = {"partition", "pause", "kill"};
    header.seed = options_.seed;
    builder.set_header(header);
    int64_t index = 0;
    for (Op& op : lines_) {
      op.index = index++;
      const Result<void> added = builder.add(op);
      EXPECT_TRUE(added.ok()) << added.error().message;
    }
    return builder.build();
  }

  Options options_;
  Rng rng_;
  Nanos load_end_;
  std::vector<Fault> faults_;
  std::vector<Reign> reigns_;
  std::vector<Op> lines_;
  Span cut_off_{};
};

RunInfo info_of(uint64_t seed) {
  RunInfo info;
  const std::string number = std::to_string(seed);
  info.spec = object({{"target", "raft"},
                      {"workload", "register"},
                      {"nemesis", "partition,pause,kill"},
                      {"nodes", 5},
                      {"time_limit", "60s"},
                      {"rate", 1000},
                      {"concurrency", 20},
                      {"nemesis_interval", "10s"},
                      {"fault_duration", "5s"},
                      {"op_timeout", "1s"},
                      {"seed", static_cast<int64_t>(seed)},
                      {"set", object({{"raft.election_timeout_ms_min", "300"}})},
                      {"net", "private"}});
  info.command =
      "assay run --target raft --workload register --nemesis partition,pause,kill --nodes 5 "
      "--time-limit 60s --seed " +
      number;
  info.assay_version = "0.1.0";
  info.started = "2026-01-02T15:04:05Z";
  info.binaries = {{"assay-raft", "sha256:4f1c9f0be1d2a7730c5a8c0a63f0e8b1"}};
  info.faults = "partition+pause+kill";
  info.environment = "private network, Linux 6.1, 2 cores";
  info.not_tested = {
      "power loss: SIGKILL keeps what the kernel has, so a missing fsync is not seen",
      "clocks: the nodes share one clock", "disks: no full, slow or failing disk",
      "membership: the members do not change"};
  info.seed = seed;
  info.folder = "results/runs/20260102T150405Z-raft-register-partition+pause+kill-" + number;
  info.rerun = "assay rerun " + info.folder;
  info.read_time = milliseconds(61);
  info.check_time = milliseconds(812);
  info.timings = {
      {"start", milliseconds(1180)}, {"load", seconds(60)}, {"heal", milliseconds(640)}};
  return info;
}

Verdict verdict_of(std::string name, Safety safety, Progress progress, std::string reason) {
  Verdict verdict;
  verdict.name = std::move(name);
  verdict.safety = safety;
  verdict.progress = progress;
  verdict.reason = std::move(reason);
  return verdict;
}

Verdict other_checkers(Verdict linearizable) {
  Verdict run = verdict_of("run", Safety::kValid, Progress::kOk,
                           "every operation fits one order that respects real time, and progress "
                           "came back after every fault");
  run.add(std::move(linearizable));
  Verdict availability = verdict_of("availability", Safety::kValid, Progress::kOk,
                                    "first ok 612 ms after the last heal, longest gap 1.4 s");
  availability.counts = {{"longest gap ms", 1402}, {"heal to first ok ms", 612}};
  run.add(availability);
  run.add(verdict_of("members", Safety::kValid, Progress::kNotDue,
                     "1,460 status samples agree; all chains are equal at the end"));
  Verdict vacuity = verdict_of("non-vacuity", Safety::kValid, Progress::kNotDue,
                               "every counter is above its threshold");
  vacuity.counts = {{"read ok", 9812}, {"write ok", 6120}, {"cas ok", 2007}};
  run.add(vacuity);
  return run;
}

Verdict linearizable_verdict() {
  Verdict verdict =
      verdict_of("linearizable", Safety::kValid, Progress::kNotDue, "all 62 keys are linearizable");
  verdict.counts = {{"keys", 62}, {"operations", 19'400}};
  verdict.facts = {
      {std::string(fact::kCouldHaveBeenCaught),
       "318 reads were served by nodes that had lost leadership"},
      {std::string(fact::kCouldHaveBeenCaught),
       "7 elections under load, 412 writes of unknown outcome"},
      {std::string(fact::kCouldHaveBeenCaught),
       "sensitivity: 30 of 30 illegal edits put into copies of this history were found (stale "
       "reads of "
       "50 ms and more, lost writes, swapped CAS)"},
      {std::string(fact::kConvention), "an ok read of null is a value"},
      {std::string(fact::kConvention), "a failed CAS observes that the value differed"},
      {"search", "41,200 states, 12 at most at once"}};
  for (int key = 0; key < 62; ++key) {
    verdict.children.push_back(verdict_of("k" + std::to_string(key), Safety::kValid,
                                          Progress::kNotDue, "312 operations fit one order"));
  }
  return verdict;
}

}  // namespace

SampleRun valid(const Options& options) {
  return {Storyteller(options).tell(), other_checkers(linearizable_verdict()),
          info_of(options.seed)};
}

SampleRun invalid(Options options) {
  options.stale_read = true;
  SampleRun run{Storyteller(options).tell(), {}, info_of(options.seed)};
  Witness witness;
  for (size_t id = 0; id < run.history.size(); ++id) {
    const int64_t process = run.history[id].process().id;
    if (process == 1000 || process == 1001 || process == 1003) witness.operations.push_back(id);
  }
  witness.lines = {
      "p1003 read 4 from n2, 212 ms after 5 was acknowledged; n2 had been cut off since " +
          format_point(fault_intervals(run.history).at(3).begin),
      "p1000 wrote 4 to k7 on n1, and p1001 then changed 4 to 5 on n3: both were acknowledged",
      "p1003 invoked its read after both had returned, so it had to see 5 or something newer"};
  const auto& ids = witness.operations;
  witness.order = LastOrder{.of = "",
                            .before = 37,
                            .start = "null",
                            .steps = {{ids.at(0), "4"}, {ids.at(1), "5"}},
                            .breaks = ids.at(2)};
  Verdict linearizable = linearizable_verdict();
  linearizable.facts.emplace_back(fact::kWeaker, "monotonic reads: kept: none went back");
  Verdict key = verdict_of("k7", Safety::kInvalid, Progress::kNotDue, "stale read of k7");
  key.counts = {{"operations", 312}, {"states", 1204}};
  key.facts = {{std::string(fact::kRestsOn),
                "independent of your error mapping: no definite failure is near"}};
  key.witness = witness;
  linearizable.children.erase(linearizable.children.begin() + 7);
  linearizable.add(key);
  run.verdict = other_checkers(linearizable);
  run.info.logs = {
      {"n1",
       {{milliseconds(17'214), "peer n2: no answer for 100 ms"},
        {milliseconds(17'502), "peer n2: connection lost"}},
       0},
      {"n2",
       {{milliseconds(16'990), "leader of term 6, commit 16201"},
        {milliseconds(17'310), "no quorum of answers since 300 ms"},
        {milliseconds(17'660), "stepping down: no quorum for 600 ms, term 6"}},
       3},
      {"n3",
       {{milliseconds(17'630), "elected leader of term 7 by n1, n3, n4 <with> \"quotes\" & more"}},
       0}};
  return run;
}

SampleRun vacuous() {
  Options options;
  options.operations = 40;
  options.length = seconds(20);
  SampleRun run{Storyteller(options).tell(), {}, info_of(4)};
  run.verdict = verdict_of("run", Safety::kValid, Progress::kOk, "");
  run.verdict.add(
      verdict_of("linearizable", Safety::kValid, Progress::kNotDue, "all 9 keys are linearizable"));
  Verdict vacuity =
      verdict_of("non-vacuity", Safety::kVacuous, Progress::kNotDue,
                 "the run did not exercise what it claims: cas succeeded 3 times of 10 needed");
  vacuity.counts = {{"cas ok", 3}, {"read ok", 16}};
  vacuity.facts = {{std::string(fact::kMissing), "cas: 3 ok of 10 needed"},
                   {std::string(fact::kMissing),
                    "partition at 5.0 s: 4 ok on the connected majority of 20 needed"},
                   {std::string(fact::kRemedy), "more operations: `--rate 1000`"},
                   {std::string(fact::kRemedy), "a longer run: `--time-limit 60s`"}};
  run.verdict.add(vacuity);
  return run;
}

SampleRun unknown() {
  SampleRun run = valid();
  run.verdict = verdict_of("run", Safety::kValid, Progress::kOk, "");
  Verdict linearizable = verdict_of("linearizable", Safety::kValid, Progress::kNotDue, "");
  linearizable.add(verdict_of(
      "k3", Safety::kUnknown, Progress::kNotDue,
      "not decided within the budget of 60 s: 12 operations of unknown outcome are open"));
  run.verdict.add(linearizable);
  return run;
}

SampleRun blocked() {
  SampleRun run = valid();
  run.verdict = verdict_of("run", Safety::kValid, Progress::kOk, "");
  run.verdict.add(linearizable_verdict());
  run.verdict.add(verdict_of(
      "availability", Safety::kValid, Progress::kBlocked,
      "n4 did not answer within 5 s after the last heal, though a connected majority stood"));
  return run;
}

SampleRun empty() {
  HistoryBuilder builder;
  HistoryHeader header;
  header.present = true;
  header.target = "raft";
  header.workload = "register";
  header.nodes = {"n1", "n2", "n3"};
  builder.set_header(header);
  SampleRun run{builder.build(), {}, info_of(5)};
  run.verdict =
      verdict_of("run", Safety::kVacuous, Progress::kNotDue, "the history holds no operation");
  return run;
}

SampleRun foreign() {
  HistoryBuilder builder;
  const auto add = [&](int64_t process, OpType type, Symbol f, Value value) {
    Op op;
    op.process = Process{process};
    op.type = type;
    op.f = f;
    op.value = std::move(value);
    EXPECT_TRUE(builder.add(op).ok());
  };
  add(0, OpType::kInvoke, f::write, 1);
  add(1, OpType::kInvoke, f::read, {});
  add(0, OpType::kOk, f::write, 1);
  add(1, OpType::kOk, f::read, {});
  add(1, OpType::kInvoke, f::read, {});
  add(1, OpType::kOk, f::read, {});
  add(2, OpType::kInvoke, f::write, 3);
  SampleRun run{builder.build(), {}, {}};
  run.info.rerun = "assay check history.jsonl";
  run.verdict = verdict_of("run", Safety::kValid, Progress::kNotDue, "");
  Verdict linearizable =
      verdict_of("linearizable", Safety::kInvalid, Progress::kNotDue, "stale read");
  linearizable.witness = Witness{{0, 2}, {"process 1 read null after 1 had been written"}};
  run.verdict.add(linearizable);
  return run;
}

SampleRun failed() {
  SampleRun run = empty();
  run.info.failure = "agent of n3 died: signal 9 after 12.1 s";
  return run;
}

namespace {

TEST(ASampleRun, TellsAPlausibleStory) {
  const SampleRun run = valid();
  EXPECT_GT(run.history.size(), 15'000u);
  const auto faults = fault_intervals(run.history);
  EXPECT_GE(faults.size(), 9u);
  std::map<std::string, int> kinds;
  for (const auto& fault : faults) ++kinds[fault.kind];
  EXPECT_EQ(kinds.size(), 3u);
  int leaders = 0;
  for (const auto& sample : status_samples(run.history)) leaders += sample.role == "leader";
  EXPECT_GT(leaders, 100);
  EXPECT_EQ(invalid().verdict.find("linearizable/k7")->witness->operations.size(), 3u);
}

}  // namespace
}  // namespace assay::sample
