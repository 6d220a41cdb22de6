// assay-naive as a process: its command line, its journal, and what it answers.
#include "targets/naive/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/watch_value.h"
#include "targets/naive/server/journal.h"
#include "targets/raft/server/testing_servers.h"

namespace assay::naive {
namespace {

using raft::Asker;
using raft::BadOption;
using raft::Servers;

std::vector<std::string> arguments(std::vector<std::string> more) {
  std::vector<std::string> all{"--name=n2", "--data=/d", "--client=127.0.0.1:1",
                               "--peer=127.0.0.1:2", "--cluster=n1=127.0.0.1:3,n2=127.0.0.1:2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(NaiveOptions, SayWhichDesignAndHow) {
  const auto parsed = parse_options(arguments(
      {"--design=both-sides-accept", "--merge=union", "--failover-ms=70", "--guards=false"}));
  const auto& options = std::get<ServerOptions>(parsed);
  EXPECT_EQ(options.design.name, "both-sides-accept");
  EXPECT_EQ(options.merge, Merge::kUnion);
  EXPECT_EQ(options.failover_ms, 70);
  EXPECT_FALSE(options.guards);
  EXPECT_EQ(options.common.id(), NodeId{2});
}

TEST(NaiveOptions, WhatMakesNoSenseIsNamed) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "--design is missing"},
      {{"--design=raft"}, "--design: expected a design, found \"raft\""},
      {{"--design=timeout-failover", "--failover-ms=0"}, "--failover-ms: expected milliseconds"},
      {{"--design=timeout-failover", "--failover-ms=5s"}, "--failover-ms: expected milliseconds"},
      {{"--design=both-sides-accept", "--guards=0"}, "--guards: expected true or false"},
      {{"--design=both-sides-accept", "--merge=best"}, "--merge: expected longest"},
      {{"--design=both-sides-accept", "--marge=best"}, "unknown option --marge"},
  };
  for (const auto& [more, what] : cases) {
    const auto parsed = parse_options(arguments(more));
    ASSERT_TRUE(std::holds_alternative<BadOption>(parsed)) << what;
    EXPECT_THAT(std::get<BadOption>(parsed).message, testing::HasSubstr(what));
  }
}

TEST(NaiveJournal, GivesBackWhatWasAppendedAndCutsOffWhatIsIncomplete) {
  const std::string path = testing::TempDir() + "/journal." + std::to_string(::getpid());
  std::vector<std::string> records;
  std::string error;
  {
    auto journal = Journal::open(path, records, error);
    ASSERT_TRUE(journal) << error;
    for (const char* record : {"one", "", "three"}) journal->append(record);
    journal->sync();
  }
  const auto whole = std::filesystem::file_size(path);
  std::ofstream(path, std::ios::app) << std::string("\x09\0\0\0half", 8);
  auto journal = Journal::open(path, records, error);
  EXPECT_THAT(records, testing::ElementsAre("one", "", "three"));
  EXPECT_EQ(std::filesystem::file_size(path), whole);
  EXPECT_EQ(journal->bytes(), whole);
  std::filesystem::remove(path);
}

class NaiveServers : public testing::TestWithParam<DesignName> {
 protected:
  HttpReply post(int node, const char* target, const std::string& body) {
    return asker_.http(servers_.node(node), "POST", target, body);
  }
  // What a watch from the first change on collects in a while.
  Value watched(int node) {
    const auto client = make_kv_client(loop_, servers_.node(node), {});
    Op op;
    op.f = f::watch;
    op.key = Symbol("a");
    op.value = to_value(WatchWish{.prefix = op.key, .from = 2, .span = milliseconds(300)});
    std::optional<Op> done;
    client->invoke(op, [&](Op completion) { done = std::move(completion); });
    EXPECT_TRUE(loop_.run_until([&] { return done.has_value(); }));
    return done->value;
  }
  bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      loop_.run_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // What is sent before the nodes have found each other is lost, as it may be.
  void start_all() {
    servers_.start_all();
    ASSERT_GE(asker_.leader(servers_), 0);
    ASSERT_TRUE(eventually([&] {
      for (int i = 0; i < servers_.size(); ++i) {
        const std::string log = servers_.log(i);
        size_t peers = 0;
        for (size_t at = log.rfind("started:"); at != log.npos; ++peers)
          at = log.find("is connected", at + 1);
        if (peers < 3) return false;  // two, and the end
      }
      return true;
    }));
  }
  bool all_have_applied(const Value& count) {
    return eventually([&] {
      for (int i = 0; i < servers_.size(); ++i) {
        if (asker_.status(servers_.node(i))["applied"] != count) return false;
      }
      return true;
    });
  }

  TestingLoop loop_;
  Servers servers_{3, {"--design=" + std::string(GetParam().name)}, false, "assay-naive"};
  Asker asker_{loop_};
};
INSTANTIATE_TEST_SUITE_P(All, NaiveServers, testing::ValuesIn(kDesigns), [](const auto& param) {
  std::string name(param.param.name);
  std::erase(name, '-');
  return name;
});

TEST_P(NaiveServers, ServeOnEveryNodeAndKeepWhatTheyAnsweredOverAKill) {
  start_all();
  constexpr const char* kPut = R"({"key":"YQ==","value":"MQ=="})";
  EXPECT_EQ(post(1, "/v3/kv/put", kPut).status, 200);
  ASSERT_TRUE(all_have_applied(1));
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(post(i, "/v3/kv/range", R"({"key":"YQ=="})").body, testing::HasSubstr("MQ=="));
  const HttpReply chain = asker_.http(servers_.node(2), "GET", "/assay/chain?last=5", "");
  EXPECT_THAT(chain.body, testing::HasSubstr("hashes"));
  EXPECT_EQ(watched(2)["events"].as_array().size(), 1u);
  for (int i = 0; i < 3; ++i) servers_.child(i).end(SIGKILL);
  start_all();
  ASSERT_TRUE(all_have_applied(1));
  EXPECT_THAT(post(2, "/v3/kv/range", R"({"key":"YQ=="})").body, testing::HasSubstr("MQ=="));
}

}  // namespace
}  // namespace assay::naive
