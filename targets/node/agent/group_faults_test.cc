// Faults by control group bite, as /proc and the groups' own files show, and leave nothing behind.
#include <signal.h>

#include "targets/node/agent/agent_under_test.h"
#include "targets/node/agent/control_group.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

class GroupFaults : public testing::TestWithParam<const char*> {
 protected:
  // Skips where there is no such group for this user.
  static bool possible(const AgentUnderTest& agent, const std::string& kind) {
    return !agent.hello()["absent"].contains(kind);
  }
  static std::string reason(const AgentUnderTest& agent, const std::string& kind) {
    return agent.hello()["absent"][kind].get<std::string>();
  }
  static json begin(AgentUnderTest& agent, const std::string& kind,
                    json settings = json::object()) {
    return agent.ask(
        {{"do", "fault"}, {"kind", kind}, {"daemon", "d"}, {"settings", std::move(settings)}});
  }
  static json end(AgentUnderTest& agent, const std::string& kind) {
    return agent.ask({{"do", "unfault"}, {"kind", kind}});
  }
  // Whether a group of this run is there, in any hierarchy: nothing is mounted elsewhere in tests.
  static bool any_group(const AgentUnderTest& agent) {
    std::error_code error;
    const std::string name = "assay-" + agent.run_id() + "-n1";
    using Walk = std::filesystem::recursive_directory_iterator;
    for (Walk it("/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied,
                 error),
         last;
         it != last; it.increment(error))
      if (it->path().filename() == name) return true;
    return false;
  }
  static int64_t cpu_ms(pid_t process) { return usage_of(process).cpu_ms; }
  // It was seen to use a processor from now on.
  static bool runs_on(pid_t process) {
    const int64_t before = cpu_ms(process);
    return eventually([&] { return cpu_ms(process) > before; });
  }
  // Two busy processes, the second in a session of its own; the first one's pid.
  pid_t start_busy(AgentUnderTest& agent) {
    const pid_t daemon = agent.start_shell("d", "setsid sh -c 'echo $$ >" + folder.path("far") +
                                                    "; while :; do :; done' & while :; do :; done");
    EXPECT_TRUE(eventually([&] { return folder.read("far").ends_with("\n"); }));
    return daemon;
  }
  pid_t far() const { return std::stoi(folder.read("far")); }

  ScratchFolder folder;
};

TEST_F(GroupFaults, FreezeStopsABusyTreeUntilItsEnd) {
  AgentUnderTest agent({.args = {"--no-beat"}});
  if (!possible(agent, "freeze")) GTEST_SKIP() << reason(agent, "freeze");
  const pid_t daemon = start_busy(agent);
  ASSERT_TRUE(runs_on(daemon) && runs_on(far()));
  json reply = begin(agent, "freeze");
  ASSERT_EQ(reply["bit"], true) << reply;
  // A third process, which nothing has frozen, meanwhile gets far.
  const pid_t other = agent.start_shell("other", "while :; do :; done");
  const int64_t before = cpu_ms(daemon) + cpu_ms(far());
  for (int steps = 0; steps < 5; ++steps) ASSERT_TRUE(runs_on(other));
  EXPECT_EQ(cpu_ms(daemon) + cpu_ms(far()), before);
  ::kill(daemon, SIGCONT);  // does not wake what is frozen
  for (int steps = 0; steps < 5; ++steps) ASSERT_TRUE(runs_on(other));
  EXPECT_EQ(cpu_ms(daemon) + cpu_ms(far()), before);
  reply = begin(agent, "freeze");  // once more changes nothing
  EXPECT_EQ(reply["bit"], true) << reply;
  reply = end(agent, "freeze");
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], true) << reply;
  EXPECT_TRUE(runs_on(daemon) && runs_on(far()));
  reply = end(agent, "freeze");
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], false) << reply;
}

TEST_F(GroupFaults, FreezeThatOthersHaveLiftedDidNotHold) {
  AgentUnderTest agent({.args = {"--no-beat"}});
  if (!possible(agent, "freeze")) GTEST_SKIP() << reason(agent, "freeze");
  const pid_t daemon = start_busy(agent);
  ASSERT_EQ(begin(agent, "freeze")["bit"], true);
  ControlGroup::thaw(agent.run_id(), "n1");
  ASSERT_TRUE(runs_on(daemon));
  const json reply = end(agent, "freeze");
  EXPECT_EQ(reply["bit"], false) << reply;
  EXPECT_EQ(reply["evidence"], "it was thawed by others");
}

