#include "nemesis/nemesis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

#include "checkers/history/history_io.h"
#include "checkers/history/vocabulary.h"
#include "nemesis/delay.h"
#include "nemesis/own.h"
#include "nemesis/partition.h"
#include "nemesis/script.h"
#include "nemesis/victims.h"
#include "workloads/gen/simulate.h"

namespace assay {
namespace {

// Remembers which nodes are down, paused, cut. Answers at once (the nemesis does not care when),
// but for a start, which is due when whoever asked for it has been left.
class FakeCluster : public Cluster {
 public:
  explicit FakeCluster(int n) {
    due().clear();
    for (int i = 0; i < n; ++i) nodes_.push_back({.index = i, .name = "n" + std::to_string(i + 1)});
  }
  const std::vector<NodeInfo>& nodes() const override { return nodes_; }
  Powers powers() const override {
    return {true, true, true, true, true, {std::begin(kLinkFaults), std::end(kLinkFaults)}, true};
  }
  int leader() const override { return leader_; }
  bool runs(int node) const override { return !down.contains(node) && !paused.contains(node); }
  void kill(int node, Callback<Effect> done) override {
    down.insert(node);
    answer(done);
  }
  void start(int node, Callback<Effect> done) override {
    due().push_back([this, node, done] {
      down.erase(node);
      answer(done);
    });
  }
  static std::deque<std::function<void()>>& due() {
    static std::deque<std::function<void()>> starts;
    return starts;
  }
  void pause(int node, Callback<Effect> done) override {
    paused.insert(node);
    answer(done);
  }
  void resume(int node, Callback<Effect> done) override {
    paused.erase(node);
    answer(done);
  }
  void cut(const std::vector<Cut>& c, Callback<Effect> done) override {
    cuts = c;
    answer(done);
  }
  void heal_cuts(Callback<Effect> done) override {
    cuts.clear();
    answer(done);
  }

  void delay(const std::vector<SlowLink>& links, Callback<Effect> done) override {
    slow = links;
    answer(done);
  }
  void heal_delays(Callback<Effect> done) override {
    slow.clear();
    answer(done);
  }
  void begin_fault(const NodeFault& fault, int node, Callback<Effect> done) override {
    faults[{fault.kind, node}] = fault.settings;
    answer(done);
  }
  void end_fault(const std::string& kind, int node, Callback<Effect> done) override {
    faults.erase({kind, node});
    answer(done);
  }
  void await_election(Nanos, Callback<int> done) override { done(elected); }
  void break_links(const LinkFault& fault, const std::vector<Cut>& links,
                   Callback<Effect> done) override {
    broken_links[fault.kind] = {fault, links};
    answer(done);
  }
  void mend_links(const std::string& kind, Callback<Effect> done) override {
    broken_links.erase(kind);
    answer(done);
  }
  void begin_own(const std::string& kind, int node, Callback<Effect> done) override {
    own.emplace(kind, node);
    answer(done);
  }
  void end_own(const std::string& kind, int node, Callback<Effect> done) override {
    own.erase({kind, node});
    answer(done);
  }

  int leader_ = -1;
  std::set<int> down, paused;
  std::set<std::pair<std::string, int>> own;
  std::map<std::pair<std::string, int>, std::map<std::string, std::string>> faults;
  int elected = -1;
  std::vector<Cut> cuts;
  std::vector<SlowLink> slow;
  std::map<std::string, std::pair<LinkFault, std::vector<Cut>>> broken_links;
  std::optional<Error> broken;  // every power fails
  bool powerless = false;       // nothing is installed, nothing bites

