// The naive stores as a user would run them: each is valid while nothing goes wrong and clients
// take turns, and is convicted under the fault that its text tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

class NaiveRun : public testing::Test {
 protected:
  Ended run_json(std::vector<std::string> options) const {
    std::vector<std::string> arguments{"run", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Launch launch = assay(std::move(arguments));
    launch.folder = scratch_.path();
    return e2e::run(launch);
  }

  ScratchFolder scratch_;
};

std::string name_of(const char* target) {
  std::string name = target;
  std::erase(name, '-');
  return name;
}

// --- While nothing goes wrong --------------------------------------------------------------------

class NaiveAtRest : public NaiveRun, public testing::WithParamInterface<const char*> {
 protected:
  Ended run_script(const std::string& more) const {
    std::ofstream(scratch_.path() + "/spec.json") << R"({
      "workload": "script", "nodes": 3, "nemesis": "none", "time_limit": "20s",
      "script": [
        {"wait": "leader", "for": "5s"}, {"wait": "converged", "for": "2s"},
        {"on": "n1", "f": "write", "key": "k", "value": 1, "as": "a"},
        {"wait": "converged", "for": "2s"},
        {"on": "n2", "f": "read", "key": "k"}, {"on": "n3", "f": "read", "key": "k"},
        {"on": "n2", "f": "cas", "key": "k", "value": [1, 2], "expected": "$a.revision"},
        {"wait": "converged", "for": "2s"},
        {"on": "n1", "f": "read", "key": "k"}, {"on": "n3", "f": "read", "key": "k"},)"
                                                  << more << R"(
        {"on": "n3", "f": "write", "key": "k", "value": 4},
        {"wait": "converged", "for": "2s"},
        {"on": "n1", "f": "read", "key": "k"}, {"on": "n2", "f": "read", "key": "k"}
      ]})";
    return run_json({"spec.json", "--target", "naive-" + std::string(GetParam())});
  }
};

class Designs : public NaiveAtRest {};
INSTANTIATE_TEST_SUITE_P(All, Designs,
                         testing::Values("broadcast-copies", "both-sides-accept",
                                         "timeout-failover", "reachable-group"),
                         [](const auto& param) { return name_of(param.param); });

TEST_P(Designs, AnswerAlikeAndHonourGuardsWhileClientsTakeTurns) {
  const Ended ended = run_script(
      R"({"on": "n3", "f": "cas", "key": "k", "value": [1, 3], "expected": "$a.revision"},)");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

class Policies : public NaiveAtRest {};
INSTANTIATE_TEST_SUITE_P(All, Policies,
                         testing::Values("last-writer-wins", "unversioned", "content-hash",
                                         "counter-restarts", "forgotten-vote", "resending-client",
                                         "unchecked-leader-reads"),
                         [](const auto& param) { return name_of(param.param); });

TEST_P(Policies, AreRightWhileClientsTakeTurns) {
  const Ended ended = run_script("");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

// --- Under the fault of the text -----------------------------------------------------------------

struct Conviction {
  const char* target;
  std::vector<std::string> options;
};

class NaiveConvicted : public NaiveRun, public testing::WithParamInterface<Conviction> {};
INSTANTIATE_TEST_SUITE_P(
    All, NaiveConvicted,
    testing::Values(
        Conviction{"broadcast-copies", {"--nemesis", "partition"}},
        Conviction{"both-sides-accept", {"--nemesis", "partition"}},
        Conviction{"timeout-failover", {"--nemesis", "partition:leader", "--workload", "set"}},
        Conviction{"reachable-group", {"--nemesis", "partition:halves", "--nodes", "5"}},
        Conviction{"last-writer-wins",
                   {"--nemesis", "none", "--workload", "cas-versioned", "--time-limit", "3s"}},
        Conviction{"unversioned", {"--nemesis", "none", "--workload", "aba", "--time-limit", "4s"}},
        Conviction{"content-hash",
                   {"--nemesis", "none", "--workload", "aba", "--time-limit", "4s"}},
        Conviction{"counter-restarts",
                   {"--nemesis", "none", "--workload", "aba", "--time-limit", "4s"}},
        Conviction{"wall-clock-token",
                   {"--nemesis", "none", "--workload", "aba", "--time-limit", "4s"}},
        Conviction{"resending-client",
                   {"--nemesis", "pause", "--workload", "cas-versioned", "--fault-duration",
                    "600ms", "--nemesis-interval", "1500ms"}},
        Conviction{"unchecked-leader-reads",
                   {"--nemesis", "partition:leader", "--time-limit", "12s"}}),
    [](const auto& param) { return name_of(param.param.target); });

constexpr std::pair<const char*, const char*> kUsual[] = {{"--nodes", "3"},
                                                          {"--time-limit", "8s"},
                                                          {"--fault-duration", "1500ms"},
                                                          {"--nemesis-interval", "2s"}};

TEST_P(NaiveConvicted, UnderTheFaultThatItsTextTells) {
  // Whether the moment comes is up to chance and the machine.
  Ended ended;
  for (const char* seed : {"1", "2", "3"}) {
    std::vector<std::string> options{"--target", "naive-" + std::string(GetParam().target)};
    const auto& given = GetParam().options;
    for (const auto& [option, value] : kUsual) {
      if (std::find(given.begin(), given.end(), option) == given.end())
        options.insert(options.end(), {option, value});
    }
    options.insert(options.end(), given.begin(), given.end());
    options.insert(options.end(), {"--seed", seed, "--expect", "invalid"});
    ended = run_json(options);
    if (ended.code == 0) break;
  }
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

}  // namespace
}  // namespace assay::e2e
