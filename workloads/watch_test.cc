// What the sessions do when their watches are cut, refused, unanswered or compacted away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "checkers/checker.h"
#include "checkers/history/history_io.h"
#include "checkers/history/vocabulary.h"
#include "checkers/history/watch_value.h"
#include "workloads/gen/combinators.h"
#include "workloads/gen/simulate.h"
#include "workloads/workload.h"

namespace assay {
namespace {

// A store with a log, in virtual time. A watch is answered when its time is over; some are cut
// short, some fail, some are never answered.
class SimulatedLog {
 public:
  explicit SimulatedLog(Rng rng, bool from_now = false) : rng_(rng), from_now_(from_now) {}

  Op serve(const Op& op, Worker) {
    if (op.f == f::watch) return watch(op);
    if (rng_.chance(1, 50)) return complete(op, OpType::kFail, {Symbol("refused"), "", {}, {}});
    Op done = complete(op, OpType::kOk);
    if (op.f == f::list) done.value = list();
    if (op.f == f::compact) compactions_.emplace_back(op.time, op.value.as_int());
    if (op.f == f::write) set(++revision_, op.key, op.value);
    if (op.f == f::txn) {
      ++revision_;
      for (const Value& w : op.value.as_array())
        set(revision_, w.as_array()[1].as_symbol(), w.as_array()[2]);
    }
    if (op.f == f::delete_) {
      const bool there = !live_[op.key].second.is_null();
      if (there) set(++revision_, op.key, {});
      done.extra = Value::object({{Symbol("deleted"), there ? 1 : 0}});
    }
    done.revision = Token(op.f == f::delete_ ? 0 : revision_);
    if (op.f == f::list || op.f == f::compact) done.revision = {};
    done.at = Token(revision_);
    return done;
  }

 private:
  void set(int64_t revision, Symbol key, const Value& value) {
    if (value.is_null() && live_[key].second.is_null()) return;
    live_[key] = {revision, value};
    log_.push_back({.revision = revision, .key = key, .deleted = value.is_null(), .value = value});
  }
  Value list() const {
    Value::Array rows;
    for (const auto& [key, version] : live_) {
      if (!version.second.is_null())
        rows.push_back(Value::array({Value(key), version.second, version.first}));
    }
    return Value::array(std::move(rows));
  }
  Op watch(const Op& op) {
    const uint64_t fate = rng_.below(10);
    if (fate == 0) return complete(op, OpType::kInfo, {Symbol("timeout"), "", {}, {}});
    if (fate == 1) return complete(op, OpType::kFail, {Symbol("refused"), "", {}, {}});
    const int64_t from = watch_wish(op.value)->from;
    // Who began before a compaction is not overtaken by it.
    int64_t compacted = 0;
    for (const auto& [time, revision] : compactions_) {
      if (time < op.time) compacted = std::max(compacted, revision);
    }
    WatchSeen seen;
    seen.next = from;
    seen.end = fate == 2 ? WatchEnd::kCut : WatchEnd::kDone;
    // The half that is told last is not, where it is cut.
    const int64_t upto = fate == 2 ? (from + revision_) / 2 : revision_;
    if (from < compacted) {
      seen.end = WatchEnd::kCompacted;
      seen.compact_revision = compacted;
    } else {
      for (const WatchedEvent& event : log_) {
        const int64_t start = from_now_ ? from + 3 : from;
        if (event.revision >= start && event.revision <= upto) seen.events.push_back(event);
      }
      seen.next = std::max(from, upto + 1);
      seen.progress.push_back({seen.next - 1, seen.events.size()});
    }
    Op done = complete(op, OpType::kOk);
    done.value = to_value(seen);
    return done;
  }

  Rng rng_;
  const bool from_now_;
  int64_t revision_ = 1;
  std::vector<std::pair<Nanos, int64_t>> compactions_;  // when asked, and to where
  std::map<Symbol, std::pair<int64_t, Value>> live_;
  std::vector<WatchedEvent> log_;
};

WorkloadOptions options_of(uint64_t seed) {
  WorkloadOptions options{Rng(seed).stream("workload")};
  options.nodes = {"n1", "n2", "n3"};
  return options;
}

SimulatedRun run_watch(WorkloadRun& run, uint64_t seed, bool from_now = false,
                       Nanos length = seconds(20)) {
  auto log = std::make_shared<SimulatedLog>(Rng(seed).stream("log"), from_now);
  SimulateOptions options;
  options.clients = 20;
  options.latency = [](const Op& op, Worker) {
    const auto wish = op.f == f::watch ? watch_wish(op.value) : std::nullopt;
    return Latency{wish ? wish->span : microseconds(500), microseconds(500)};
  };
  options.effect = [log](const Op& op, Worker w) { return log->serve(op, w); };
  Gen gen = gen::phases(gen::time_limit(length, run.load()), run.final_reads());
  return simulate(*gen, options);
}

SimulatedRun run_watch(uint64_t seed, bool from_now = false) {
  auto run = find_workload("watch")->start(options_of(seed));
  EXPECT_TRUE(run.ok());
  return run_watch(**run, seed, from_now);
}

Verdict checked(const SimulatedRun& run) {
  std::string text = header_line(find_workload("watch")->header());
  for (const SimulatedEvent& event : run.events) append_line(text, event.op);
  auto history = parse_history(text);
  EXPECT_TRUE(history.ok()) << history.error().message;
  auto verdict = check_history(*history, {"watch"}, {});
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return *verdict;
}

TEST(WatchWorkload, OnACorrectLogIsValidAndOnOneThatForgetsTheStartInvalid) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const Verdict right = checked(run_watch(seed));
    EXPECT_EQ(right.word(), Word::kValid) << seed << right.reason;
    const Verdict wrong = checked(run_watch(seed, true));
    EXPECT_EQ(wrong.word(), Word::kInvalid) << seed;
    EXPECT_EQ(wrong.worst()->name, "reliable");
  }
}