 private:
  void answer(const Callback<Effect>& done) {
    if (broken) return done(*broken);
    done(Effect{!powerless, !powerless, "seen"});
  }
  std::vector<NodeInfo> nodes_;
};

std::set<std::pair<int, int>> links(const std::vector<Cut>& cuts) {
  std::set<std::pair<int, int>> set;
  for (const Cut& cut : cuts) set.emplace(cut.from, cut.to);
  return set;
}

// How many nodes the node hears and is heard by, itself included.
int sees(int node, int n, const std::set<std::pair<int, int>>& cut) {
  int count = 1;
  for (int other = 0; other < n; ++other) {
    if (other != node && !cut.count({node, other}) && !cut.count({other, node})) ++count;
  }
  return count;
}

TEST(PartitionShapes, OneAndLeaderIsolateOneNodeBothWays) {
  for (int n = 2; n <= 9; ++n) {
    Rng rng(n);
    const auto cut = links(partition_cuts("leader", n, 1, rng));
    EXPECT_EQ(sees(1, n, cut), 1);
    EXPECT_EQ(cut.size(), 2u * (n - 1));
    EXPECT_EQ(partition_cuts("one", n, 1, rng).size(), 2u * (n - 1));
  }
}

TEST(PartitionShapes, HalvesLeaveAMajorityWhole) {
  for (int n = 2; n <= 9; ++n) {
    Rng rng(n);
    const auto cut = links(partition_cuts("halves", n, -1, rng));
    std::multiset<int> sizes;
    for (int i = 0; i < n; ++i) sizes.insert(sees(i, n, cut));
    const size_t smaller = n / 2, larger = n - n / 2;
    EXPECT_EQ(sizes.count(larger), smaller == larger ? n : larger) << n;
    EXPECT_EQ(sizes.count(smaller), smaller == larger ? n : smaller) << n;
  }
}

TEST(PartitionShapes, InARingEveryNodeSeesAMajorityAndNoTwoTheSame) {
  for (int n = 4; n <= 9; ++n) {
    Rng rng(n);
    const auto cut = links(partition_cuts("majorities-ring", n, -1, rng));
    std::set<std::set<int>> views;
    for (int i = 0; i < n; ++i) {
      EXPECT_GT(2 * sees(i, n, cut), n) << n;
      std::set<int> view{i};
      for (int other = 0; other < n; ++other) {
        if (other != i && !cut.count({other, i})) view.insert(other);
      }
      views.insert(view);
    }
    if (n >= 5) {
      EXPECT_FALSE(cut.empty()) << n;
      EXPECT_EQ(views.size(), static_cast<size_t>(n)) << n;
    }
  }
}

TEST(PartitionShapes, ABridgeHasOneNodeThatSeesAll) {
  for (int n = 3; n <= 9; ++n) {
    Rng rng(n);
    const auto cut = links(partition_cuts("bridge", n, -1, rng));
    int all = 0;
    for (int i = 0; i < n; ++i) all += sees(i, n, cut) == n;
    EXPECT_EQ(all, 1) << n;
  }
}

TEST(PartitionShapes, OneWayCutsOneDirectionOnly) {
  std::set<bool> directions;
  for (int seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const auto cut = links(partition_cuts("one-way", 5, -1, rng));
    EXPECT_EQ(cut.size(), 4u);
    for (const auto& [from, to] : cut) EXPECT_FALSE(cut.count({to, from}));
    std::set<int> heard;
    for (const auto& [from, to] : cut) heard.insert(to);
    directions.insert(heard.size() == 1);
  }
  EXPECT_EQ(directions.size(), 2u);  // deaf ones and mute ones
}

TEST(Victims, AreAsManyAsTheirWordSays) {
  const struct {
    const char* shape;
    int n;
    size_t count;
  } rows[] = {
      {"one", 5, 1},      {"minority", 5, 2}, {"majority", 5, 3},  {"all", 5, 5},
      {"leader", 5, 1},   {"minority", 3, 1}, {"majority", 3, 2},  {"minority", 4, 1},
      {"majority", 4, 3}, {"all", 1, 1},      {"followers", 5, 4}, {"followers", 1, 1},
  };
  for (const auto& row : rows) {
    FakeCluster cluster(row.n);
    Rng rng(7);
    EXPECT_EQ(choose_victims(row.shape, cluster, rng).size(), row.count) << row.shape << row.n;
  }
  FakeCluster cluster(5);
  cluster.leader_ = 3;
  Rng rng(7);
  EXPECT_EQ(choose_victims("leader", cluster, rng), std::vector<int>{3});
  EXPECT_EQ(choose_victims("followers", cluster, rng), (std::vector<int>{0, 1, 2, 4}));
  EXPECT_EQ(choose_victims("n5+n1", cluster, rng), (std::vector<int>{0, 4}));
  EXPECT_EQ(choose_victims("n2", cluster, rng), std::vector<int>{1});
}

TEST(Victims, AListNamesKnownNodesOnly) {
  const FakeCluster cluster(3);
  EXPECT_EQ(listed_nodes("n3+n3+n1", cluster.nodes()), (std::vector<int>{0, 2}));
  for (const char* list : {"n4", "n1+", "+n1", "", "n1,n2", "one"})
    EXPECT_FALSE(listed_nodes(list, cluster.nodes())) << list;
}

NemesisOptions options_for(uint64_t seed, Nanos end) {
  NemesisOptions options{Rng(seed)};
  options.lead_in = seconds(3);
  options.interval = seconds(5);
  options.duration = milliseconds(2500);
  options.end = end;
  return options;
}

// Runs a nemesis's schedule against a cluster in virtual time.
SimulatedRun play(
    NemesisRun& run, std::function<void(const Op&)> between = [](const Op&) {}) {
  SimulateOptions options;
  options.clients = 0;
  options.lanes = 1;
  options.effect = [&](const Op& op, Worker) {
    std::optional<Op> completion;
    run.invoke(op, [&](Op done) { completion = std::move(done); });
    do {
      for (const auto& start : std::exchange(FakeCluster::due(), {})) start();
    } while (!completion);
    between(*completion);
    return *completion;
  };
  const Gen schedule = run.schedule();
  return simulate(*schedule, options);
}

class EveryNemesis : public testing::TestWithParam<const Nemesis*> {};
INSTANTIATE_TEST_SUITE_P(Registry, EveryNemesis, testing::ValuesIn(all_nemeses()),
                         [](const auto& param) {
                           std::string name(param.param->kind());
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryNemesis, HealsWhatItBroke) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeCluster cluster(5);
    const auto run = GetParam()->start(cluster, options_for(seed, seconds(30)));
    bool struck = false;
    const auto played = play(*run, [&](const Op&) {
      struck |= !cluster.down.empty() || !cluster.paused.empty() || !cluster.cuts.empty() ||
                !cluster.slow.empty() || !cluster.faults.empty() || !cluster.broken_links.empty();
    });
    EXPECT_TRUE(played.done);
    EXPECT_TRUE(struck);
    EXPECT_TRUE(cluster.down.empty() && cluster.paused.empty() && cluster.cuts.empty() &&
                cluster.slow.empty() && cluster.faults.empty() && cluster.broken_links.empty());
  }
}

TEST_P(EveryNemesis, KeepsTheLeadInTheIntervalAndTheQuietEnd) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeCluster cluster(5);
    const auto options = options_for(seed, seconds(60));
    const auto run = GetParam()->start(cluster, options);
    const auto played = play(*run);
    std::vector<Nanos> starts;
    Nanos last_stop{};
    for (const auto& event : played.events) {
      if (event.op.type != OpType::kInvoke) continue;
      if (started_fault(event.op.f) == GetParam()->kind()) starts.push_back(event.op.time);
      if (stopped_fault(event.op.f) == GetParam()->kind()) last_stop = event.op.time;
    }
    ASSERT_GE(starts.size(), 3u);
    EXPECT_GE(starts.front(), options.lead_in);
    EXPECT_LT(starts.front(), options.lead_in + options.interval);
    for (size_t i = 1; i < starts.size(); ++i)
      EXPECT_GE(starts[i] - starts[i - 1], options.interval);
    EXPECT_LE(last_stop, options.end - options.interval + milliseconds(10));
  }
}

