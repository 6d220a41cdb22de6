#include "targets/third_party/redis_members.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// As they lie on 127.0.0.1, where only ports tell them apart.
Layout three_redis_nodes() {
  Layout layout;
  for (int i = 0; i < 3; ++i) {
    layout.nodes.push_back({.index = i,
                            .name = "n" + std::to_string(i + 1),
                            .address = "127.0.0.1",
                            .client_port = 20000 + 2 * i});
  }
  return layout;
}

std::string info(const std::string& replication, const std::string& loading = "0") {
  return "# Persistence\r\nloading:" + loading + "\r\nasync_loading:0\r\n\r\n# Replication\r\n" +
         replication;
}

constexpr const char* kPrimary =
    "role:master\r\nconnected_slaves:1\r\n"
    "slave0:ip=127.0.0.1,port=20002,state=online,offset=1204,lag=0\r\n"
    "master_failover_state:no-failover\r\nmaster_repl_offset:1204\r\n";

std::string replica(const std::string& port, const std::string& link) {
  return "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:" + port +
         "\r\nmaster_link_status:" + link + "\r\nslave_repl_offset:1190\r\n";
}

std::string status(const std::string& text) {
  const Layout layout = three_redis_nodes();
  const auto said = redis_status_of(layout, layout.nodes[1], text);
  return said ? said->to_json() : said.error().message;
}

TEST(RedisStatus, IsRoleAndPrimary) {
  EXPECT_EQ(status(info(kPrimary)), R"({"role":"leader","leader":"n2"})");
  EXPECT_EQ(status(info(replica("20000", "up"))), R"({"role":"follower","leader":"n1"})");
  EXPECT_EQ(status(info(replica("20004", "up"))), R"({"role":"follower","leader":"n3"})");
}

TEST(RedisStatus, AReplicaFollowsNobodyWhileItsLinkIsDown) {
  EXPECT_EQ(status(info(replica("20000", "down"))), R"({"role":"follower","leader":""})");
  EXPECT_EQ(status(info(replica("6379", "up"))), R"({"role":"follower","leader":""})");
}

TEST(RedisStatus, IsNoneWhileItLoadsAndOfWhatIsNoAnswer) {
  EXPECT_EQ(status(info(kPrimary, "1")), "loading");
  for (const char* text : {"", "role", "role:sentinel\r\n", "ERR unknown command"})
    EXPECT_EQ(status(text), "no answer to INFO") << text;
}

std::vector<std::string> instance(const std::string& port, const std::string& flags,
                                  const std::string& under_way) {
  return {"name",
          "x",
          "ip",
          "127.0.0.1",
          "port",
          port,
          "flags",
          flags,
          "last-ping-sent",
          under_way,
          "last-ok-ping-reply",
          "12"};
}

TEST(SentinelView, IsWhoHasAnswered) {
  const struct {
    std::vector<std::vector<std::string>> said;
    int reached;
    const char* unreached;
  } cases[] = {
      {{}, 0, ""},
      {{instance("1", "master", "0")}, 1, ""},
      {{instance("1", "slave", "0"), instance("2", "slave", "0")}, 2, ""},
      {{instance("1", "slave", "0"), instance("2", "slave", "7")}, 1, "127.0.0.1:2"},
      {{instance("1", "s_down,slave,disconnected", "0"), instance("2", "slave", "0")},
       1,
       "127.0.0.1:1"},
  };
  for (const auto& [said, reached, unreached] : cases) {
    std::vector<std::string> all;
    for (const auto& one : said) all.insert(all.end(), one.begin(), one.end());
    const SentinelView view = sentinel_view_of(all);
    EXPECT_EQ(view.reached, reached);
    EXPECT_EQ(view.unreached, unreached);
  }
}

}  // namespace
}  // namespace assay
