#include "targets/naive_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "targets/naive/server/options.h"
#include "targets/naive_target.h"
#include "targets/raft/server/options.h"

namespace assay {
namespace {

const TargetInfo& info_of(const std::string& name) {
  const TargetInfo* info = find_target("naive-" + name);
  if (info == nullptr) throw std::runtime_error("no target naive-" + name);
  return *info;
}

TargetSettings defaults(const TargetInfo& info) {
  TargetSettings settings;
  for (const TargetOption& option : info.options)
    settings.emplace_back(option.name, option.fallback);
  return settings;
}

Result<std::unique_ptr<Target>> made_with(const std::string& name, const std::string& option,
                                          const std::string& value) {
  TargetSettings settings = defaults(info_of(name));
  for (auto& [known, text] : settings) {
    if (known == option) text = value;
  }
  return info_of(name).make(settings, 7);
}

Layout three_nodes() {
  Layout layout;
  layout.bin_dir = "/opt/bin";
  for (int i = 0; i < 3; ++i) {
    const std::string name = "n" + std::to_string(i + 1);
    layout.nodes.push_back({.index = i,
                            .name = name,
                            .address = "10.0.0." + std::to_string(i + 1),
                            .client_port = 2379,
                            .peer_port = 2380,
                            .folder = "/run/" + name});
  }
  return layout;
}

std::vector<std::string> arguments(const Target& target, int node = 0) {
  const Layout layout = three_nodes();
  const auto spec = target.daemon(layout, layout.nodes[node]);
  EXPECT_EQ(target.binaries(layout), std::vector<std::string>{spec->argv[0]});
  return {spec->argv.begin() + 1, spec->argv.end()};
}

raft::ServerOptions raft_options(const Target& target, int node = 0) {
  auto parsed = raft::parse_options(arguments(target, node));
  if (const auto* bad = std::get_if<raft::BadOption>(&parsed)) ADD_FAILURE() << bad->message;
  return std::get<raft::ServerOptions>(parsed);
}

raft::Canary canary_of(const std::string& name) {
  return raft_options(**made_with(name, "", "")).canary;
}

TEST(NaivePolicies, EachSetsItsOneSwitchOfTheBundledStore) {
  EXPECT_TRUE(canary_of("last-writer-wins").service.wrong_ignore_guards);
  EXPECT_TRUE(canary_of("local-reads").wrong_local_reads_from_any_node);
  EXPECT_EQ(canary_of("content-hash").service.token, kv::TokenKind::kContentHash);
  EXPECT_EQ(canary_of("counter-restarts").service.token, kv::TokenKind::kKeyCounter);
  EXPECT_EQ(canary_of("wall-clock-token").service.token, kv::TokenKind::kWallClock);
  EXPECT_TRUE(canary_of("buffered-ack").wrong_acknowledge_from_process_buffer);
  EXPECT_TRUE(canary_of("unsynced-ack").wrong_acknowledge_without_sync);
  EXPECT_TRUE(canary_of("forgotten-vote").wrong_forget_term_and_vote);
  for (const char* name : {"content-hash", "counter-restarts", "wall-clock-token"})
    EXPECT_FALSE((*made_with(name, "", ""))->claims().watch) << name;
  for (const char* name : {"watch-from-now", "unversioned"}) {
    EXPECT_TRUE((*made_with(name, "", ""))->claims().watch) << name;
    EXPECT_TRUE(canary_of(name).wrong_watch_from_now) << name;
  }
  EXPECT_TRUE(canary_of("unchecked-leader-reads").wrong_read_without_quorum);
}

TEST(NaivePolicies, ThoseThatLieInTheClientOrTheWorkloadRunASoundStore) {
  for (const char* name : {"resending-client", "lock-without-timeout", "lock-with-timeout"}) {
    for (const std::string& argument : arguments(**made_with(name, "", "")))
      EXPECT_EQ(argument.find("unsafe"), argument.npos) << argument;
  }
}

TEST(NaivePolicies, ClaimWhatTheirBuilderWouldClaim) {
  for (const TargetInfo& info : naive_policies()) {
    const auto target = info.make(defaults(info), 7);
    ASSERT_TRUE(target.ok()) << info.name;
    EXPECT_EQ((*target)->name(), info.name);
    const Claims claims = (*target)->claims();
    EXPECT_EQ(claims.read, "linearizable");
    EXPECT_TRUE(claims.guarded_write);
    EXPECT_EQ(claims.durable, "sync");
    const bool in_order = info.name != "naive-unversioned" && info.name != "naive-content-hash";
    EXPECT_EQ(claims.orderable, in_order) << info.name;
  }
}

TEST(NaivePolicies, TakeTheOptionsOfTheStoreUnderTheirOwnNames) {
  const auto target = made_with("local-reads", "election-timeout-ms", "150-250");
  EXPECT_EQ(raft_options(**target).election_ms_min, 150);
  const auto wrong = made_with("local-reads", "heartbeat-ms", "x");
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(wrong.error().message.starts_with("naive-local-reads.heartbeat-ms: expected"))
      << wrong.error().message;
}

TEST(NaivePolicies, EachNodesClockIsOffByAnAmountOfItsOwn) {
  const auto target = made_with("wall-clock-token", "clock-offset-ms", "1000");
  std::vector<int64_t> offsets;
  for (int node = 0; node < 3; ++node) {
    offsets.push_back(raft_options(**target, node).clock_offset_ms);
    EXPECT_LE(std::abs(offsets.back()), 1000);
  }
  EXPECT_NE(offsets[0], offsets[1]);
  EXPECT_NE(offsets[1], offsets[2]);
  EXPECT_EQ(raft_options(**made_with("wall-clock-token", "clock-offset-ms", "0")).clock_offset_ms,
            0);
  EXPECT_FALSE(made_with("wall-clock-token", "clock-offset-ms", "-1").ok());
}

TEST(NaivePolicies, TheLocksNameTheirWorkload) {
  EXPECT_EQ(info_of("lock-without-timeout").workload, "lock-without-timeout");
  EXPECT_EQ(info_of("lock-with-timeout").workload, "lock-with-timeout");
  EXPECT_EQ(info_of("local-reads").workload, "");
}

// --- The designs that replicate by themselves ----------------------------------------------------

naive::ServerOptions naive_options(const Target& target) {
  auto parsed = naive::parse_options(arguments(target));
  if (const auto* bad = std::get_if<raft::BadOption>(&parsed)) ADD_FAILURE() << bad->message;
  return std::get<naive::ServerOptions>(parsed);
}

TEST(NaiveTargets, EachStartsItsDesign) {
  ASSERT_EQ(naive_targets().size(), std::size(naive::kDesigns));
  for (const TargetInfo& info : naive_targets()) {
    const auto target = info.make(defaults(info), 7);
    ASSERT_TRUE(target.ok()) << info.name;
    const naive::ServerOptions options = naive_options(**target);
    EXPECT_EQ("naive-" + std::string(options.design.name), info.name);
    EXPECT_EQ(options.common.name, "n1");
    EXPECT_EQ(options.common.cluster.size(), 3u);
    EXPECT_EQ((*target)->claims().read, "linearizable");
    EXPECT_TRUE((*target)->claims().orderable);
  }
}

TEST(NaiveTargets, OptionsReachTheProgramAndTheClaims) {
  EXPECT_EQ(naive_options(**made_with("both-sides-accept", "merge", "union")).merge,
            naive::Merge::kUnion);
  const auto failover = made_with("timeout-failover", "failover-ms", "900");
  EXPECT_EQ(naive_options(**failover).failover_ms, 900);
  EXPECT_EQ((*failover)->claims().election_timeout_min, milliseconds(900));
  EXPECT_FALSE(naive_options(**made_with("broadcast-copies", "guards", "false")).guards);
  EXPECT_TRUE(naive_options(**made_with("broadcast-copies", "", "")).guards);
  EXPECT_EQ((*made_with("broadcast-copies", "", ""))->claims().election_timeout_min, Nanos{});
}

TEST(NaiveTargets, SettingsThatMakeNoSenseAreTheUsersFault) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"both-sides-accept", "merge", "best"},
      {"broadcast-copies", "guards", "no"},
      {"timeout-failover", "failover-ms", "0"},
      {"timeout-failover", "failover-ms", "5s"},
  };
  for (const auto& [name, option, value] : cases) {
    const auto target = made_with(name, option, value);
    ASSERT_FALSE(target.ok()) << name;
    EXPECT_EQ(target.error().fault, Fault::kInput);
    EXPECT_TRUE(target.error().message.starts_with("naive-" + std::string(name) + "." + option));
  }
}

}  // namespace
}  // namespace assay
