#include "targets/third_party/redis_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace assay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

// As the nodes lie in a private network, and as they lie on 127.0.0.1.
Layout redis_layout(int nodes, bool host = false) {
  Layout layout;
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i + 1);
    layout.nodes.push_back({.index = i,
                            .name = name,
                            .address = host ? "127.0.0.1" : "10.0.0." + std::to_string(i + 1),
                            .client_port = host ? 20000 + 2 * i : 2379,
                            .peer_port = host ? 20001 + 2 * i : 2380,
                            .folder = "/run/of \"us\"/" + name});
  }
  return layout;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& words) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(words)) found.push_back(line);
  }
  return found;
}

std::vector<std::string> sentinel_lines(const Layout& layout, int node, const std::string& words) {
  const SentinelTimes times{.down_after_ms = 700, .failover_timeout_ms = 3000};
  return lines_with(sentinel_conf(layout, layout.nodes[node], times), words);
}

TEST(RedisConfig, TheFirstNodeIsThePrimaryAndAllOthersFollowIt) {
  for (int nodes : {1, 3, 5}) {
    const Layout layout = redis_layout(nodes);
    for (const NodeInfo& node : layout.nodes) {
      const auto follows = lines_with(redis_conf(layout, node), "replicaof ");
      if (node.index == 0) {
        EXPECT_TRUE(follows.empty());
      } else {
        EXPECT_EQ(follows, std::vector<std::string>{"replicaof 10.0.0.1 2379"});
      }
    }
  }
}

TEST(RedisConfig, EachProgramUsesItsNodesAddressAndFolderAlone) {
  for (bool host : {false, true}) {
    const Layout layout = redis_layout(3, host);
    const NodeInfo& node = layout.nodes[1];
    const auto server = lines_of(redis_conf(layout, node));
    const auto sentinel = sentinel_lines(layout, 1, "");
    for (const auto& lines : {server, sentinel}) {
      for (const std::string& line :
           {"bind " + node.address, "bind-source-addr " + node.address,
            std::string("dir \"/run/of \\\"us\\\"/n2/data\""), std::string("protected-mode no"),
            std::string("daemonize no"), std::string("set-proc-title no"),
            std::string("logfile \"\"")}) {
        EXPECT_THAT(lines, Contains(line));
      }
    }
    EXPECT_THAT(server, Contains("port " + std::to_string(node.client_port)));
    EXPECT_THAT(sentinel, Contains("port " + std::to_string(node.peer_port)));
  }
}

TEST(RedisConfig, EveryChangeIsSyncedBeforeItsAnswer) {
  const Layout layout = redis_layout(3);
  const auto lines = lines_of(redis_conf(layout, layout.nodes[0]));
  EXPECT_THAT(lines, AllOf(Contains("appendonly yes"), Contains("appendfsync always")));
}

TEST(RedisConfig, ASentinelKnowsAllOthersAndAllReplicasFromTheStart) {
  const Layout layout = redis_layout(3, true);
  EXPECT_THAT(sentinel_lines(layout, 1, "sentinel known-replica"),
              UnorderedElementsAre("sentinel known-replica assay 127.0.0.1 20002",
                                   "sentinel known-replica assay 127.0.0.1 20004"));
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const auto own = sentinel_lines(layout, i, "sentinel myid ");
    ASSERT_EQ(own.size(), 1u);
    const std::string id = own[0].substr(std::string("sentinel myid ").size());
    EXPECT_TRUE(std::regex_match(id, std::regex("[0-9a-f]{40}"))) << id;
    ids.insert(id);
    const std::string known = "sentinel known-sentinel assay 127.0.0.1 " +
                              std::to_string(layout.nodes[i].peer_port) + " " + id;
    for (int other = 0; other < 3; ++other) {
      const auto others = sentinel_lines(layout, other, "sentinel known-sentinel");
      EXPECT_EQ(others.size(), 2u);
      if (other == i) {
        EXPECT_THAT(others, Not(Contains(HasSubstr(id))));
      } else {
        EXPECT_THAT(others, Contains(known));
      }
    }
  }
  EXPECT_EQ(ids.size(), 3u);
}