TEST_P(EveryNemesis, ShowsEveryShapeOncePerRound) {
  FakeCluster cluster(5);
  const auto run = GetParam()->start(cluster, options_for(1, seconds(600)));
  const auto played = play(*run);
  std::vector<std::string> shapes;
  for (const auto& event : played.events) {
    if (event.op.type == OpType::kInvoke || started_fault(event.op.f).empty()) continue;
    shapes.emplace_back(event.op.value.text_or("shape", ""));
  }
  const size_t kinds = GetParam()->deck().size();
  ASSERT_GE(shapes.size(), 2 * kinds);
  for (size_t round = 0; round < 2; ++round) {
    const std::set<std::string> seen(shapes.begin() + round * kinds,
                                     shapes.begin() + (round + 1) * kinds);
    EXPECT_EQ(seen.size(), kinds);
  }
}

TEST_P(EveryNemesis, SaysWhenItDidNotBite) {
  FakeCluster cluster(3);
  cluster.powerless = true;
  const auto run = GetParam()->start(cluster, options_for(1, seconds(30)));
  int starts = 0;
  play(*run, [&](const Op& done) {
    if (started_fault(done.f).empty()) return;
    ++starts;
    EXPECT_FALSE(done.value.bool_or("installed", true));
    EXPECT_FALSE(done.value.bool_or("bit", true));
  });
  EXPECT_GT(starts, 0);
}

