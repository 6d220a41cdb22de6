// What holds for every workload whose load is many keys, and what they share.
#include "workloads/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "checkers/checker.h"
#include "checkers/history/history_io.h"
#include "workloads/gen/combinators.h"
#include "workloads/simulated_map.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Short keys, so that the brute force can judge them.
WorkloadOptions small(uint64_t seed) {
  WorkloadOptions options{Rng(seed).stream("workload")};
  options.nodes = {"n1", "n2", "n3"};
  options.concurrency = 8;
  options.group_size = 4;
  options.ops_per_key_min = 20;
  options.ops_per_key_max = 45;
  options.processes_per_key = 8;
  return options;
}

std::unique_ptr<WorkloadRun> started(std::string_view name, const WorkloadOptions& options) {
  auto run = find_workload(name)->start(options);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return std::move(*run);
}

SimulatedRun run_on_map(Gen gen, uint64_t seed, int clients, SimulatedMapOptions map_options = {},
                        size_t operations = 1500) {
  auto map = std::make_shared<SimulatedMap>(map_options, Rng(seed).stream("map"));
  SimulateOptions options;
  options.clients = clients;
  options.operations_max = operations;
  options.latency = drawn_latency(Rng(seed).stream("latency"), milliseconds(2));
  options.effect = [map](const Op& op, Worker w) { return map->serve(op, w); };
  return simulate(*gen, options);
}

Gen load_then_final_reads(WorkloadRun& run) {
  return gen::phases(gen::limit(1000, run.load()), run.final_reads());
}

TEST(Workloads, AreFoundByNameInTheOrderOfTheList) {
  std::vector<std::string_view> names;
  for (const Workload* workload : all_workloads()) {
    names.push_back(workload->name());
    EXPECT_EQ(find_workload(workload->name()), workload);
    EXPECT_FALSE(workload->summary().empty());
    const auto checkers = workload->checkers();
    for (const std::string& checker : checkers) EXPECT_NE(find_checker(checker), nullptr) << checker;
    const bool linearizable =
        std::find(checkers.begin(), checkers.end(), "linearizable") != checkers.end();
    EXPECT_EQ(workload->header()["model"].is_null(), !linearizable) << workload->name();
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"register", "cas-versioned", "watch", "script"}));
  EXPECT_EQ(find_workload("registers"), nullptr);
}

struct Spread {
  int group_size;
  int nodes;
  int concurrency;
};

class NodeOfWorker : public ::testing::TestWithParam<Spread> {};

TEST_P(NodeOfWorker, GoesRoundTheNodesAndMissesNone) {
  const auto [group_size, nodes, concurrency] = GetParam();
  std::map<int, int> workers;
  for (Worker w = 0; w < concurrency; ++w) {
    const int node = node_of_worker(w, group_size, nodes);
    ASSERT_THAT(node, AllOf(::testing::Ge(0), ::testing::Lt(nodes)));
    ++workers[node];
    if (group_size >= nodes && w >= group_size) {
      EXPECT_EQ(node, node_of_worker(w - group_size, group_size, nodes)) << "groups differ";
    }
  }
  EXPECT_THAT(workers, SizeIs(nodes));
}

INSTANTIATE_TEST_SUITE_P(Spreads, NodeOfWorker,
                         ::testing::Values(Spread{10, 5, 20}, Spread{10, 3, 20}, Spread{10, 7, 10},
                                           Spread{3, 5, 6}, Spread{1, 5, 5}, Spread{5, 5, 5}));

// --- Workloads of many keys

class KeyedWorkload : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, KeyedWorkload, ::testing::Values("register", "cas-versioned"));

TEST_P(KeyedWorkload, OnACorrectMapIsLinearizable) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto run = started(GetParam(), small(seed));
    const auto simulated = run_on_map(load_then_final_reads(*run), seed, 8);
    EXPECT_TRUE(simulated.done);
    EXPECT_THAT(keys_that_are_not_linearizable(simulated), SizeIs(0)) << "seed " << seed;
  }
}