TEST_F(GroupFaults, StarveLeavesABusyTreeItsShareAndNoMore) {
  AgentUnderTest agent({.args = {"--no-beat"}});
  if (!possible(agent, "starve")) GTEST_SKIP() << reason(agent, "starve");
  const pid_t daemon = start_busy(agent);
  json reply = begin(agent, "starve", {{"quota_us", "20000"}});
  ASSERT_EQ(reply["bit"], true) << reply;
  // Both together get 20 ms of each second: 20 times as much passes for one that is free, even where
  // it shares a processor with many.
  const pid_t other = agent.start_shell("other", "while :; do :; done");
  const int64_t before = cpu_ms(daemon) + cpu_ms(far()), others = cpu_ms(other);
  ASSERT_TRUE(eventually([&] { return cpu_ms(other) - others >= 500; }, std::chrono::seconds(30)));
  EXPECT_LT(cpu_ms(daemon) + cpu_ms(far()) - before, 250);
  reply = end(agent, "starve");
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], true) << reply;
  EXPECT_TRUE(eventually([&] { return cpu_ms(daemon) + cpu_ms(far()) - before >= 500; },
                         std::chrono::seconds(30)));
}

TEST_F(GroupFaults, AnIdleDaemonIsNotSaidToStarve) {
  AgentUnderTest agent({.args = {"--no-beat"}});
  if (!possible(agent, "starve")) GTEST_SKIP() << reason(agent, "starve");
  agent.start_shell("d", "exec sleep 1000");
  const json reply = begin(agent, "starve");
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], false) << reply;
}

TEST_F(GroupFaults, MemoryKillsWhoNeedsMore) {
  AgentUnderTest agent({.args = {"--no-beat"}});
  if (!possible(agent, "memory-limit")) GTEST_SKIP() << reason(agent, "memory-limit");
  const std::string greedy =
      "while [ ! -e " + folder.path("go") +
      " ]; do sleep 0.01; done; x=0123456789abcdef; while :; do x=$x$x; done";
  agent.start_shell("d", greedy);
  const int64_t id = agent.send({{"do", "fault"},
                                 {"kind", "memory-limit"},
                                 {"daemon", "d"},
                                 {"settings", {{"limit_bytes", "4194304"}}}});
  folder.write("go", "");
  json reply = agent.reply_to(id);
  EXPECT_EQ(reply["bit"], true) << reply;
  const json exit = agent.event("exit");
  EXPECT_EQ(exit["signal"], SIGKILL);
  EXPECT_EQ(exit["asked"], false);
  reply = end(agent, "memory-limit");
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], true) << reply;
}

TEST_P(GroupFaults, WhatIsSaidToBeInstalledAndIsNotDoesNotBite) {
  const std::string kind = GetParam();
  AgentUnderTest agent({.args = {"--no-beat"}, .env = {{kSkipVariable, "no-" + kind}}});
  if (!possible(agent, kind)) GTEST_SKIP() << reason(agent, kind);
  const pid_t daemon = start_busy(agent);
  const json reply = begin(agent, kind);
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], false) << reply;
  EXPECT_TRUE(runs_on(daemon));
  EXPECT_EQ(end(agent, kind)["bit"], false);
}

TEST_P(GroupFaults, IsEndedWithTheAgentAndLeavesNoGroup) {
  const std::string kind = GetParam();
  AgentUnderTest agent;
  if (!possible(agent, kind)) GTEST_SKIP() << reason(agent, kind);
  EXPECT_FALSE(any_group(agent));
  const pid_t daemon = start_busy(agent);
  ASSERT_EQ(begin(agent, kind)["installed"], true);
  ASSERT_TRUE(any_group(agent));
  const pid_t distant = far();
  agent.end_input();
  EXPECT_EQ(agent.wait(), 3);
  EXPECT_FALSE(process_runs(daemon));
  EXPECT_FALSE(process_runs(distant));
  EXPECT_FALSE(any_group(agent));
}

TEST_P(GroupFaults, WhatAKilledAgentHasLeftIsRemovedByTheNext) {
  const std::string kind = GetParam();
  AgentUnderTest earlier;
  if (!possible(earlier, kind)) GTEST_SKIP() << reason(earlier, kind);
  start_busy(earlier);
  ASSERT_EQ(begin(earlier, kind)["installed"], true);
  const pid_t distant = far();
  earlier.kill_it();
  earlier.wait();
  ASSERT_TRUE(any_group(earlier));
  AgentUnderTest later({.env = {{kRunVariable, earlier.run_id()}}});
  EXPECT_FALSE(process_runs(distant));
  EXPECT_FALSE(any_group(earlier));
  EXPECT_FALSE(later.hello()["leftovers"]["faults"].empty()) << later.hello();
}

INSTANTIATE_TEST_SUITE_P(Kinds, GroupFaults, testing::Values("freeze", "starve", "memory-limit"));

}  // namespace
}  // namespace assay::agent
