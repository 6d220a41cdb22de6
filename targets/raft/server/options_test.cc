#include "targets/raft/server/options.h"

#include <gtest/gtest.h>

#include <sstream>

namespace assay::raft {
namespace {

const char kGood[] =
    "--name n2 --data d --client 127.0.0.1:1 --peer 127.0.0.1:2 "
    "--cluster n3=127.0.0.3:3,n1=127.0.0.1:1,n2=[::1]:2";

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}
ServerOptions parsed(const std::string& text) {
  auto options = parse_options(words(text));
  if (const auto* bad = std::get_if<BadOption>(&options)) ADD_FAILURE() << bad->message;
  return std::get<ServerOptions>(options);
}
std::string refused(const std::string& text) {
  const auto options = parse_options(words(text));
  const auto* bad = std::get_if<BadOption>(&options);
  return bad == nullptr ? "" : bad->message;
}

TEST(ServerOptions, MembersAreNumberedByName) {
  const ServerOptions options = parsed(kGood);
  ASSERT_EQ(options.cluster.size(), 3u);
  EXPECT_EQ(options.cluster[0].name, "n1");
  EXPECT_EQ(options.cluster[2].peer.address, "127.0.0.3");
  EXPECT_EQ(options.cluster[1].peer.address, "::1");
  EXPECT_EQ(options.cluster[1].peer.to_string(), "[::1]:2");
  EXPECT_EQ(options.id(), NodeId{2});
}

TEST(ServerOptions, TheClusterIsNamedByItsNodesInAnyOrder) {
  const auto id = [](const std::string& cluster) {
    return parsed("--name n1 --data d --client 127.0.0.1:1 --peer 127.0.0.1:2 --cluster " + cluster)
        .cluster_id();
  };
  EXPECT_EQ(id("n1=127.0.0.1:1,n2=127.0.0.1:2"), id("n2=127.0.0.9:2,n1=127.0.0.1:1"));
  EXPECT_NE(id("n1=127.0.0.1:1,n2=127.0.0.1:2"), id("n1=127.0.0.1:1,n3=127.0.0.1:2"));
}

TEST(ServerOptions, DefaultsAreThoseOfTheHelp) {
  const ServerOptions options = parsed(kGood);
  EXPECT_EQ(options.heartbeat_ms, 50);
  EXPECT_EQ(options.election_ms_min, 300);
  EXPECT_EQ(options.election_ms_max, 600);
  EXPECT_EQ(options.snapshot_entries, 10'000u);
  EXPECT_EQ(options.snapshot_keep, 5'000u);
  EXPECT_FALSE(options.canary.wrong_local_reads_from_any_node);
  EXPECT_FALSE(options.canary.wrong_acknowledge_before_commit);
  EXPECT_FALSE(options.canary.wrong_acknowledge_from_process_buffer);
  EXPECT_FALSE(options.canary.wrong_forget_term_and_vote);
  EXPECT_FALSE(options.canary.wrong_read_without_quorum);
  EXPECT_FALSE(options.canary.wrong_watch_from_now);
  EXPECT_FALSE(options.canary.service.wrong_ignore_guards);
  EXPECT_EQ(options.canary.service.token, kv::TokenKind::kRevision);
}

TEST(ServerOptions, EveryFlagIsTaken) {
  const ServerOptions options =
      parsed(std::string(kGood) +
             " --heartbeat-ms=20 --election-timeout-ms 100-200 --seed 7 --segment-bytes 8192 "
             "--snapshot-entries 50 --snapshot-keep=7 "
             "--pending-requests-max 5 --unsafe-canary-local-reads --unsafe-canary-early-ack "
             "--unsafe-canary-buffered-ack --unsafe-canary-forgotten-vote "
             "--unsafe-canary-unchecked-leader-reads --unsafe-canary-watch-from-now "
             "--unsafe-canary-ignored-guards --unsafe-canary-token wall-clock "
             "--clock-offset-ms -30 --watch-progress-ms 70");
  EXPECT_EQ(options.heartbeat_ms, 20);
  EXPECT_EQ(options.election_ms_min, 100);
  EXPECT_EQ(options.election_ms_max, 200);
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(options.segment_bytes, 8192u);
  EXPECT_EQ(options.pending_requests_max, 5u);
  EXPECT_EQ(options.watch_progress_ms, 70);
  EXPECT_EQ(options.snapshot_entries, 50u);
  EXPECT_EQ(options.snapshot_keep, 7u);
  EXPECT_TRUE(options.canary.wrong_local_reads_from_any_node);
  EXPECT_TRUE(options.canary.wrong_acknowledge_before_commit);
  EXPECT_TRUE(options.canary.wrong_acknowledge_from_process_buffer);
  EXPECT_TRUE(options.canary.wrong_forget_term_and_vote);
  EXPECT_TRUE(options.canary.wrong_read_without_quorum);
  EXPECT_TRUE(options.canary.wrong_watch_from_now);
  EXPECT_TRUE(options.canary.service.wrong_ignore_guards);
  EXPECT_EQ(options.canary.service.token, kv::TokenKind::kWallClock);
  EXPECT_EQ(options.clock_offset_ms, -30);
}

TEST(ServerOptions, WhatMakesNoSenseIsSaidInOneLine) {
  const std::string good = kGood;
  const std::pair<std::string, std::string> cases[] = {
      {"", "--name is missing; see --help"},
      {good + " extra", "unknown option extra; see --help"},
      {good + " --seed", "--seed: a value is missing"},
      {good + " --seed 1x",
       "--seed: expected a whole number from 1 to 18446744073709551615, found \"1x\""},
      {good + " --heartbeat-ms 0",
       "--heartbeat-ms: expected a whole number from 1 to 60000, found \"0\""},
      {good + " --election-timeout-ms 300",
       "--election-timeout-ms: expected MIN-MAX in milliseconds, found \"300\""},
      {good + " --election-timeout-ms 300-200",
       "--election-timeout-ms: expected MIN-MAX in milliseconds, found \"300-200\""},
      {good + " --election-timeout-ms 60-90",
       "--election-timeout-ms: its least must be at least twice --heartbeat-ms"},
      {good + " --client 127.0.0.1", "--client: expected ADDRESS:PORT, found \"127.0.0.1\""},
      {good + " --client 127.0.0.1:70000",
       "--client: expected ADDRESS:PORT, found \"127.0.0.1:70000\""},
      {good + " --cluster n1=127.0.0.1:1,",
       "--cluster: expected NAME=ADDRESS:PORT,..., found \"n1=127.0.0.1:1,\""},
      {good + " --cluster n1=127.0.0.1:1,n1=127.0.0.1:2",
       "--cluster: expected each name once, found \"n1=127.0.0.1:1,n1=127.0.0.1:2\""},
      {good + " --name n9", "--name: n9 is not one of --cluster's"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(refused(text), message) << text;
}

}  // namespace
}  // namespace assay::raft