struct WrongMap {
  const char* workload;
  Wrong wrong;
};

class WorkloadOnAWrongMap : public ::testing::TestWithParam<WrongMap> {};

TEST_P(WorkloadOnAWrongMap, ConvictsItInEverySeed) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto run = started(GetParam().workload, small(seed));
    const auto simulated =
        run_on_map(load_then_final_reads(*run), seed, 8, {.wrong = GetParam().wrong});
    EXPECT_FALSE(keys_that_are_not_linearizable(simulated).empty()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, WorkloadOnAWrongMap,
                         ::testing::Values(WrongMap{"register", Wrong::kStaleRead},
                                           WrongMap{"register", Wrong::kLostWrite},
                                           WrongMap{"register", Wrong::kBlindCas},
                                           WrongMap{"cas-versioned", Wrong::kStaleRead},
                                           WrongMap{"cas-versioned", Wrong::kLostWrite},
                                           WrongMap{"cas-versioned", Wrong::kBlindCas}));

// The whole way: a load of the usual size, written as a history, read, and judged by the checker.
Verdict checked(const Workload& workload, const SimulatedRun& run) {
  std::string text = header_line(workload.header());
  for (const SimulatedEvent& event : run.events) append_line(text, event.op);
  auto history = parse_history(text);
  EXPECT_TRUE(history.ok()) << history.error().message;
  auto verdict = check_history(*history, {"linearizable"}, {});
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return *verdict;
}

WorkloadOptions usual(uint64_t seed) {
  WorkloadOptions options{Rng(seed).stream("workload")};
  options.nodes = {"n1", "n2", "n3", "n4", "n5"};
  return options;
}

TEST_P(KeyedWorkload, OfTheUsualSizeOnACorrectMapIsValidByTheChecker) {
  auto run = started(GetParam(), usual(1));
  const auto simulated = run_on_map(gen::phases(gen::limit(4000, run->load()), run->final_reads()),
                                    1, 20, {.unknown_of_1000 = 10}, 5000);
  const Verdict verdict = checked(*find_workload(GetParam()), simulated);
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason;
}

TEST_P(WorkloadOnAWrongMap, OfTheUsualSizeConvictsItByTheChecker) {
  auto run = started(GetParam().workload, usual(1));
  const auto simulated =
      run_on_map(gen::stagger(milliseconds(1), Rng(2), gen::limit(4000, run->load())), 1, 20,
                 {.wrong = GetParam().wrong, .wrong_of_1000 = 10, .unknown_of_1000 = 10}, 5000);
  const Verdict verdict = checked(*find_workload(GetParam().workload), simulated);
  EXPECT_EQ(verdict.word(), Word::kInvalid) << verdict.reason;
  EXPECT_TRUE(verdict.worst()->witness.has_value());
}

TEST_P(KeyedWorkload, SpeaksOnlyTheWordsThatItNeedsAndEachSucceedsOften) {
  const Workload& workload = *find_workload(GetParam());
  auto run = started(GetParam(), small(1));
  EXPECT_EQ(run->ops(), workload.ops());
  EXPECT_EQ(run->guarded(), workload.guarded());
  std::map<Symbol, int> ok;
  for (const SimulatedEvent& event : run_on_map(run->load(), 1, 8).events) {
    EXPECT_THAT(workload.ops(), ::testing::Contains(event.op.f));
    if (event.op.type == OpType::kOk) ++ok[event.op.f];
  }
  for (Symbol f : workload.ops()) EXPECT_GE(ok[f], 50) << f.text();
}

TEST_P(KeyedWorkload, HalfOfEachKeysWorkersOnlyRead) {
  auto run = started(GetParam(), small(1));
  std::map<std::string, std::set<Worker>> workers;
  for (const SimulatedEvent& event : run_on_map(run->load(), 1, 8).events) {
    workers[std::string(event.op.key.text())].insert(event.worker);
    if (event.worker % 4 < 2) {
      EXPECT_EQ(event.op.f, f::read);
    }
  }
  EXPECT_GT(workers.size(), 20u);
}