TEST(WatchWorkload, ASessionResumesExactlyWhereItsWatchLeftOff) {
  // Completions do not carry the session: it is the one of the invocation under way.
  std::map<Process, std::string> open;
  std::map<std::string, int64_t> due;  // 0: it lists
  int resumed = 0, listed = 0;
  for (const SimulatedEvent& event : run_watch(1).events) {
    const Op& op = event.op;
    if (op.f != f::watch && op.f != f::list) continue;
    if (op.type == OpType::kInvoke) {
      if (op.extra["session"].is_null()) continue;
      const std::string session = open[op.process] = std::string(op.extra["session"].as_text());
      if (op.f == f::list) {
        EXPECT_EQ(due[session], 0);
        ++listed;
      } else {
        EXPECT_EQ(watch_wish(op.value)->from, due[session]) << session;
        ++resumed;
      }
    } else if (open.contains(op.process) && op.type == OpType::kOk) {
      const bool gone = op.value.text_or("end", "") == "compacted";
      due[open[op.process]] = op.f == f::list ? op.at.number() + 1
                              : gone          ? 0
                                              : watch_next(op.value);
    }
  }
  EXPECT_GT(resumed, 50);
  EXPECT_GT(listed, 10);
}

TEST(WatchWorkload, AWatchThatWasCutGoesOnOnAnotherNode) {
  std::map<Process, std::string> open;
  std::map<std::string, std::pair<int, bool>> last;  // node, and whether it went well
  int moved = 0, stayed_after_cut = 0, kept = 0;
  for (const SimulatedEvent& event : run_watch(2).events) {
    const Op& op = event.op;
    if (op.f != f::watch) continue;
    const int node = node_of_worker(event.worker, 10, 3);
    if (op.type == OpType::kInvoke) {
      const std::string session = open[op.process] = std::string(op.extra["session"].as_text());
      if (!last.contains(session)) continue;
      const auto [before, well] = last[session];
      moved += before != node;
      kept += well && before == node;
      stayed_after_cut += !well && before == node;
    } else {
      const bool well = op.type == OpType::kOk && op.value.text_or("end", "") == "done";
      last[open[op.process]] = {node, well};
    }
  }
  EXPECT_GT(moved, 20);
  EXPECT_GT(kept, 20);
  EXPECT_LT(stayed_after_cut, moved / 2);
}

TEST(WatchWorkload, EverythingThatItNeedsSucceedsOftenInASecondsLongRun) {
  auto run = find_workload("watch")->start(options_of(3));
  std::map<Symbol, int> ok;
  std::set<int> nodes;
  std::set<int64_t> values;
  for (const SimulatedEvent& event : run_watch(**run, 3, false, seconds(8)).events) {
    EXPECT_THAT((*run)->ops(), testing::Contains(event.op.f));
    if (event.op.f == f::write && event.op.type == OpType::kInvoke) {
      EXPECT_TRUE(values.insert(event.op.value.as_int()).second);
    }
    if (event.op.type != OpType::kOk) continue;
    ++ok[event.op.f];
    if (event.op.f == f::watch) nodes.insert(node_of_worker(event.worker, 10, 3));
  }
  for (Symbol f : (*run)->ops()) EXPECT_GE(ok[f], 10) << f.text();
  EXPECT_EQ(nodes.size(), 3u);
}

TEST(WatchWorkload, AtTheEndEveryNodeLists) {
  std::set<int> nodes;
  for (const SimulatedEvent& event : run_watch(4).events) {
    if (event.op.extra["phase"] != Value("final")) continue;
    EXPECT_EQ(event.op.f, f::list);
    nodes.insert(node_of_worker(event.worker, 10, 3));
  }
  EXPECT_EQ(nodes.size(), 3u);
}

// What was under way when the load was over completes unheard.
TEST(WatchWorkload, LoadCalledAgainGoesOnWithoutAWrongStart) {
  auto run = find_workload("watch")->start(options_of(5));
  auto log = std::make_shared<SimulatedLog>(Rng(5));
  SimulateOptions options;
  options.clients = 20;
  options.latency = [](const Op& op, Worker) {
    const auto wish = op.f == f::watch ? watch_wish(op.value) : std::nullopt;
    return Latency{wish ? wish->span : microseconds(500), microseconds(500)};
  };
  options.effect = [log](const Op& op, Worker w) { return log->serve(op, w); };
  Gen gen = gen::phases(gen::time_limit(seconds(5), (*run)->load()),
                        gen::time_limit(seconds(5), (*run)->load()));
  const SimulatedRun simulated = simulate(*gen, options);
  EXPECT_TRUE(simulated.done);
  EXPECT_GT(simulated.end, seconds(10));
  EXPECT_EQ(checked(simulated).word(), Word::kValid) << checked(simulated).reason;
}

TEST(WatchWorkload, NeedsOneWhoWritesAndOneWhoWatches) {
  WorkloadOptions options = options_of(1);
  options.concurrency = 1;
  options.group_size = 1;
  EXPECT_FALSE(find_workload("watch")->start(options).ok());
  options.concurrency = 2;
  EXPECT_TRUE(find_workload("watch")->start(options).ok());
}

}  // namespace
}  // namespace assay
