// Labs on this machine, with the system's own sshd and ssh. For root.
#include "targets/node/lab.h"

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "targets/node/agent/child.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/test_support.h"
#include "targets/node/hosts.h"
#include "targets/node/net_namespace.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class LabTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto means = lab_means(); !means) GTEST_SKIP() << means.error().message;
    if (!agent::namespaces_work()) GTEST_SKIP() << "no namespaces here";
  }
  void TearDown() override {
    for (const std::string& name : names_) (void)lab_down(name);
  }

  std::string new_name() {
    static int count = 0;
    names_.push_back("t" + std::to_string(getpid()) + "-" + std::to_string(++count));
    return names_.back();
  }
  Lab up(int nodes) {
    auto lab = lab_up({.name = new_name(), .nodes = nodes});
    EXPECT_TRUE(lab.ok()) << lab.error().message;
    return lab ? *lab : Lab{};
  }

  std::vector<std::string> names_;
};

Result<agent::ToolOutput> ssh(const Lab& lab, size_t node, std::vector<std::string> command) {
  return agent::run_tool(lab_ssh(lab, node, std::move(command)), {}, 20'000);
}

// A process on a node that outlives the command that started it; its pid.
pid_t start_daemon(const Lab& lab, size_t node) {
  const auto ran = ssh(lab, node, {"setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!"});
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  return ran ? atoi(ran->out.c_str()) : -1;
}

// What there is of a lab on this machine, as others see it.
std::vector<std::string> traces_of(const std::string& name) {
  std::vector<std::string> traces;
  for (const char* folder : {"/run/netns", "/sys/class/net", "/var/lib/assay-lab"}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string file = entry.path().filename();
      if (file == name || file == "al-" + name || (file + ".").starts_with("assay." + name + "."))
        traces.push_back(entry.path());
    }
  }
  for (pid_t process : agent::all_processes()) {
    const std::string command = agent::read_whole("/proc/" + std::to_string(process) + "/cmdline");
    if (command.find("/var/lib/assay-lab/" + name + "/") != std::string::npos) traces.push_back(command);
  }
  return traces;
}

const std::vector<std::string> kNothing;

TEST(Lab, ANameIsShortAndPlain) {
  for (const char* name : {"", "Lab", "a.b", "../x", "-a", "more-than-twelve"}) {
    const auto lab = find_lab(name);
    ASSERT_FALSE(lab.ok()) << name;
    EXPECT_EQ(lab.error().fault, Fault::kInput) << name;
  }
}

TEST_F(LabTest, EveryNodeAnswersSshAndSeesTheOthers) {
  const Lab lab = up(3);
  ASSERT_EQ(lab.nodes.size(), 3u);
  for (size_t i = 0; i < lab.nodes.size(); ++i) {
    const auto said = ssh(lab, i, {"ip -br -4 addr show dev eth0; tr '\\0' '\\n' </proc/$$/environ"});
    ASSERT_TRUE(said.ok()) << said.error().message;
    EXPECT_NE(said->out.find(lab.nodes[i].address + "/24"), std::string::npos) << said->out;
    EXPECT_NE(said->out.find("SHLVL=1\n"), std::string::npos);
  }
  // Where the others' servers can be reached: sshd's, for one.
  const std::string reach = "exec 3<>/dev/tcp/" + lab.nodes[1].address + "/22; read -r -u 3 line; echo $line";
  const auto met = ssh(lab, 0, {"bash -c '" + reach + "'"});
  ASSERT_TRUE(met.ok()) << met.error().message;
  EXPECT_TRUE(met->out.starts_with("SSH-2.0")) << met->out;
  for (const LabNodeStatus& status : lab_status(lab)) EXPECT_TRUE(status.up()) << status.why_not;
}

TEST_F(LabTest, ItsHostsFileIsWhatARunReads) {
  const Lab lab = up(2);
  const auto hosts = read_hosts(lab.hosts_file());
  ASSERT_TRUE(hosts.ok()) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const Host& host = (*hosts)[i];
    EXPECT_EQ(host.name, lab.nodes[i].name);
    EXPECT_EQ(host.address, lab.nodes[i].address);
    EXPECT_EQ(host.keys, std::vector<std::string>{lab.folder + "/id_ed25519"});
    EXPECT_EQ(host.cache, lab.nodes[i].folder + "/cache");
    EXPECT_TRUE(fs::is_directory(host.cache));
  }
}

TEST_F(LabTest, DownLeavesNothing) {
  const Lab lab = up(2);
  EXPECT_NE(traces_of(lab.name), kNothing);
  const pid_t daemon = start_daemon(lab, 1);
  ASSERT_TRUE(agent::process_runs(daemon));
  const auto down = lab_down(lab.name);
  ASSERT_TRUE(down.ok()) << down.error().message;
  EXPECT_FALSE(agent::process_runs(daemon));
  EXPECT_EQ(traces_of(lab.name), kNothing);
  const auto again = lab_down(lab.name);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, "");
  EXPECT_FALSE(find_lab(lab.name).ok());
}