TEST_P(EveryNemesis, SaysWhatWentWrong) {
  FakeCluster cluster(3);
  cluster.broken = environment_error("nft: no such file");
  const auto run = GetParam()->start(cluster, options_for(1, seconds(30)));
  int completions = 0;
  play(*run, [&](const Op& done) {
    ++completions;
    EXPECT_EQ(done.value.text_or("error", ""), "nft: no such file");
  });
  EXPECT_GT(completions, 0);
}

TEST_P(EveryNemesis, RepeatsItsPlanFromTheSeed) {
  const auto plan = [&](uint64_t seed) {
    FakeCluster cluster(5);
    const auto run = GetParam()->start(cluster, options_for(seed, seconds(60)));
    std::string all;
    for (const auto& event : play(*run).events) {
      all += std::to_string(event.op.time.count) + std::string(event.op.f.text()) +
             event.op.value.to_json() + "\n";
    }
    return all;
  };
  EXPECT_EQ(plan(5), plan(5));
  EXPECT_NE(plan(5), plan(6));
}

// A kill that was seen not to bite stays so, although its victim answers after the restart.
TEST(Kill, ARestartIsNoProofOfTheKill) {
  FakeCluster cluster(3);
  const auto run = find_nemesis("kill")->start(cluster, options_for(1, seconds(30)));
  int stops = 0;
  play(*run, [&](const Op& done) {
    if (stopped_fault(done.f).empty()) return;
    ++stops;
    EXPECT_TRUE(done.value["bit"].is_null()) << done.value.to_json();
  });
  EXPECT_GT(stops, 0);
}

TEST(Script, ASplitCutsEveryLinkBetweenTwoSidesAndNoneWithinOne) {
  FakeCluster cluster(5);
  ScriptNemesis script(cluster, Rng(1));
  Op split;
  split.process = kNemesis;
  split.f = start_of("partition");
  split.value = *parse_value(R"({"sides":[["n1","n2"],["n3","n4"],["n5"]]})");
  Op done;
  script.invoke(split, [&](Op answer) { done = std::move(answer); });
  const auto cut = links(cluster.cuts);
  EXPECT_EQ(cut.size(), 16u);
  EXPECT_TRUE(!cut.contains({0, 1}) && !cut.contains({3, 2}) && cut.contains({1, 4}));
  EXPECT_EQ(done.value["cut"].as_array().size(), 16u);
  EXPECT_EQ(done.value["victims"].as_array().size(), 5u);
  EXPECT_TRUE(done.value.bool_or("bit", false));
  split.f = stop_of("partition");
  split.value = {};
  script.invoke(split, [](const Op&) {});
  EXPECT_TRUE(cluster.cuts.empty());
}