TEST_P(KeyedWorkload, ASeedRepeatsItsOperationsAndAnotherDoesNot) {
  const auto texts = [&](uint64_t seed) {
    auto run = started(GetParam(), small(seed));
    std::string all;
    for (const SimulatedEvent& event : run_on_map(run->load(), 7, 8).events) {
      all += std::to_string(event.op.process.id) + std::string(event.op.f.text()) +
             std::string(event.op.key.text()) + event.op.value.to_json() + ";";
    }
    return all;
  };
  EXPECT_EQ(texts(1), texts(1));
  EXPECT_NE(texts(1), texts(2));
}

TEST_P(KeyedWorkload, LoadCalledAgainGoesOnWithTheSameKeys) {
  auto run = started(GetParam(), small(1));
  const auto simulated =
      run_on_map(gen::phases(gen::limit(30, run->load()), gen::limit(300, run->load())), 1, 8,
                 {.refused_of_1000 = 0, .unknown_of_1000 = 0});
  std::vector<std::string> keys;
  int of_first_key = 0;
  for (const SimulatedEvent& event : simulated.events) {
    if (event.op.type != OpType::kInvoke) continue;
    const std::string key(event.op.key.text());
    if (keys.empty() || std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    of_first_key += key == "k1";
  }
  EXPECT_THAT(of_first_key, AllOf(::testing::Ge(20), ::testing::Le(45)));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_THAT(keys_that_are_not_linearizable(simulated), SizeIs(0));
}

struct BadOptions {
  const char* what;
  std::function<void(WorkloadOptions&)> spoil;
  const char* message;
};

TEST_P(KeyedWorkload, RefusesOptionsThatDoNotFitTogether) {
  const std::vector<BadOptions> cases = {
      {"groups", [](auto& o) { o.concurrency = 9; },
       "concurrency: 9 workers do not divide into groups of 4"},
      {"no operations", [](auto& o) { o.ops_per_key_min = 0; },
       "ops_per_key: expected at least 1, found 0 to 45"},
      {"bounds", [](auto& o) { o.ops_per_key_max = 3; },
       "ops_per_key: expected at least 1, found 20 to 3"},
      {"processes", [](auto& o) { o.processes_per_key = 3; },
       "processes_per_key: expected at least the group size of 4, found 3"},
      {"keys", [](auto& o) { o.keys = -1; }, "keys: expected 0 or more, found -1"}};
  for (const BadOptions& bad : cases) {
    WorkloadOptions options = small(1);
    bad.spoil(options);
    const auto run = find_workload(GetParam())->start(options);
    ASSERT_FALSE(run.ok()) << bad.what;
    EXPECT_EQ(run.error().fault, Fault::kInput);
    EXPECT_EQ(run.error().message, bad.message);
  }
}

// --- Final reads

// The final reads of a run that had some load, in a world where `effect` answers.
SimulatedRun final_reads(WorkloadRun& run, int clients, size_t load,
                         std::function<Op(const Op&, Worker)> effect) {
  SimulateOptions options;
  options.clients = clients;
  options.latency = drawn_latency(Rng(3), milliseconds(2));
  options.effect = std::move(effect);
  Gen all = gen::phases(gen::limit(static_cast<int64_t>(load), run.load()), run.final_reads());
  SimulatedRun simulated = simulate(*all, options);
  // A barrier is before them: from the first one on there is nothing else.
  const auto first = std::find_if(
      simulated.events.begin(), simulated.events.end(),
      [](const SimulatedEvent& event) { return event.op.extra["phase"] == Value("final"); });
  simulated.events.erase(simulated.events.begin(), first);
  return simulated;
}

TEST(FinalReads, EveryWorkerOfOneGroupReadsEveryKeyInUseUntilItIsAnswered) {
  auto run = started("register", small(1));
  Rng rng(9);
  const auto simulated = final_reads(*run, 8, 500, [&](const Op& op, Worker) {
    return complete(op, rng.chance(1, 3) ? OpType::kFail : OpType::kOk);
  });
  EXPECT_TRUE(simulated.done);
  std::map<std::pair<Worker, std::string>, int> answered;
  for (const SimulatedEvent& event : simulated.events) {
    EXPECT_EQ(event.op.f, f::read);
    EXPECT_LT(event.worker, 4);
    if (event.op.type == OpType::kOk) ++answered[{event.worker, std::string(event.op.key.text())}];
  }
  EXPECT_THAT(answered, SizeIs(4 * 2));  // two groups, each at a key
  for (const auto& [what, times] : answered) EXPECT_EQ(times, 1) << what.first << what.second;
}

TEST(FinalReads, GoOnForFiveSecondsWhereANodeRefusesWithoutFloodingIt) {
  auto run = started("register", small(1));
  const auto simulated = final_reads(*run, 8, 100, [&](const Op& op, Worker w) {
    return complete(op, node_of_worker(w, 4, 3) == 1 ? OpType::kFail : OpType::kOk);
  });
  EXPECT_TRUE(simulated.done);
  EXPECT_GE(simulated.end, seconds(5));
  EXPECT_LT(simulated.end, seconds(6));
  const auto refused =
      std::count_if(simulated.events.begin(), simulated.events.end(),
                    [](const SimulatedEvent& event) { return event.op.type == OpType::kFail; });
  EXPECT_THAT(refused, AllOf(::testing::Ge(30), ::testing::Le(51)));
}

TEST(FinalReads, EndSoonWhereANodeKeepsSayingThatAnotherOneLeads) {
  auto run = started("register", small(1));
  const auto simulated = final_reads(*run, 8, 500, [&](const Op& op, Worker w) {
    if (node_of_worker(w, 4, 3) == 0) return complete(op, OpType::kOk);
    return complete(op, OpType::kFail, {Symbol("not-leader"), "another leads", {}, {}});
  });
  EXPECT_TRUE(simulated.done);
  EXPECT_LT(simulated.end, seconds(3));
  std::map<Worker, int> away;
  for (const SimulatedEvent& event : simulated.events)
    away[event.worker] += event.op.type == OpType::kFail;
  for (const auto& [worker, times] : away)
    EXPECT_EQ(times, node_of_worker(worker, 4, 3) == 0 ? 0 : 10) << worker;
}

TEST(FinalReads, CoverAllNodesWhereGroupsAreSmallerThanTheCluster) {
  WorkloadOptions options = small(1);
  options.group_size = 2;
  options.nodes = {"n1", "n2", "n3", "n4", "n5"};
  auto run = started("register", options);
  std::set<int> nodes;
  const auto simulated =
      final_reads(*run, 8, 100, [&](const Op& op, Worker) { return complete(op, OpType::kOk); });
  for (const SimulatedEvent& event : simulated.events) {
    nodes.insert(node_of_worker(event.worker, 2, 5));
  }
  EXPECT_THAT(nodes, ElementsAre(0, 1, 2, 3, 4));
}

TEST(FinalReads, AreBoundedToTheMostRecentKeys) {
  WorkloadOptions options = small(1);
  options.concurrency = 40;
  options.group_size = 1;
  auto run = started("register", options);
  std::set<std::string> keys;
  const auto simulated =
      final_reads(*run, 40, 3000, [&](const Op& op, Worker) { return complete(op, OpType::kOk); });
  int64_t least = INT64_MAX;
  for (const SimulatedEvent& event : simulated.events) {
    keys.emplace(event.op.key.text());
    least = std::min<int64_t>(least, std::stoll(std::string(event.op.key.text().substr(1))));
  }
  EXPECT_THAT(keys, SizeIs(kFinalKeysMax));
  EXPECT_GT(least, 40);
}

TEST(FinalReads, OfARunWithoutLoadAreNone) {
  auto run = started("register", small(1));
  const auto simulated =
      final_reads(*run, 8, 0, [](const Op& op, Worker) { return complete(op, OpType::kOk); });
  EXPECT_TRUE(simulated.done);
  EXPECT_TRUE(simulated.events.empty());
}

}  // namespace
}  // namespace assay
