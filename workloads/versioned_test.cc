// The workloads of versioned truth, judged by their own checkers: on a correct map nothing is invalid,
// on one that skips a step something is.
#include <gtest/gtest.h>

#include "checkers/checker.h"
#include "checkers/history/history_io.h"
#include "workloads/gen/combinators.h"
#include "workloads/simulated_map.h"
#include "workloads/workload.h"

namespace assay {
namespace {

struct Case {
  const char* workload;
  Wrong wrong;         // that must be convicted
  const char* by;      // a checker that convicts it
};

class VersionedWorkload : public ::testing::TestWithParam<Case> {
 protected:
  static Verdict judged(uint64_t seed, Wrong wrong, bool key_versions) {
    const Workload& workload = *find_workload(GetParam().workload);
    WorkloadOptions options{Rng(seed).stream("workload")};
    options.nodes = {"n1", "n2", "n3"};
    auto run = workload.start(options);
    EXPECT_TRUE(run.ok());
    auto map = std::make_shared<SimulatedMap>(
        SimulatedMapOptions{.wrong = wrong, .wrong_of_1000 = 150, .refused_of_1000 = 10, .unknown_of_1000 = 5,
                            .key_versions = key_versions},
        Rng(seed).stream("map"));
    SimulateOptions simulation;
    simulation.clients = 20;
    simulation.until = seconds(6);
    simulation.latency = drawn_latency(Rng(seed).stream("latency"), milliseconds(2));
    simulation.effect = [map](const Op& op, Worker w) { return map->serve(op, w); };
    const Gen story = gen::phases(
        gen::time_limit(seconds(4), gen::stagger(milliseconds(1), Rng(seed), (*run)->load())),
        (*run)->final_reads());
    return checked(workload, simulate(*story, simulation), key_versions ? "opaque" : "orderable");
  }

  static Verdict checked(const Workload& workload, const SimulatedRun& run, const char* token) {
    Value::Object header;
    header.emplace_back(Symbol("workload"), Value(workload.name()));
    header.emplace_back(Symbol("token"), Value(token));
    const Value own = workload.header();
    for (const auto& [name, value] : own.as_object()) header.emplace_back(name, value);
    std::string text = header_line(Value::object(std::move(header)));
    for (SimulatedEvent event : run.events) {
      event.op.node = Symbol("n" + std::to_string(node_of_worker(event.worker, 10, 3) + 1));
      append_line(text, event.op);
    }
    auto history = parse_history(text);
    EXPECT_TRUE(history.ok()) << history.error().message;
    // Those that judge what was answered; the rest is about clusters.
    std::vector<std::string> checkers;
    for (const std::string& name : workload.checkers()) {
      if (name == "stats") break;
      checkers.push_back(name);
    }
    auto verdict = check_history(*history, checkers, {});
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    return *verdict;
  }
};

TEST_P(VersionedWorkload, ConvictsNobodyOnACorrectMap) {
  for (const bool key_versions : {false, true}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Verdict verdict = judged(seed, Wrong::kNothing, key_versions);
      EXPECT_NE(verdict.safety, Safety::kInvalid) << seed << ": " << verdict.reason;
      const Verdict* by = verdict.find(GetParam().by);
      ASSERT_NE(by, nullptr);
      EXPECT_EQ(by->safety, Safety::kValid) << seed << ": " << by->reason;
    }
  }
}

TEST_P(VersionedWorkload, ConvictsAMapThatSkipsAStep) {
  for (const bool key_versions : {false, true}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Verdict verdict = judged(seed, GetParam().wrong, key_versions);
      const Verdict* by = verdict.find(GetParam().by);
      ASSERT_NE(by, nullptr);
      EXPECT_EQ(by->safety, Safety::kInvalid) << seed << ", key versions " << key_versions << ": " << by->reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, VersionedWorkload,
    ::testing::Values(Case{"field-ownership", Wrong::kBlindGuard, "field-ownership"},
                      Case{"counter", Wrong::kBlindGuard, "update-chain"},
                      Case{"append", Wrong::kBlindGuard, "update-chain"},
                      Case{"ref-update", Wrong::kBlindGuard, "update-chain"},
                      Case{"set", Wrong::kLostWrite, "durable"},
                      Case{"aba", Wrong::kSameToken, "revisions"},
                      Case{"bank", Wrong::kBlindGuard, "bank"},
                      Case{"unique-names", Wrong::kBlindGuard, "update-chain"},
                      Case{"controller", Wrong::kBlindGuard, "object-count"},
                      Case{"lock-with-fencing", Wrong::kBlindGuard, "lock"}),
    [](const auto& instance) {
      std::string name = instance.param.workload;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace assay