TEST_P(EveryNemesis, SaysWhereItHadNoLeaderToAimAt) {
  for (int leader : {-1, 1}) {
    FakeCluster cluster(3);
    cluster.leader_ = leader;
    NemesisOptions options = options_for(1, seconds(30));
    options.shapes = {"leader"};
    const auto run = GetParam()->start(cluster, options);
    play(*run, [&](const Op& done) {
      if (started_fault(done.f).empty()) return;
      const bool says = done.value.text_or("evidence", "").starts_with("no leader was known");
      EXPECT_EQ(says, leader < 0) << done.value.to_json();
    });
  }
}

TEST(ProcessFault, StrikesTheLeaderThatWasElectedWhileItWaited) {
  for (int elected : {2, -1}) {
    FakeCluster cluster(3);
    cluster.leader_ = 0;
    cluster.elected = elected;
    NemesisOptions options = options_for(1, seconds(30));
    options.shapes = {"elected"};
    const auto run = find_nemesis("pause")->start(cluster, options);
    play(*run, [&](const Op& done) {
      if (started_fault(done.f).empty()) return;
      EXPECT_EQ(done.value["victims"].to_json(), elected < 0 ? R"(["n1"])" : R"(["n3"])");
      EXPECT_EQ(done.value.text_or("evidence", "").starts_with("no leader was elected"),
                elected < 0);
    });
  }
}

TEST(Kill, OfATreeIsAFaultOfTheNode) {
  FakeCluster cluster(3);
  NemesisOptions options = options_for(1, seconds(30));
  options.settings = {{"tree", "true"}, {"restart_after", "1s"}};
  options.shapes = {"n1+n3"};
  const auto run = find_nemesis("kill")->start(cluster, options);
  const auto played = play(*run, [&](const Op& done) {
    const bool started = !started_fault(done.f).empty();
    EXPECT_EQ(cluster.faults.contains({"kill-tree", 0}), started);
    EXPECT_EQ(cluster.faults.contains({"kill-tree", 2}), started);
    EXPECT_FALSE(cluster.faults.contains({"kill-tree", 1}));
  });
  Nanos started{};
  for (const auto& event : played.events) {
    if (event.op.type != OpType::kInvoke) continue;
    if (!started_fault(event.op.f).empty()) started = event.op.time;
    if (!stopped_fault(event.op.f).empty()) {
      EXPECT_LT(event.op.time - started, milliseconds(1100));
    }
  }
}

TEST(CrashLoop, KillsAgainAndAgainAndLeavesTheNodeUp) {
  FakeCluster cluster(3);
  NemesisOptions options = options_for(1, seconds(30));
  options.shapes = {"n2"};
  const auto run = find_nemesis("crash-loop")->start(cluster, options);
  int stops = 0;
  play(*run, [&](const Op& done) {
    if (!started_fault(done.f).empty()) {
      for (int rounds = 0; rounds < 5; ++rounds)
        for (const auto& start : std::exchange(FakeCluster::due(), {})) start();
      EXPECT_EQ(cluster.down, std::set<int>{1});
      return;
    }
    ++stops;
    EXPECT_TRUE(cluster.down.empty());
    EXPECT_TRUE(done.value.bool_or("bit", false)) << done.value.to_json();
    EXPECT_TRUE(done.value.text_or("evidence", "").starts_with("n2: killed 7 times"))
        << done.value.to_json();
  });
  EXPECT_GT(stops, 1);
}

