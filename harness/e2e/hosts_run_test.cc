// Runs on hosts: a lab of SSH nodes on this machine, and everything that can go wrong on the way to
// them. Whatever happens, nothing of a run is left on a node five seconds later, and what was
// recorded can be read.
//
// ASSAY_KILL_MOMENTS sets at how many drawn moments the driver is killed (2), ASSAY_KILL_SEED from
// what they are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "checkers/history/rng.h"
#include "harness/e2e/program.h"
#include "targets/node/agent/child.h"
#include "targets/node/lab.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// A tool's output, with its errors; what it is asked may be gone.
std::string said_by(const std::vector<std::string>& argv) {
  const Ended ended = run({.argv = argv}, seconds(20));
  return ended.out + ended.err;
}

class HostsRun : public testing::Test {
 protected:
  static constexpr int kNodes = 3;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    for (const char* tool : {"/usr/sbin/sshd", "/usr/sbin/nft", "/usr/sbin/ip"})
      if (::access(tool, X_OK) != 0 && ::access((std::string("/s") + (tool + 6)).c_str(), X_OK) != 0)
        GTEST_SKIP() << tool << " is missing";
    name_ = "e" + std::to_string(::getpid());
    auto up = lab_up({.name = name_, .nodes = kNodes});
    if (!up) {
      name_.clear();
      GTEST_SKIP() << "no lab here: " << up.error().message;
    }
    lab_ = std::move(*up);
    runs_ = scratch_.path() + "/runs";
  }
  void TearDown() override {
    if (!name_.empty()) EXPECT_TRUE(lab_down(name_).ok());
  }

  Launch on_lab(std::vector<std::string> more) {
    std::vector<std::string> arguments{"run", "--hosts", lab_.hosts_file(), "--out", runs_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(std::move(arguments));
  }
  // One that lasts until something happens to it.
  Launch long_run(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"--time-limit", "60s", "--nemesis-interval", "1s",
                                       "--fault-duration", "700ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return on_lab(std::move(arguments));
  }

  fs::path run_folder() const {
    std::error_code none;
    for (const auto& run : fs::directory_iterator(runs_, none))
      if (run.is_directory() && !run.is_symlink()) return run.path();
    return {};
  }
  std::string history() const { return text_of_file(run_folder() / "history.jsonl"); }
  bool await_history(const std::string& text) {
    return eventually([&] { return history().find(text) != std::string::npos; }, seconds(30));
  }
  // The load has begun and a fault is in force.
  bool await_fault() { return await_history("\"installed\":true"); }

  // What a run may have left on the nodes; empty: nothing.
  std::string leftovers() const {
    std::string left;
    for (const LabNode& node : lab_.nodes) {
      std::istringstream pids(said_by({"/usr/sbin/ip", "netns", "pids", node.net_namespace}));
      for (std::string pid; pids >> pid;) {
        std::string name = text_of_file("/proc/" + pid + "/comm");
        if (name.empty() || name.starts_with("sshd")) continue;
        left += node.name + ": process " + name;
      }
      const std::string rules = said_by({"/usr/sbin/ip", "netns", "exec", node.net_namespace, "nft", "list", "ruleset"});
      for (const char* word : {"drop", "queue", "reject", "assay"})
        if (rules.find(word) != std::string::npos) left += node.name + ": rules with " + word + "\n";
      std::ifstream mounts("/proc/self/mounts");
      for (std::string line; std::getline(mounts, line);)
        if (line.find(node.folder) != std::string::npos) left += "mount " + line + "\n";
    }
    return left;
  }
  void expect_clean(const std::string& when) {
    std::string left;
    EXPECT_TRUE(eventually([&] { return (left = leftovers()).empty(); }, seconds(5))) << when << "\n" << left;
  }
  void expect_readable() {
    const fs::path path = run_folder() / "history.jsonl";
    std::error_code none;
    if (!fs::exists(path) || fs::file_size(path, none) == 0) return;  // before its first line
    const Ended checked = e2e::run(assay({"check", path, "--checker", "stats"}));
    EXPECT_LT(checked.code, 254) << checked.err;
  }

  // The process that serves the connection of a node's agent.
  pid_t session_of(size_t node) const {
    std::istringstream pids(said_by({"/usr/sbin/ip", "netns", "pids", lab_.nodes[node].net_namespace}));
    for (pid_t pid; pids >> pid;) {
      const std::string line = text_of_file("/proc/" + std::to_string(pid) + "/cmdline");
      if (line.starts_with("sshd: ") && line.find("@notty") != std::string::npos) return pid;
    }
    return -1;
  }
  pid_t process_of(size_t node, const std::string& name) const {
    std::istringstream pids(said_by({"/usr/sbin/ip", "netns", "pids", lab_.nodes[node].net_namespace}));
    for (pid_t pid; pids >> pid;)
      if (text_of_file("/proc/" + std::to_string(pid) + "/comm") == name + "\n") return pid;
    return -1;
  }

  // Something happens to the harness in the middle of a run: it says so, and statements about the
  // store are none.
  void expect_broken(const std::function<void()>& happens, const std::string& words) {
    Program program(long_run());
    ASSERT_TRUE(await_fault()) << program.wait(seconds(1)).err;
    happens();
    const Ended ended = program.wait(seconds(40));
    EXPECT_EQ(ended.code, 255) << ended.out << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(words));
    expect_clean(words);
    expect_readable();
    EXPECT_THAT(history(), HasSubstr("the harness failed"));
  }

  ScratchFolder scratch_;
  std::string name_, runs_;
  Lab lab_;
};

