#include "targets/third_party/etcd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace assay {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Changes = TargetSettings;

Result<std::unique_ptr<Target>> made_with(const Changes& changes, uint64_t seed = 7) {
  TargetSettings settings;
  for (const TargetOption& option : etcd_target().options)
    settings.emplace_back(option.name, option.fallback);
  for (auto& [option, value] : settings) {
    for (const auto& [changed, text] : changes) {
      if (option == changed) value = text;
    }
  }
  return etcd_target().make(settings, seed);
}

Layout layout_of(int nodes) {
  Layout layout;
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

// Stands in for etcd: a program that is only looked up.
class EtcdTarget : public testing::Test {
 protected:
  EtcdTarget() {
    std::string pattern = testing::TempDir() + "etcd-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    program_ = folder_ + "/etcd";
    std::ofstream(program_) << "#!/bin/sh\n";
    ::chmod(program_.c_str(), 0755);
  }
  ~EtcdTarget() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> argv_of(Changes changes, const Layout& layout, int node) {
    changes.emplace_back("program", program_);
    const auto target = made_with(changes);
    EXPECT_TRUE(target.ok()) << target.error().message;
    const auto spec = (*target)->daemon(layout, layout.nodes[node]);
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    return spec->argv;
  }

  std::string folder_;
  std::string program_;
};

TEST_F(EtcdTarget, EveryNodeHasItsAddressesItsFolderAndAllMembers) {
  const Layout layout = layout_of(3);
  std::set<std::string> tokens;
  for (int i = 0; i < 3; ++i) {
    const auto argv = argv_of({}, layout, i);
    const std::string host = "http://10.0.0." + std::to_string(i + 1);
    EXPECT_EQ(argv[0], program_);
    for (const std::string& word :
         {"--name=n" + std::to_string(i + 1), "--listen-client-urls=" + host + ":2379",
          "--advertise-client-urls=" + host + ":2379", "--listen-peer-urls=" + host + ":2380",
          "--initial-advertise-peer-urls=" + host + ":2380",
          "--data-dir=" + layout.nodes[i].folder + "/data/etcd",
          std::string("--initial-cluster=n1=http://10.0.0.1:2380,n2=http://10.0.0.2:2380,"
                      "n3=http://10.0.0.3:2380")}) {
      EXPECT_THAT(argv, Contains(word));
    }
    EXPECT_THAT(argv, Not(Contains(HasSubstr("unsafe"))));
    for (const std::string& word : argv) {
      if (word.starts_with("--initial-cluster-token=")) tokens.insert(word);
    }
  }
  EXPECT_EQ(tokens.size(), 1u);
}

TEST_F(EtcdTarget, ARestartHasTheSameCommandLine) {
  const Layout layout = layout_of(3);
  EXPECT_EQ(argv_of({}, layout, 1), argv_of({}, layout, 1));
}

TEST_F(EtcdTarget, SettingsReachTheCommandLine) {
  const Layout layout = layout_of(3);
  const auto argv = argv_of({{"snapshot-count", "123"},
                             {"heartbeat-ms", "20"},
                             {"election-timeout-ms", "150"},
                             {"compaction", "periodic:10s"}},
                            layout, 0);
  for (const char* word :
       {"--snapshot-count=123", "--heartbeat-interval=20", "--election-timeout=150",
        "--auto-compaction-mode=periodic", "--auto-compaction-retention=10s"}) {
    EXPECT_THAT(argv, Contains(word));
  }
  EXPECT_THAT(argv_of({{"compaction", "off"}}, layout, 0),
              Not(Contains(StartsWith("--auto-compaction"))));
}

TEST_F(EtcdTarget, VariablesOfTheUsersOwnEtcdAreKeptFromIt) {
  ::setenv("ETCD_NAME", "theirs", 1);
  ::setenv("ETCD_UNSUPPORTED_ARCH", "arm64", 1);
  const auto argv = argv_of({}, layout_of(1), 0);
  ::unsetenv("ETCD_NAME");
  ::unsetenv("ETCD_UNSUPPORTED_ARCH");
  ASSERT_GE(argv.size(), 4u);
  EXPECT_EQ((std::vector<std::string>{argv.begin(), argv.begin() + 4}),
            (std::vector<std::string>{"env", "-u", "ETCD_NAME", program_}));
}

TEST_F(EtcdTarget, WhatIsLeftOpenIsDrawnFromTheSeed) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto target = made_with({}, seed);
    ASSERT_TRUE(target.ok()) << target.error().message;
    const TargetSettings drawn = (*target)->drawn();
    EXPECT_EQ(drawn, (*made_with({}, seed))->drawn());
    EXPECT_EQ(drawn.size(), 4u);
    for (const auto& [option, value] : drawn) {
      seen.insert(option + "=" + value);
      if (option == "heartbeat-ms")
        EXPECT_TRUE(std::stoi(value) >= 50 && std::stoi(value) <= 100) << value;
      if (option == "election-timeout-ms")
        EXPECT_TRUE(std::stoi(value) >= 500 && std::stoi(value) <= 1000) << value;
    }
    // Said again, they are the same settings.
    const auto again = made_with(drawn, seed + 1);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE((*again)->drawn().empty());
    EXPECT_EQ((*again)->claims().election_timeout_min, (*target)->claims().election_timeout_min);
  }
  for (const char* choice : {"snapshot-count=100", "snapshot-count=1000", "snapshot-count=10000",
                             "compaction=off", "compaction=periodic:2s"}) {
    EXPECT_TRUE(seen.contains(choice)) << choice;
  }
}