TEST(NodeFaults, TellTheAgentWhatTheirOptionsSay) {
  const struct {
    const char* kind;
    std::map<std::string, std::string> set, told;
  } rows[] = {
      {"freeze", {}, {}},
      {"starve", {{"percent", "7"}}, {{"quota_us", "70000"}}},
      {"memory-limit", {{"limit", "3MiB"}}, {{"limit_bytes", "3145728"}}},
      {"clock", {{"jump", "-90s"}}, {{"jump_ms", "-90000"}, {"gain_permille", "0"}}},
      {"clock", {{"jump", "0s"}, {"drift", "50"}}, {{"jump_ms", "0"}, {"gain_permille", "50"}}},
      {"power-loss", {}, {{"seed", "1"}}},
      {"disk-error", {{"nth", "3"}}, {{"call", "fsync"}, {"nth", "3"}}},
      {"disk-full", {{"room", "4096"}}, {{"room", "4096"}}},
  };
  for (const auto& row : rows) {
    FakeCluster cluster(1);
    NemesisOptions options = options_for(1, seconds(30));
    options.settings = row.set;
    const auto run = find_nemesis(row.kind)->start(cluster, options);
    play(*run, [&](const Op& done) {
      if (started_fault(done.f).empty()) return;
      const auto told = cluster.faults.find({row.kind, 0});
      ASSERT_NE(told, cluster.faults.end());
      EXPECT_EQ(told->second, row.told);
    });
  }
}

TEST(NodeFaults, RefuseSettingsThatAreWrong) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"starve", "percent", "0"},      {"starve", "percent", "a lot"},
      {"disk-error", "call", "open"},  {"disk-error", "nth", "0"},
      {"disk-full", "room", "-1"},     {"power-loss", "seed", "x"},
      {"memory-limit", "limit", "4"},  {"memory-limit", "limit", "1KiB"},
      {"clock", "jump", "soon"},       {"clock", "jump", "200ms"},
      {"clock", "drift", "2000"},      {"kill", "tree", "yes"},
      {"kill", "restart_after", "0s"}, {"kill", "restart_after", ""},
  };
  for (const auto& [kind, option, value] : rows) {
    const auto accepted = find_nemesis(kind)->accepts({{option, value}});
    ASSERT_FALSE(accepted) << kind << option << value;
    EXPECT_THAT(accepted.error().message, testing::HasSubstr(std::string(kind) + "." + option));
  }
}

TEST(Pause, StopsWhatRunsWhereOneDoes) {
  FakeCluster cluster(3);
  cluster.down = {0, 2};
  const auto run = find_nemesis("pause")->start(cluster, options_for(1, seconds(60)));
  int starts = 0;
  play(*run, [&](const Op& done) {
    if (started_fault(done.f).empty()) return;
    ++starts;
    EXPECT_EQ(done.value["victims"].to_json(), R"(["n2"])");
  });
  EXPECT_GT(starts, 3);

  cluster.down = {0, 1, 2};
  const auto nobody = find_nemesis("pause")->start(cluster, options_for(1, seconds(60)));
  play(*nobody, [&](const Op& done) {
    if (!started_fault(done.f).empty()) {
      EXPECT_FALSE(done.value["victims"].as_array().empty());
    }
  });
}

TEST(Delay, IsOfTheLinksOfItsShapeAsItsOptionsSay) {
  FakeCluster cluster(3);
  cluster.leader_ = 1;
  NemesisOptions options = options_for(1, seconds(30));
  options.shapes = {"leader"};
  options.settings = {{"by", "250ms"}, {"reorder", "true"}, {"duplicate", "5"}};
  const auto run = find_nemesis("delay")->start(cluster, options);
  std::set<uint64_t> seeds;
  play(*run, [&](const Op& done) {
    if (started_fault(done.f).empty()) return;
    EXPECT_EQ(done.value["victims"].to_json(), R"(["n1","n2","n3"])");
    EXPECT_EQ(done.value["delayed"].to_json(),
              R"([["n1","n2"],["n2","n1"],["n2","n3"],["n3","n2"]])");
    EXPECT_TRUE(done.value["cut"].is_null()) << "what is slow is not cut";
    ASSERT_EQ(cluster.slow.size(), 4u);
    for (const SlowLink& link : cluster.slow) {
      EXPECT_EQ(link.how.delay, milliseconds(250));
      EXPECT_EQ(link.how.jitter, milliseconds(100));
      EXPECT_TRUE(link.how.reorder);
      EXPECT_EQ(link.how.duplicate_percent, 5);
      EXPECT_TRUE(seeds.insert(link.how.seed).second) << "each link has draws of its own";
    }
  });
  EXPECT_FALSE(seeds.empty());
}

