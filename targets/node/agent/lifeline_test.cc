// However an agent ends, nothing that it started or installed is left.
#include <signal.h>

#include "targets/node/agent/agent_under_test.h"
#include "targets/node/agent/firewall.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

// A daemon with a child in its group, and one that has left for a session of its own.
struct Family {
  explicit Family(AgentUnderTest& agent) {
    leader = agent.start_shell("d", "sleep 1000 & echo $! >" + folder.path("child") +
                                        "; setsid sleep 1000 & echo $! >" + folder.path("loner") +
                                        "; touch " + folder.path("ready") + "; wait");
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder.path("ready")); }));
    child = std::stoi(folder.read("child"));
    loner = std::stoi(folder.read("loner"));
  }
  bool all_gone() const {
    return !process_runs(leader) && !process_runs(child) && !process_runs(loner);
  }

  ScratchFolder folder;
  pid_t leader, child, loner;
};

TEST(Lifeline, EndOfInputStopsEverythingAtOnceAndSaysWhy) {
  AgentUnderTest agent;
  Family family(agent);
  agent.end_input();
  const json last = agent.event("self-heal");
  EXPECT_EQ(last["why"], "its input ended");
  EXPECT_EQ(last["stopped"], 1);
  EXPECT_EQ(agent.wait(), 3);
  EXPECT_TRUE(family.all_gone());
  EXPECT_NE(agent.complaints().find("its input ended"), std::string::npos);
}

TEST(Lifeline, FiveSecondsWithoutInputDoTheSame) {
  ScratchFolder folder;
  AgentUnderTest agent({.args = {"--log", folder.path("log")}});
  Family family(agent);
  agent.ask({{"do", "pause"}, {"name", "d"}});
  EXPECT_EQ(agent.event("self-heal")["why"], "no input for 5 s");
  EXPECT_EQ(agent.wait(), 3);
  EXPECT_TRUE(family.all_gone());
  EXPECT_NE(folder.read("log").find("no input for 5 s"), std::string::npos);
}

TEST(Lifeline, BeatsKeepItAliveAndNoBeatNeedsNone) {
  AgentUnderTest fed, free({.args = {"--no-beat"}}), starved;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(6'500)) {
    fed.ask({{"do", "beat"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_EQ(fed.ask({{"do", "beat"}})["ok"], true);
  EXPECT_EQ(free.ask({{"do", "beat"}})["ok"], true);
  EXPECT_EQ(starved.wait(), 3);
}

// After a suspension of the machine, what the driver sent meanwhile counts.
TEST(Lifeline, AStoppedAgentReadsBeforeItJudges) {
  AgentUnderTest agent;
  kill(agent.pid(), SIGSTOP);
  for (int i = 0; i < 6; ++i) {
    agent.send({{"do", "beat"}});
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  kill(agent.pid(), SIGCONT);
  EXPECT_EQ(agent.ask({{"do", "beat"}})["ok"], true);
}

TEST(Lifeline, ASignalEndsItOrderly) {
  for (int number : {SIGTERM, SIGINT, SIGHUP}) {
    AgentUnderTest agent;
    Family family(agent);
    kill(agent.pid(), number);
    EXPECT_EQ(agent.wait(), 3);
    EXPECT_TRUE(family.all_gone());
  }
}

TEST(Lifeline, ADriverThatIsGoneDoesNotKillItBySigpipe) {
  ScratchFolder folder;
  pid_t pid, daemon;
  {
    AgentUnderTest agent({.args = {"--log", folder.path("log")}});
    daemon = agent.start_shell("d", "sleep 1000");
    pid = agent.pid();
    agent.close_output();
    agent.send({{"do", "beat"}});
    EXPECT_EQ(agent.wait(), 3);
  }
  EXPECT_FALSE(process_runs(pid));
  EXPECT_FALSE(process_runs(daemon));
  EXPECT_NE(folder.read("log").find("stopped 1 daemons"), std::string::npos);
}

TEST(Lifeline, SigkillOfTheAgentTakesItsDaemonsAlong) {
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "exec sleep 1000");
  agent.kill_it();
  EXPECT_EQ(agent.wait(), 256 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return !process_runs(daemon); }));
}

TEST(Lifeline, WhatIsMarkedCanBeFoundAndKilledWithoutTheAgent) {
  AgentUnderTest agent;
  Family family(agent);
  agent.kill_it();
  EXPECT_EQ(agent.wait(), 256 + SIGKILL);
  EXPECT_GE(kill_marked(agent.run_id(), "n1"), 2);
  EXPECT_TRUE(family.all_gone());
}

TEST(Lifeline, AStartingAgentRemovesWhatAnEarlierOneLeft) {
  AgentUnderTest earlier;
  Family family(earlier);
  earlier.kill_it();
  earlier.wait();
  ASSERT_TRUE(process_runs(family.loner));
  AgentUnderTest other_node({.env = {{kRunVariable, earlier.run_id()}}, .node = "n2"});
  EXPECT_EQ(other_node.hello()["leftovers"]["processes"], 0);
  ASSERT_TRUE(process_runs(family.loner));
  AgentUnderTest later({.env = {{kRunVariable, earlier.run_id()}}});
  EXPECT_GE(later.hello()["leftovers"]["processes"], 1);
  EXPECT_TRUE(family.all_gone());
}

TEST(Lifeline, WhatWasPromisedToBeUndoneIsUndoneBeforeTheDaemonsEnd) {
  ScratchFolder folder;
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "exec sleep 1000");
  const std::string alive = "kill -0 " + std::to_string(daemon) + " && touch ";
  const auto promise = [&](const std::string& name, const std::string& script) {
    agent.ask({{"do", "remedy"},
               {"name", name},
               {"argv", {"sh", "-c", script}},
               {"cwd", folder.path("")}});
  };
  promise("kept", alive + "kept");
  promise("replaced", "touch before");
  promise("replaced", alive + "after");
  promise("forgotten", "touch forgotten");
  promise("failing", "exit 3");
  promise("third", "echo >>tries; test $(wc -l <tries) = 3");
  promise("hanging", "sleep 1000");
  agent.ask({{"do", "forget"}, {"name", "forgotten"}});
  agent.ask({{"do", "pause"}, {"name", "d"}});
  agent.end_input();
  const json last = agent.event("self-heal");
  EXPECT_EQ(last["remedies"], (json{{"kept", ""},
                                    {"replaced", ""},
                                    {"failing", "exited with 3"},
                                    {"third", ""},
                                    {"hanging", "did not end in time"}}));
  EXPECT_EQ(agent.wait(), 3);
  EXPECT_FALSE(process_runs(daemon));
  for (const char* file : {"kept", "after"})
    EXPECT_TRUE(std::filesystem::exists(folder.path(file)));
  for (const char* file : {"before", "forgotten"})
    EXPECT_FALSE(std::filesystem::exists(folder.path(file)));
}

}  // namespace
}  // namespace assay::agent