TEST_F(EtcdTarget, OneTimeThatIsGivenLeavesRoomForTheOther) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(made_with({{"heartbeat-ms", "400"}}, seed).ok());
    EXPECT_TRUE(made_with({{"election-timeout-ms", "100"}}, seed).ok());
  }
}

TEST_F(EtcdTarget, ElectionsAreClaimedInWholeHeartbeats) {
  const auto target = made_with({{"heartbeat-ms", "80"}, {"election-timeout-ms", "500"}});
  ASSERT_TRUE(target.ok());
  EXPECT_EQ((*target)->claims().election_timeout_min, milliseconds(480));
}

TEST_F(EtcdTarget, SettingsThatMakeNoSenseAreTheUsersFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"program", ""},
      {"heartbeat-ms", "0"},
      {"heartbeat-ms", "x"},
      {"heartbeat-ms", "10001"},
      {"election-timeout-ms", "0"},
      {"election-timeout-ms", "60000"},
      {"election-timeout-ms", "1s"},
      {"election-timeout-ms", "4"},
      {"snapshot-count", "0"},
      {"snapshot-count", ""},
      {"compaction", "on"},
      {"compaction", "periodic:"},
      {"compaction", "periodic:10"},
      {"compaction", "periodic:0s"},
      {"compaction", "revision:10s"},
      {"compaction", "hourly:1"},
      {"serializable-reads", "yes"},
  };
  for (const auto& [name, value] : cases) {
    const auto target = made_with({{name, value}});
    ASSERT_FALSE(target.ok()) << name << "=" << value;
    EXPECT_EQ(target.error().fault, Fault::kInput);
    EXPECT_THAT(target.error().message, StartsWith(std::string("etcd.") + name + ": expected"));
  }
  EXPECT_FALSE(made_with({{"heartbeat-ms", "100"}, {"election-timeout-ms", "400"}}).ok());
}

TEST_F(EtcdTarget, AProgramThatIsMissingIsTheEnvironments) {
  const auto target = made_with({{"program", folder_ + "/none"}});
  ASSERT_TRUE(target.ok());
  const Layout layout = layout_of(1);
  const auto spec = (*target)->daemon(layout, layout.nodes[0]);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().fault, Fault::kEnvironment);
  EXPECT_THAT(spec.error().message, HasSubstr("cannot run " + folder_ + "/none"));
  EXPECT_TRUE((*target)->binaries(layout).empty());

  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (folder_ + "/nowhere").c_str(), 1);
  const auto missing = (*made_with({}))->daemon(layout, layout.nodes[0]);
  ::setenv("PATH", folder_.c_str(), 1);
  const auto found = (*made_with({}))->daemon(layout, layout.nodes[0]);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("package etcd-server"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->argv[0], program_);
}

TEST_F(EtcdTarget, LinesOfABrokenServerAreFindings) {
  const auto target = made_with({});
  const std::pair<const char*, const char*> cases[] = {
      {R"({"level":"panic","ts":"x","caller":"a.go:1","msg":"failed to recover"})", "panic"},
      {R"({"level":"fatal","ts":"x","caller":"a.go:1","msg":"discovery failed"})", "fatal"},
      {R"({"level":"fatal","msg":"walpb: crc mismatch"})", "corruption"},
      {R"({"level":"warn","msg":"found data inconsistency with peers; exiting"})", "corruption"},
      {"panic: runtime error: index out of range [1] with length 1", "panic"},
      {"fatal error: all goroutines are asleep - deadlock!", "panic"},
      {R"({"level":"info","msg":"starting an etcd server","initial-corrupt-check":false,)"
       R"("corrupt-check-time-interval":"0s"})",
       ""},
      {R"({"level":"warn","msg":"apply request took too long"})", ""},
      {R"({"level":"warn","msg":"prober detected unhealthy status"})", ""},
      {R"({"level":"info","msg":"closed etcd server"})", ""},
  };
  for (const auto& [line, finding] : cases)
    EXPECT_EQ((*target)->log_finding(line), finding) << line;
}

}  // namespace
}  // namespace assay