TEST(Delay, RefusesSettingsThatAreWrong) {
  const struct {
    const char *name, *value, *says;
  } rows[] = {
      {"by", "soon", "delay.by: expected a duration such as 300ms, at most 1 min, found \"soon\""},
      {"by", "61s", "delay.by"},
      {"jitter", "-1ms", "delay.jitter"},
      {"reorder", "yes", "delay.reorder: expected true or false, found \"yes\""},
      {"duplicate", "101", "delay.duplicate: expected a whole number from 0 to 100"},
      {"duplicate", "5%", "delay.duplicate"}};
  for (const auto& row : rows) {
    const auto accepted = find_nemesis("delay")->accepts({{row.name, row.value}});
    ASSERT_FALSE(accepted.ok()) << row.name << row.value;
    EXPECT_THAT(accepted.error().message, testing::StartsWith(row.says));
  }
  EXPECT_TRUE(find_nemesis("delay")->accepts({}).ok());
}

Op script_step(Symbol f, const std::vector<std::pair<const char*, Value>>& members) {
  Value::Object object;
  for (const auto& [name, value] : members) object.emplace_back(Symbol(name), value);
  Op op;
  op.process = kNemesis;
  op.f = f;
  op.value = Value::object(std::move(object));
  return op;
}

TEST(LinkFaults, BreakTheLinksOfAPartitionWithTheirSettingAndMendThem) {
  const struct {
    const char* kind;
    std::map<std::string, std::string> settings;
    LinkFault expected;
  } rows[] = {{"loss", {}, {"loss", {{"percent", 30}}}},
              {"loss", {{"percent", "5"}}, {"loss", {{"percent", 5}}}},
              {"rate", {}, {"rate", {{"kbytes", 8}}}},
              {"reset", {}, {"reset", {}}},
              {"disconnect", {{"every", "50ms"}}, {"disconnect", {{"every_ms", 50}}}}};
  for (const auto& row : rows) {
    FakeCluster cluster(5);
    NemesisOptions options = options_for(1, seconds(30));
    options.settings = row.settings;
    const Nemesis& nemesis = *find_nemesis(row.kind);
    EXPECT_TRUE(nemesis.accepts(row.settings).ok());
    const auto run = nemesis.start(cluster, options);
    Op start, done;
    start.f = start_of(row.kind);
    start.value = Value::object({{Symbol("shape"), Value("one")}});
    run->invoke(start, [&](Op op) { done = std::move(op); });
    const auto& [fault, struck] = cluster.broken_links.at(row.kind);
    EXPECT_EQ(fault, row.expected);
    EXPECT_EQ(links(struck).size(), 8u);
    EXPECT_EQ(done.value["faulty"].as_array().size(), 8u) << "for the checkers";
    EXPECT_TRUE(done.value.bool_or("bit", false));
    Op stop;
    stop.f = stop_of(row.kind);
    run->invoke(stop, [&](Op op) { done = std::move(op); });
    EXPECT_TRUE(cluster.broken_links.empty());
    EXPECT_TRUE(done.value.bool_or("healed", false));
  }
}

TEST(LinkFaults, WrongSettingsAreNamedWithWhatIsExpected) {
  const struct {
    const char* kind;
    const char* name;
    const char* value;
    const char* message;
  } rows[] = {{"loss", "percent", "0", "loss.percent: expected a whole number from 1 to 100"},
              {"loss", "percent", "30%", "loss.percent"},
              {"rate", "kbytes", "fast", "rate.kbytes: expected a whole number from 1 to 10000"},
              {"disconnect", "every", "soon", "disconnect.every: expected a duration"}};
  for (const auto& row : rows) {
    const auto accepted = find_nemesis(row.kind)->accepts({{row.name, row.value}});
    ASSERT_FALSE(accepted.ok()) << row.value;
    EXPECT_THAT(accepted.error().message, testing::HasSubstr(row.message));
  }
}

