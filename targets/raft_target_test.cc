#include "targets/raft_target.h"

#include <gtest/gtest.h>

#include "targets/raft/server/options.h"

namespace assay {
namespace {

TargetInfo::Settings defaults() {
  TargetInfo::Settings settings;
  for (const TargetOption& option : raft_target().options) {
    settings.emplace_back(option.name, option.fallback);
  }
  return settings;
}

Result<std::unique_ptr<Target>> made_with(const std::string& name, const std::string& value,
                                          uint64_t seed = 7) {
  TargetInfo::Settings settings = defaults();
  for (auto& [option, text] : settings) {
    if (option == name) text = value;
  }
  return raft_target().make(settings, seed);
}

Layout layout_of(int nodes) {
  Layout layout;
  layout.bin_dir = "/opt/bin";
  for (int i = 0; i < nodes; ++i) {
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

// What assay-raft makes of the command line that the target gives it.
raft::ServerOptions understood(const Target& target, const Layout& layout, int node) {
  const auto spec = target.daemon(layout, layout.nodes[node]);
  EXPECT_TRUE(spec.ok());
  EXPECT_EQ(spec->argv[0], "/opt/bin/assay-raft");
  auto parsed = raft::parse_options({spec->argv.begin() + 1, spec->argv.end()});
  if (const auto* bad = std::get_if<raft::BadOption>(&parsed)) ADD_FAILURE() << bad->message;
  return std::get<raft::ServerOptions>(parsed);
}

TEST(RaftTarget, EveryNodeUnderstandsItsCommandLine) {
  const auto target = made_with("", "");
  ASSERT_TRUE(target.ok());
  const Layout layout = layout_of(5);
  std::vector<uint64_t> seeds;
  for (int i = 0; i < 5; ++i) {
    const raft::ServerOptions options = understood(**target, layout, i);
    EXPECT_EQ(options.name, layout.nodes[i].name);
    EXPECT_EQ(options.client.to_string(), layout.nodes[i].address + ":2379");
    EXPECT_EQ(options.peer.to_string(), layout.nodes[i].address + ":2380");
    EXPECT_TRUE(options.data.starts_with(layout.nodes[i].folder + "/"));
    EXPECT_EQ(options.cluster.size(), 5u);
    EXPECT_FALSE(options.canary.wrong_local_reads_from_any_node);
    EXPECT_FALSE(options.canary.wrong_acknowledge_before_commit);
    EXPECT_FALSE(options.canary.wrong_acknowledge_from_process_buffer);
    seeds.push_back(options.seed);
  }
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::unique(seeds.begin(), seeds.end()), seeds.end());
}

TEST(RaftTarget, EachCanarySetsItsSwitch) {
  const std::pair<const char*, bool raft::Canary::*> canaries[] = {
      {"local-reads", &raft::Canary::wrong_local_reads_from_any_node},
      {"early-ack", &raft::Canary::wrong_acknowledge_before_commit},
      {"buffered-ack", &raft::Canary::wrong_acknowledge_from_process_buffer},
      {"unsynced-ack", &raft::Canary::wrong_acknowledge_without_sync},
  };
  for (const auto& [name, field] : canaries) {
    const auto target = made_with(name, "true");
    ASSERT_TRUE(target.ok());
    EXPECT_TRUE(understood(**target, layout_of(3), 0).canary.*field) << name;
  }
}

TEST(RaftTarget, TimesReachTheServerAndTheClaims) {
  const auto target = made_with("election-timeout-ms", "150-250");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ((*target)->claims().election_timeout_min, milliseconds(150));
  const raft::ServerOptions options = understood(**target, layout_of(3), 0);
  EXPECT_EQ(options.election_ms_min, 150);
  EXPECT_EQ(options.election_ms_max, 250);
  EXPECT_EQ(understood(**made_with("heartbeat-ms", "20"), layout_of(3), 0).heartbeat_ms, 20);
}

TEST(RaftTarget, WithKeyVersionsItClaimsNeitherAnOrderNorAWatch) {
  const Claims usual = (*made_with("", ""))->claims();
  EXPECT_TRUE(usual.orderable && usual.watch);
  EXPECT_EQ(usual.token_kind, "revision");
  const auto target = made_with("token", "key-version");
  ASSERT_TRUE(target.ok());
  const Claims claims = (*target)->claims();
  EXPECT_FALSE(claims.orderable || claims.watch);
  EXPECT_TRUE(claims.guarded_write);
  EXPECT_EQ(claims.token_kind, "key-version");
  for (Symbol op : (*target)->ops()) EXPECT_TRUE(op.text() != "watch" && op.text() != "compact");
  EXPECT_EQ(raft_target().token_kinds, (std::vector<std::string>{"revision", "key-version"}));
}

TEST(RaftTarget, ThresholdsOfSnapshotsReachTheServer) {
  const raft::ServerOptions usual = understood(**made_with("", ""), layout_of(3), 0);
  EXPECT_EQ(usual.snapshot_entries, raft::ServerOptions().snapshot_entries);
  EXPECT_EQ(usual.snapshot_keep, raft::ServerOptions().snapshot_keep);
  const auto target = made_with("snapshot-entries", "50");
  EXPECT_EQ(understood(**target, layout_of(3), 1).snapshot_entries, 50u);
  EXPECT_EQ(understood(**made_with("snapshot-keep", "3"), layout_of(3), 1).snapshot_keep, 3u);
}

TEST(RaftTarget, SettingsThatMakeNoSenseAreTheUsersFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"heartbeat-ms", "0"},
      {"heartbeat-ms", "x"},
      {"heartbeat-ms", "200"},
      {"first-leader", "leader"},
      {"snapshot-entries", "-1"},
      {"snapshot-keep", "few"},
      {"election-timeout-ms", "600-300"},
      {"election-timeout-ms", "a-b"},
      {"election-timeout-ms", ""},
      {"local-reads", "yes"},
      {"early-ack", ""},
      {"token", "value"},
  };
  for (const auto& [name, value] : cases) {
    const auto target = made_with(name, value);
    ASSERT_FALSE(target.ok()) << name << "=" << value;
    EXPECT_EQ(target.error().fault, Fault::kInput);
    EXPECT_EQ(target.error().message.rfind("raft.", 0), 0u) << target.error().message;
  }
}

TEST(RaftTarget, LinesOfABrokenServerAreFindings) {
  const auto target = made_with("", "");
  const std::pair<const char*, const char*> cases[] = {
      {"12:00:00.000 n1 fatal: cannot sync wal-00000001: Input/output error", "fatal"},
      {"12:00:00.000 n1 cannot use the log: wal-00000001-00: corrupt at byte 300, before records",
       "corruption"},
      {"targets/raft/core/core.cc:10: broken promise: a <= b", "panic"},
      {"terminate called after throwing an instance of 'std::bad_alloc'", "panic"},
      {"==12==ERROR: AddressSanitizer: heap-use-after-free on address", "sanitizer"},
      {"12:00:00.000 n1 leads term 5", ""},
      {"12:00:00.000 n1 peer n2 is lost: Connection reset by peer", ""},
      {"12:00:00.000 n1 the last write before the end was incomplete, and was cut off", ""},
      {"12:00:00.000 n1 ended by SIGTERM", ""},
  };
  for (const auto& [line, finding] : cases)
    EXPECT_EQ((*target)->log_finding(line), finding) << line;
}

TEST(RaftTarget, AllOthersWaitLongerThanTheFirstLeader) {
  const auto target = made_with("first-leader", "n2");
  ASSERT_TRUE(target.ok());
  const Layout layout = layout_of(3);
  const auto longest = understood(**target, layout, 1).election_ms_max;
  for (const int other : {0, 2}) {
    EXPECT_GT(understood(**target, layout, other).election_ms_min, longest);
  }
}

}  // namespace
}  // namespace assay