TEST(RedisConfig, AMajorityOfTheSentinelsDecides) {
  const std::pair<int, const char*> cases[] = {{1, "1"}, {2, "2"}, {3, "2"}, {4, "3"}, {5, "3"}};
  for (const auto& [nodes, quorum] : cases) {
    EXPECT_EQ(
        sentinel_lines(redis_layout(nodes), 0, "sentinel monitor"),
        std::vector<std::string>{std::string("sentinel monitor assay 10.0.0.1 2379 ") + quorum});
  }
  EXPECT_EQ(sentinel_lines(redis_layout(3), 2, "sentinel down-after"),
            std::vector<std::string>{"sentinel down-after-milliseconds assay 30000"});
  EXPECT_EQ(
      sentinel_down_after_command({.down_after_ms = 700}),
      (std::vector<std::string>{"SENTINEL", "SET", "assay", "down-after-milliseconds", "700"}));
  EXPECT_EQ(sentinel_lines(redis_layout(3), 2, "sentinel failover"),
            std::vector<std::string>{"sentinel failover-timeout assay 3000"});
}

// The daemon as it is started, with scripts in place of the two programs.
class RedisDaemon : public testing::Test {
 protected:
  RedisDaemon() {
    std::string pattern = testing::TempDir() + "redis-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the daemon leaves is ours to wait for
  }
  ~RedisDaemon() override {
    ::kill(-group_, SIGKILL);
    group_is_gone();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    fs::remove_all(folder_);
  }

  void start(const std::string& server, const std::string& sentinel) {
    const std::vector<std::string> argv =
        redis_argv(script("server", server), script("sentinel", sentinel));
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    group_ = ::fork();
    if (group_ == 0) {
      ::setsid();
      if (::chdir(folder_.c_str()) == 0) ::execvp(words[0], words.data());
      ::_exit(127);
    }
  }
  // How the process that was started ended; -1: it did not.
  int end() {
    int status = -1;
    const bool ended = eventually([&] { return ::waitpid(group_, &status, WNOHANG) == group_; });
    return ended ? status : -1;
  }
  bool group_is_gone() {
    return eventually([&] {
      while (::waitpid(-group_, nullptr, WNOHANG) > 0) continue;
      return ::kill(-group_, 0) != 0;
    });
  }
  bool exists(const std::string& file) {
    return eventually([&] { return fs::exists(folder_ + "/" + file); });
  }
  std::string words_of(const std::string& file) {
    std::ifstream in(folder_ + "/" + file);
    std::string line;
    std::getline(in, line);
    return line;
  }
  pid_t group() const { return group_; }

 private:
  static bool eventually(const std::function<bool()>& holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= limit) return false;
      ::usleep(5'000);
    }
    return true;
  }
  std::string script(const std::string& name, const std::string& body) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }

  std::string folder_;
  pid_t group_ = -1;
};

constexpr const char* kStays = "echo $$ $* >$0.new; mv $0.new $0.pid; exec sleep 1000";

TEST_F(RedisDaemon, IsTheServerItselfWithTheSentinelInItsGroup) {
  start(kStays, kStays);
  ASSERT_TRUE(exists("server.pid"));
  ASSERT_TRUE(exists("sentinel.pid"));
  EXPECT_EQ(words_of("server.pid"), std::to_string(group()) + " redis.conf");
  EXPECT_THAT(words_of("sentinel.pid"), HasSubstr(" sentinel.conf"));
}

TEST_F(RedisDaemon, AServerThatEndsTakesTheSentinelAlong) {
  start("exit 3", kStays);
  const int status = end();
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_TRUE(group_is_gone());
}

TEST_F(RedisDaemon, ASentinelThatEndsTakesTheServerAlong) {
  start(kStays, "exit 4");
  const int status = end();
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(group_is_gone());
}

}  // namespace
}  // namespace assay