TEST(ScriptedDelay, AddsLinkToLinkAndHealsAll) {
  FakeCluster cluster(3);
  ScriptNemesis script(cluster, Rng(1));
  Op last;
  const auto play_step = [&](const Op& op) { script.invoke(op, [&](Op done) { last = done; }); };
  play_step(script_step(start_of("delay"), {{"from", "n1"}, {"to", "n2"}, {"by", "2s"}}));
  EXPECT_EQ(last.value["delayed"].to_json(), R"([["n1","n2"]])");
  play_step(script_step(start_of("delay"), {{"from", "n3"},
                                            {"to", "n2"},
                                            {"by", "1s"},
                                            {"jitter", "5ms"},
                                            {"reorder", true},
                                            {"duplicate", 10}}));
  ASSERT_EQ(cluster.slow.size(), 2u);
  EXPECT_EQ(cluster.slow[0].how.delay, seconds(2));
  EXPECT_EQ(cluster.slow[0].how.jitter, Nanos{});
  EXPECT_EQ(cluster.slow[1].from, 2);
  EXPECT_TRUE(cluster.slow[1].how.reorder);
  EXPECT_EQ(cluster.slow[1].how.duplicate_percent, 10);
  play_step(script_step(start_of("delay"), {{"from", "n1"}, {"to", "n2"}, {"by", "3s"}}));
  ASSERT_EQ(cluster.slow.size(), 2u) << "a link has one delay";
  play_step(script_step(stop_of("delay"), {}));
  EXPECT_TRUE(cluster.slow.empty());
  EXPECT_TRUE(last.value.bool_or("healed", false));
}

TEST(OwnFault, StrikesOnlyNodesThatRunAndIsEnded) {
  const auto own = own_nemesis({.kind = "compact", .summary = "", .lasts = true});
  FakeCluster cluster(3);
  cluster.down = {0, 2};
  const auto run = own->start(cluster, options_for(1, seconds(120)));
  int starts = 0;
  const auto played = play(*run, [&](const Op& done) {
    if (started_fault(done.f).empty()) {
      EXPECT_TRUE(cluster.own.empty());
      return;
    }
    ++starts;
    EXPECT_EQ(done.value["victims"].to_json(), R"(["n2"])");
    EXPECT_EQ(cluster.own, (std::set<std::pair<std::string, int>>{{"compact", 1}}));
  });
  EXPECT_TRUE(played.done);
  EXPECT_GT(starts, 5);

  cluster.down = {0, 1, 2};
  const auto nobody = own->start(cluster, options_for(1, seconds(30)));
  play(*nobody, [&](const Op& done) {
    if (!started_fault(done.f).empty()) {
      EXPECT_FALSE(done.value.bool_or("installed", true));
    }
  });
}

TEST(OwnFault, WhatDoesNotLastIsStoppedAtOnce) {
  const auto own = own_nemesis({.kind = "compact", .summary = "", .lasts = false});
  FakeCluster cluster(3);
  const auto run = own->start(cluster, options_for(1, seconds(60)));
  Nanos began{-1};
  int stops = 0;
  for (const auto& event : play(*run).events) {
    if (event.op.type == OpType::kInvoke) continue;
    if (!started_fault(event.op.f).empty()) began = event.op.time;
    if (stopped_fault(event.op.f).empty()) continue;
    ++stops;
    EXPECT_LT(event.op.time - began, milliseconds(100));
    EXPECT_TRUE(event.op.value["bit"].is_null()) << "an end that does nothing proves nothing";
  }
  EXPECT_GT(stops, 3);
}

}  // namespace
}  // namespace assay
