#include "targets/third_party/redis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Result<std::unique_ptr<Target>> made_with(const TargetSettings& changes, uint64_t seed = 7) {
  TargetSettings settings;
  for (const TargetOption& option : redis_target().options)
    settings.emplace_back(option.name, option.fallback);
  for (auto& [option, value] : settings) {
    for (const auto& [changed, text] : changes) {
      if (option == changed) value = text;
    }
  }
  return redis_target().make(settings, seed);
}

Layout one_node() {
  Layout layout;
  layout.nodes.push_back({.name = "n1",
                          .address = "10.0.0.1",
                          .client_port = 2379,
                          .peer_port = 2380,
                          .folder = "/run/n1"});
  return layout;
}

// Programs that are only looked up.
class RedisTarget : public testing::Test {
 protected:
  RedisTarget() {
    std::string pattern = testing::TempDir() + "redis-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    for (const char* name : {"redis-server", "redis-sentinel"}) {
      const std::string path = folder_ + "/" + name;
      std::ofstream(path) << "#!/bin/sh\n";
      ::chmod(path.c_str(), 0755);
    }
  }
  ~RedisTarget() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(RedisTarget, StartsBothProgramsOfItsSettingsInTheNodesFolder) {
  const auto target = made_with(
      {{"program", folder_ + "/redis-server"}, {"sentinel", folder_ + "/redis-sentinel"}});
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Layout layout = one_node();
  const auto spec = (*target)->daemon(layout, layout.nodes[0]);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->cwd, "/run/n1");
  EXPECT_EQ(spec->log_path, "/run/n1/redis.log");
  ASSERT_EQ(spec->argv.size(), 6u);
  EXPECT_EQ(spec->argv[4], folder_ + "/redis-server");
  EXPECT_EQ(spec->argv[5], folder_ + "/redis-sentinel");
  EXPECT_THAT((*target)->binaries(layout),
              ElementsAre(folder_ + "/redis-server", folder_ + "/redis-sentinel"));
  const auto written = (*target)->preparations(layout, layout.nodes[0]);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].argv.back(), "/run/n1/redis.conf");
  EXPECT_THAT(written[0].input, HasSubstr("appendfsync always"));
  EXPECT_EQ(written[1].argv.back(), "/run/n1/sentinel.conf");
  EXPECT_THAT(written[1].input, HasSubstr("sentinel monitor"));
}

TEST_F(RedisTarget, AProgramThatIsMissingIsTheEnvironments) {
  const Layout layout = one_node();
  const std::string path = ::getenv("PATH");
  const std::pair<const char*, const char*> cases[] = {
      {"redis-server", "cannot run redis-server: not found in PATH (package redis-server)"},
      {"redis-sentinel", "cannot run redis-sentinel: not found in PATH (package redis-sentinel)"}};
  ::setenv("PATH", folder_.c_str(), 1);
  EXPECT_TRUE((*made_with({}))->daemon(layout, layout.nodes[0]).ok());
  for (const auto& [program, message] : cases) {
    std::filesystem::rename(folder_ + "/" + program, folder_ + "/away");
    const auto missing = (*made_with({}))->daemon(layout, layout.nodes[0]);
    std::filesystem::rename(folder_ + "/away", folder_ + "/" + program);
    EXPECT_FALSE(missing.ok());
    if (missing.ok()) continue;
    EXPECT_EQ(missing.error().fault, Fault::kEnvironment);
    EXPECT_EQ(missing.error().message, message);
  }
  ::setenv("PATH", path.c_str(), 1);
  const auto named = (*made_with({{"program", "/none/redis"}}))->daemon(layout, layout.nodes[0]);
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().message, "cannot run /none/redis: no such program");
}

TEST_F(RedisTarget, WhatIsLeftOpenIsDrawnFromTheSeed) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto target = made_with({}, seed);
    ASSERT_TRUE(target.ok()) << target.error().message;
    const TargetSettings drawn = (*target)->drawn();
    EXPECT_EQ(drawn, (*made_with({}, seed))->drawn());
    ASSERT_EQ(drawn.size(), 2u);
    EXPECT_EQ(drawn[0].first, "down-after-ms");
    EXPECT_TRUE(std::stoi(drawn[0].second) >= 500 && std::stoi(drawn[0].second) <= 1000);
    EXPECT_EQ(drawn[1].first, "failover-timeout-ms");
    EXPECT_TRUE(std::stoi(drawn[1].second) >= 2000 && std::stoi(drawn[1].second) <= 4000);
    // Said again, they are the same settings.
    const auto again = made_with(drawn, seed + 1);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE((*again)->drawn().empty());
  }
}