TEST_F(LabTest, DownRemovesWhatIsLeftOfADamagedLab) {
  const std::vector<std::pair<const char*, std::function<void(const Lab&)>>> damages = {
      {"its servers were killed",
       [](const Lab& lab) {
         for (const LabNodeStatus& status : lab_status(lab)) kill(status.sshd, SIGKILL);
       }},
      {"its files are lost", [](const Lab& lab) { fs::remove_all(lab.folder); }},
      {"its state is cut off", [](const Lab& lab) { fs::resize_file(lab.folder + "/lab.json", 5); }},
      {"its namespaces lost their names",
       [](const Lab& lab) {
         for (const LabNode& node : lab.nodes) (void)remove_named_namespace(node.net_namespace);
         (void)remove_named_namespace("assay." + lab.name);
       }},
      {"a name waits for its namespace",
       [](const Lab& lab) { std::ofstream(named_namespace_path("assay." + lab.name + ".n9")); }},
      {"a process is stopped",
       [](const Lab& lab) { kill(start_daemon(lab, 0), SIGSTOP); }},
  };
  for (const auto& [what, damage] : damages) {
    SCOPED_TRACE(what);
    const Lab lab = up(2);
    ASSERT_EQ(lab.nodes.size(), 2u);
    const pid_t daemon = start_daemon(lab, 1);
    damage(lab);
    const auto down = lab_down(lab.name);
    ASSERT_TRUE(down.ok()) << down.error().message;
    EXPECT_FALSE(agent::process_runs(daemon));
    EXPECT_EQ(traces_of(lab.name), kNothing);
  }
}

// Of the first kind of cgroups: there a frozen process does not even die.
TEST_F(LabTest, DownKillsWhatIsFrozen) {
  const Lab lab = up(1);
  const std::string group = "/sys/fs/cgroup/freezer/assay-" + lab.name;
  if (!fs::exists("/sys/fs/cgroup/freezer/tasks") || !fs::create_directory(group))
    GTEST_SKIP() << "no freezer here";
  const pid_t daemon = start_daemon(lab, 0);
  std::ofstream(group + "/cgroup.procs") << daemon;
  std::ofstream(group + "/freezer.state") << "FROZEN";
  ASSERT_TRUE(agent::eventually([&] { return agent::read_whole(group + "/freezer.state") == "FROZEN\n"; }));
  const auto down = lab_down(lab.name);
  EXPECT_TRUE(down.ok()) << down.error().message;
  EXPECT_FALSE(agent::process_runs(daemon));
  EXPECT_EQ(traces_of(lab.name), kNothing);
  std::ofstream(group + "/freezer.state") << "THAWED";
  EXPECT_TRUE(agent::eventually([&] { return rmdir(group.c_str()) == 0; }));
}

TEST_F(LabTest, WhatIsMountedInItsFolderIsLetGoNotRemoved) {
  const Lab lab = up(1);
  ASSERT_EQ(lab.nodes.size(), 1u);
  agent::ScratchFolder precious;
  precious.write("file", "kept");
  const std::string point = lab.nodes[0].folder + "/cache/mounted here";
  fs::create_directory(point);
  if (mount(precious.path().c_str(), point.c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "no mounts here";
  ASSERT_TRUE(lab_down(lab.name).ok());
  EXPECT_EQ(precious.read("file"), "kept");
  EXPECT_EQ(traces_of(lab.name), kNothing);
  EXPECT_EQ(agent::read_whole("/proc/self/mountinfo").find(lab.folder), std::string::npos);
}

TEST_F(LabTest, TwoLabsAreStrangers) {
  const Lab one = up(1), other = up(1);
  EXPECT_NE(one.network, other.network);
  ASSERT_TRUE(lab_down(one.name).ok());
  const auto statuses = lab_status(other);
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_TRUE(statuses[0].up()) << statuses[0].why_not;
}

TEST_F(LabTest, ItIsBroughtUpOnce) {
  const Lab lab = up(1);
  const auto second = lab_up({.name = lab.name});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("is up already"), std::string::npos) << second.error().message;
  EXPECT_TRUE(lab_status(lab)[0].up());
}

TEST_F(LabTest, AnInterruptedUpLeavesNothingAtAnyStep) {
  for (int steps = 0;; ++steps) {
    const std::string name = new_name();
    int left = steps;
    const auto lab = lab_up({.name = name, .nodes = 1, .interrupted = [&] { return left-- == 0; }});
    if (lab) break;
    EXPECT_EQ(traces_of(name), kNothing) << "after " << steps << " steps: " << lab.error().message;
    ASSERT_LT(steps, 50);
  }
}

TEST_F(LabTest, ARebootedNodeComesBackAsItWas) {
  const Lab lab = up(2);
  ASSERT_EQ(lab.nodes.size(), 2u);
  const pid_t lost = start_daemon(lab, 0), kept = start_daemon(lab, 1);
  std::ofstream(lab.nodes[0].folder + "/cache/file") << "kept";
  const auto rebooted = reboot_lab_node(lab, 0);
  ASSERT_TRUE(rebooted.ok()) << rebooted.error().message;
  EXPECT_FALSE(agent::process_runs(lost));
  EXPECT_TRUE(agent::process_runs(kept));
  EXPECT_EQ(agent::read_whole(lab.nodes[0].folder + "/cache/file"), "kept");
  const auto after = net_namespace_of(static_cast<pid_t>(lab_status(lab)[0].sshd));
  EXPECT_TRUE(after && after == net_namespace_at(named_namespace_path(lab.nodes[0].net_namespace)));
  for (const LabNodeStatus& status : lab_status(lab)) EXPECT_TRUE(status.up()) << status.why_not;
}

TEST_F(LabTest, StatusSaysWhichNodeIsDown) {
  const Lab lab = up(2);
  ASSERT_EQ(lab.nodes.size(), 2u);
  ASSERT_EQ(kill(lab_status(lab)[1].sshd, SIGKILL), 0);
  ASSERT_TRUE(agent::eventually([&] { return lab_status(lab)[1].sshd == 0; }));
  const auto statuses = lab_status(lab);
  EXPECT_TRUE(statuses[0].up());
  EXPECT_FALSE(statuses[1].up());
  EXPECT_NE(statuses[1].why_not, "");
}

}  // namespace
}  // namespace assay