TEST_F(HostsRun, TheSameSpecGivesTheSameKindsOfEvidenceHereAndThere) {
  std::map<std::string, std::set<std::string>> evidence;
  for (const std::string& where : {"hosts", "private"}) {
    std::vector<std::string> arguments{"run", "--workload", "register", "--nemesis", "partition,pause,kill",
                                       "--nodes", "3", "--time-limit", "11s", "--seed", "4", "--json", "--out", runs_};
    if (where == "hosts") arguments.insert(arguments.end(), {"--hosts", lab_.hosts_file()});
    const Ended ended = run(assay(arguments), seconds(120));
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
    const Value said = ended.json();
    for (const char* fault : {"partition", "pause", "kill"}) {
      for (const char* seen : {"installed", "bit", "healed"})
        if (said["faults"][fault].int_or(seen, 0) > 0) evidence[where].insert(std::string(fault) + " " + seen);
    }
    evidence[where].insert(std::string(said.text_or("verdict", "")));
  }
  EXPECT_EQ(evidence["hosts"], evidence["private"]);
  EXPECT_GE(evidence["hosts"].size(), 7u);
  expect_clean("after a run");
  for (const LabNode& node : lab_.nodes) EXPECT_TRUE(fs::is_empty(node.folder + "/cache/runs"));
}

TEST_F(HostsRun, AWrongStoreIsConvictedThere) {
  const Ended ended = run(on_lab({"--target", "naive-local-reads", "--nemesis", "partition", "--time-limit", "10s",
                                  "--fail-fast", "--seed", "1"}),
                          seconds(120));
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  const fs::path folder = run_folder();
  for (const LabNode& node : lab_.nodes) {
    EXPECT_TRUE(fs::exists(folder / "nodes" / node.name / "assay-raft.log"));
    EXPECT_TRUE(fs::exists(folder / "nodes" / node.name / "data")) << "the data of a store that is not valid";
    EXPECT_TRUE(fs::is_empty(node.folder + "/cache/runs"));
  }
}

TEST_F(HostsRun, ANetworkNamespaceIsReachedByACommandToo) {
  std::ofstream hosts(scratch_.path() + "/via.json");
  hosts << R"({"hosts":[)";
  for (int i = 0; i < kNodes; ++i) {
    const LabNode& node = lab_.nodes[i];
    hosts << (i ? "," : "") << R"({"address":")" << node.address << R"(","cache":")" << node.folder
          << R"(/cache","via":["ip","netns","exec",")" << node.net_namespace << R"("]})";
  }
  hosts << "]}";
  hosts.close();
  const Ended ended = run(assay({"run", "--hosts", scratch_.path() + "/via.json", "--time-limit", "12s", "--seed", "2",
                                 "--out", runs_}),
                          seconds(120));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  expect_clean("after a run");
}

TEST_F(HostsRun, AKilledDriverLeavesNothingOnAnyNode) {
  const char* count = std::getenv("ASSAY_KILL_MOMENTS");
  const char* seed = std::getenv("ASSAY_KILL_SEED");
  Rng rng(seed ? std::strtoull(seed, nullptr, 10) : 1);
  for (int i = count ? std::atoi(count) : 2; i > 0; --i) {
    fs::remove_all(runs_);
    Program program(long_run({"--nemesis", "partition,pause,kill,delay"}));
    const milliseconds moment(rng.between(0, 8000));
    std::this_thread::sleep_for(moment);  // the moment itself
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait(seconds(10)).code, 1000 + SIGKILL);
    expect_clean("killed after " + std::to_string(moment.count()) + " ms");
    expect_readable();
  }
}

TEST_F(HostsRun, AConnectionThatIsCutDuringAFaultEndsTheRun) {
  expect_broken([&] { ::kill(session_of(0), SIGKILL); }, "the agent of n1 is lost");
}