TEST_F(RedisTarget, ReadsOfAnyNodeAreACanary) {
  for (const TargetOption& option : redis_target().options)
    EXPECT_EQ(option.canary, option.name == "reads") << option.name;
  const Claims claims = (*made_with({}))->claims();
  EXPECT_EQ(claims.read, "linearizable");
  EXPECT_EQ(claims.durable, "sync");
  EXPECT_FALSE(claims.guarded_write);
  EXPECT_FALSE(claims.orderable);
  EXPECT_EQ(claims.election_timeout_min.count, 0);
}

TEST_F(RedisTarget, SettingsThatMakeNoSenseAreTheUsersFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"program", ""},
      {"sentinel", ""},
      {"wait", ""},
      {"wait", "-1"},
      {"wait", "1x"},
      {"wait", "64"},
      {"down-after-ms", "0"},
      {"down-after-ms", "1s"},
      {"down-after-ms", "3600001"},
      {"failover-timeout-ms", ""},
      {"failover-timeout-ms", "0"},
      {"reads", "replica"},
      {"reads", ""},
  };
  for (const auto& [name, value] : cases) {
    const auto target = made_with({{name, value}});
    ASSERT_FALSE(target.ok()) << name << "=" << value;
    EXPECT_EQ(target.error().fault, Fault::kInput);
    EXPECT_THAT(target.error().message, StartsWith(std::string("redis.") + name + ": expected"));
    EXPECT_THAT(target.error().message, HasSubstr("found \"" + std::string(value) + "\""));
  }
  EXPECT_TRUE(made_with({{"wait", "2"}, {"reads", "any"}}).ok());
}

TEST_F(RedisTarget, LinesOfABrokenServerAreFindings) {
  const auto target = made_with({});
  const std::pair<const char*, const char*> cases[] = {
      {"=== REDIS BUG REPORT START: Cut & paste starting from here ===", "panic"},
      {"38:M 30 Nov 2026 09:28:41.250 # Redis 7.0.15 crashed by signal: 11", "panic"},
      {"38:M 30 Nov 2026 09:28:41.250 # ------------------------------------------------", ""},
      {"38:M 30 Nov 2026 09:28:41.250 # !!! Software Failure. Press left mouse button to continue",
       ""},
      {"38:M 30 Nov 2026 09:28:41.250 # Guru Meditation: Unknown reply type #x.c:12", "panic"},
      {"38:M 30 Nov 2026 09:28:41.250 # === ASSERTION FAILED ===", "panic"},
      {"38:M 30 Nov 2026 09:28:41.250 # Out Of Memory allocating 123 bytes!", "panic"},
      {"38:M 30 Nov 2026 09:28:41.250 # Bad file format reading the append only file "
       "appendonly.aof.1.incr.aof: make a backup of your AOF file",
       "corruption"},
      {"38:M 30 Nov 2026 09:28:41.250 # Can't recover from AOF write error when the AOF fsync "
       "policy is 'always'. Exiting...",
       "fatal"},
      {"*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***", "fatal"},
      // After SIGKILL: a record that nobody was told of.
      {"38:M 30 Nov 2026 09:28:41.250 # !!! Warning: short read while loading the AOF file "
       "appendonly.aof.1.incr.aof!!!",
       ""},
      {"38:M 30 Nov 2026 09:28:41.250 # AOF loaded anyway because aof-load-truncated is enabled",
       ""},
      {"49:X 30 Nov 2026 09:28:42.115 # +sdown slave 10.77.0.13:2379 10.77.0.13 2379 @ assay", ""},
      {"49:X 30 Nov 2026 09:28:42.115 # +tilt #tilt mode entered", ""},
      {"38:M 30 Nov 2026 09:28:41.251 # WARNING Memory overcommit must be enabled!", ""},
      {"43:S 30 Nov 2026 09:29:01.255 # Error condition on socket for SYNC: Connection refused",
       ""},
  };
  for (const auto& [line, finding] : cases)
    EXPECT_EQ((*target)->log_finding(line), finding) << line;
}

TEST_F(RedisTarget, MoreReplicasThanThereAreCannotBeWaitedFor) {
  const auto target = made_with({{"wait", "2"}});
  ASSERT_TRUE(target.ok());
  EXPECT_TRUE((*target)->fits(3).ok());
  const auto refused = (*target)->fits(2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fault, Fault::kInput);
  EXPECT_EQ(refused.error().message,
            "redis.wait: expected at most 1, the replicas of 2 nodes, found 2");
}

}  // namespace
}  // namespace assay