TEST_F(HostsRun, AStoppedSshdEndsTheRun) {
  pid_t session = -1;
  expect_broken([&] { ::kill(session = session_of(1), SIGSTOP); }, "the agent of n2 is lost");
  ::kill(session, SIGKILL);
}

TEST_F(HostsRun, AHostThatFallsSilentEndsTheRun) {
  const std::string& where = lab_.nodes[2].net_namespace;
  expect_broken(
      [&] {
        for (const std::string& rule :
             {std::string("add table inet silence"),
              std::string("add chain inet silence in { type filter hook input priority 0; }"),
              "add rule inet silence in ip saddr " + lab_.driver_address() + " counter"})
          (void)said_by({"/usr/sbin/ip", "netns", "exec", where, "nft", rule});
        (void)said_by({"/usr/sbin/ip", "-n", where, "link", "set", "eth0", "down"});
      },
      "the agent of n3 is lost");
}

TEST_F(HostsRun, AKilledAgentEndsTheRun) {
  expect_broken([&] { ::kill(process_of(0, "assay-agent"), SIGKILL); }, "the agent of n1 is lost");
}

TEST_F(HostsRun, ARebootedNodeEndsTheRunAndServesTheNext) {
  expect_broken([&] { EXPECT_TRUE(reboot_lab_node(lab_, 1).ok()); }, "the agent of n2 is lost");
  fs::remove_all(runs_);
  const Ended ended = run(on_lab({"--nemesis", "none", "--time-limit", "2s"}), seconds(60));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(HostsRun, AKilledListenerDoesNotDisturbARunUnderWay) {
  Program program(on_lab({"--nemesis", "pause", "--time-limit", "12s"}));
  ASSERT_TRUE(await_fault());
  ::kill(std::atoi(text_of_file(lab_.nodes[0].folder + "/sshd.pid").c_str()), SIGTERM);
  const Ended ended = program.wait(seconds(90));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(HostsRun, TwoInterruptsHealAndSave) {
  Program program(long_run());
  ASSERT_TRUE(await_fault());
  program.signal(SIGINT);
  std::this_thread::sleep_for(milliseconds(400));  // two, not one
  program.signal(SIGINT);
  const Ended ended = program.wait(seconds(30));
  EXPECT_EQ(ended.code, 130) << ended.out << ended.err;
  expect_clean("interrupted");
  expect_readable();
  EXPECT_THAT(history(), HasSubstr("interrupted"));
}

TEST_F(HostsRun, ADeadlineHealsAndSaves) {
  const Ended ended = run(long_run({"--deadline", "8s"}), seconds(60));
  EXPECT_EQ(ended.code, 2) << ended.out << ended.err;
  expect_clean("past the deadline");
  EXPECT_THAT(history(), HasSubstr("deadline"));
}

TEST_F(HostsRun, AFullDiskOfTheRunFolderHealsAndFails) {
  ::mkdir(runs_.c_str(), 0755);
  if (::mount("none", runs_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "cannot mount a small disk here";
  Program program(long_run({"--rate", "2000"}));
  const Ended ended = program.wait(seconds(60));
  EXPECT_EQ(ended.code, 255) << ended.out << ended.err;
  expect_clean("no room for the history");
  EXPECT_EQ(::umount(runs_.c_str()), 0);
}

TEST_F(HostsRun, AHostThatCannotCutEndsTheRunBeforeItBegins) {
  const std::string hosts = scratch_.path() + "/hosts.json", cache = scratch_.path() + "/cache";
  fs::create_directory(cache);
  fs::permissions(scratch_.path(), fs::perms(0755));
  fs::permissions(cache, fs::perms(0777));
  std::ofstream(hosts) << R"({"hosts":[{"address":")" << lab_.nodes[0].address << R"(","cache":")" << cache
                       << R"(","via":["ip","netns","exec",")" << lab_.nodes[0].net_namespace
                       << R"(","setpriv","--reuid=65534","--regid=65534","--clear-groups"]},{"address":")"
                       << lab_.nodes[1].address << R"(","cache":")" << lab_.nodes[1].folder
                       << R"(/cache","via":["ip","netns","exec",")" << lab_.nodes[1].net_namespace << R"("]}]})";
  const auto run_with = [&](const std::string& faults) {
    return run(assay({"run", "--hosts", hosts, "--nemesis", faults, "--time-limit", "2s", "--out", runs_}), seconds(60));
  };
  const Ended ended = run_with("partition");
  EXPECT_EQ(ended.code, 255) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the nemesis \"partition\" is not possible on n1"));
  EXPECT_EQ(run_with("none").code, 0) << "without it, all is well";
}

}  // namespace
}  // namespace assay::e2e
