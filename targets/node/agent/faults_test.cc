// Faults are verified: they were seen to work, and what does not work is not reported as if it did.
#include <signal.h>

#include "targets/link_fault.h"
#include "targets/node/agent/agent_under_test.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

json on(const char* word) { return {{"do", word}, {"name", "d"}}; }

std::set<char> states_of(pid_t group) {
  std::set<char> states;
  for (const ThreadState& thread : threads_of(members_of_group(group))) states.insert(thread.state);
  return states;
}

TEST(Kill, TheWholeGroupIsGoneWhenTheReplyComes) {
  AgentUnderTest agent;
  ScratchFolder folder;
  const pid_t daemon =
      agent.start_shell("d", "sleep 1000 & echo $! >" + folder.path("child") + "; wait");
  ASSERT_TRUE(eventually([&] { return folder.read("child").ends_with("\n"); }));
  const json reply = agent.ask(on("kill"));
  EXPECT_FALSE(process_runs(daemon));
  EXPECT_FALSE(process_runs(std::stoi(folder.read("child"))));
  EXPECT_EQ(reply["running"], true);
  EXPECT_EQ(reply["signal"], SIGKILL);
  const json exit = agent.event("exit");
  EXPECT_EQ(exit["asked"], true);
  EXPECT_EQ(exit["signal"], SIGKILL);
}

// kill takes the process group; what has a session of its own lives on.
TEST(KillTree, TakesDescendantsInSessionsOfTheirOwn) {
  AgentUnderTest agent;
  ScratchFolder folder;
  const auto born = [&](const char* file) {
    return eventually([&] { return folder.read(file).ends_with("\n"); });
  };
  const std::string script = "setsid sh -c 'echo $$ >" + folder.path("far") +
                             "; sleep 1000' & sh -c 'echo $$ >" + folder.path("near") +
                             "; sleep 1000'";
  agent.start_shell("d", script);
  ASSERT_TRUE(born("far") && born("near"));
  agent.ask(on("kill"));
  const pid_t far = std::stoi(folder.read("far"));
  EXPECT_TRUE(process_runs(far));
  std::filesystem::remove(folder.path("far"));
  std::filesystem::remove(folder.path("near"));
  agent.start_shell("d", script);
  ASSERT_TRUE(born("far") && born("near"));
  const json reply = agent.ask({{"do", "fault"}, {"kind", "kill-tree"}, {"daemon", "d"}});
  EXPECT_EQ(reply["bit"], true) << reply;
  for (const char* file : {"far", "near"}) EXPECT_FALSE(process_runs(std::stoi(folder.read(file))));
  EXPECT_FALSE(process_runs(far));  // of the daemon's earlier life
  EXPECT_EQ(agent.event("exit")["asked"], true);
  EXPECT_EQ(agent.event("exit")["asked"], true);
  const json again = agent.ask({{"do", "fault"}, {"kind", "kill-tree"}, {"daemon", "d"}});
  EXPECT_EQ(again["bit"], false) << again;
}

TEST(NodeFault, UnknownAndAbsentOnesAreRefusedWithTheReason) {
  AgentUnderTest agent({.env = {{kSkipVariable, "kill-tree"}}});
  EXPECT_EQ(agent.hello()["absent"]["kill-tree"], "left out for a test");
  json request = {{"do", "fault"}, {"kind", "kill-tree"}, {"daemon", "d"}};
  EXPECT_EQ(agent.ask(request)["error"], "kill-tree is not possible here: left out for a test");
  request["kind"] = "gremlins";
  EXPECT_EQ(agent.ask(request)["error"], "unknown fault \"gremlins\"");
}

TEST(Kill, IsHarmlessWhenNothingRuns) {
  AgentUnderTest agent;
  for (const char* word : {"kill", "stop", "pause", "resume"}) {
    EXPECT_EQ(agent.ask(on(word))["running"], false) << word;
  }
  agent.start_shell("d", "sleep 1000");
  agent.ask(on("kill"));
  EXPECT_EQ(agent.ask(on("kill"))["running"], false);
}

TEST(Stop, LetsADaemonEndByItselfAndKillsTheOneThatDoesNot) {
  AgentUnderTest agent;
  ScratchFolder folder;
  const auto ready = [&](const char* file) {
    return eventually([&] { return std::filesystem::exists(folder.path(file)); });
  };
  agent.start_shell(
      "d", "trap 'exit 7' TERM; touch " + folder.path("polite") + "; while :; do sleep 0.01; done");
  ASSERT_TRUE(ready("polite"));
  json reply = agent.ask(on("stop"));
  EXPECT_EQ(reply["code"], 7);
  EXPECT_EQ(reply["forced"], false);
  agent.start_shell(
      "d", "trap '' TERM; touch " + folder.path("deaf") + "; while :; do sleep 0.01; done");
  ASSERT_TRUE(ready("deaf"));
  json request = on("stop");
  request["grace_ms"] = 100;
  reply = agent.ask(request);
  EXPECT_EQ(reply["signal"], SIGKILL);
  EXPECT_EQ(reply["forced"], true);
}

TEST(Pause, EveryThreadOfTheGroupIsStoppedUntilTheResume) {
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "sleep 1000 & while :; do :; done");
  ASSERT_TRUE(eventually([&] { return members_of_group(daemon).size() == 2; }));
  const json paused = agent.ask(on("pause"));
  EXPECT_EQ(paused["running"], true);
  EXPECT_EQ(paused["processes"], 2);
  EXPECT_EQ(states_of(daemon), std::set<char>{'T'});
  const json resumed = agent.ask(on("resume"));
  EXPECT_EQ(resumed["held"], true) << resumed;
  EXPECT_FALSE(states_of(daemon).contains('T'));
}

TEST(Pause, ABusyForkingGroupIsStoppedAsAWhole) {
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "while :; do sh -c : & wait; done");
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(agent.ask(on("pause"))["running"], true);
    EXPECT_EQ(states_of(daemon), std::set<char>{'T'});
    EXPECT_EQ(agent.ask(on("resume"))["held"], true);
  }
}

// A signal that comes between vfork and exec leaves the parent asleep in the kernel.
TEST(Pause, AProcessThatIsJustStartingAnotherIsStoppedToo) {
  AgentUnderTest agent;
  for (int i = 0; i < 30; ++i) {
    agent.start_shell("d", "sleep 1000");
    ASSERT_EQ(agent.ask(on("pause"))["running"], true);
    agent.ask(on("kill"));
  }
}

TEST(Pause, ThatWasLiftedByOthersIsReported) {
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "while :; do :; done");
  agent.ask(on("pause"));
  kill(-daemon, SIGCONT);
  EXPECT_EQ(agent.event("unpaused")["daemon"], "d");
  EXPECT_EQ(agent.ask(on("resume"))["held"], false);
}

TEST(Pause, ThatWasLiftedForAMomentIsReportedAtTheResume) {
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "while :; do :; done");
  agent.ask(on("pause"));
  kill(-daemon, SIGCONT);
  ASSERT_TRUE(eventually([&] { return !states_of(daemon).contains('T'); }));
  kill(-daemon, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return states_of(daemon) == std::set<char>{'T'}; }));
  const json reply = agent.ask(on("resume"));
  EXPECT_EQ(reply["held"], false);
  EXPECT_NE(reply["why"], "");
}

TEST(Pause, TwiceIsOncePauseAndAPausedDaemonCanBeKilledOrStopped) {
  AgentUnderTest agent;
  agent.start_shell("d", "sleep 1000");
  agent.ask(on("pause"));
  EXPECT_EQ(agent.ask(on("pause"))["running"], true);
  EXPECT_EQ(agent.ask(on("kill"))["signal"], SIGKILL);
  agent.start_shell("d", "sleep 1000");
  agent.ask(on("pause"));
  EXPECT_EQ(agent.ask(on("stop"))["forced"], false);
  for (const json& line : agent.lines_so_far()) EXPECT_NE(line.value("event", ""), "unpaused");
}

TEST(Verification, SignalsThatAreSecretlyNotSentAreNoticed) {
  AgentUnderTest agent({.args = {"--no-beat"}, .env = {{kSkipVariable, "signal"}}});
  agent.start_shell("d", "sleep 1000");
  EXPECT_NE(agent.ask(on("pause"))["error"].get<std::string>().find("not seen to stop"),
            std::string::npos);
  EXPECT_NE(agent.ask(on("kill"))["error"].get<std::string>().find("not seen to exit"),
            std::string::npos);
}

// In a network namespace of the agent's own, where 127.0.0.1 is the peer.
class Cut : public testing::Test {
 protected:
  void SetUp() override {
    if (!namespaces_work()) GTEST_SKIP() << "no network namespaces for this user";
  }
  static AgentUnderTest::Options in_own_network(const std::string& skip = "") {
    return {.env = {{kSkipVariable, skip}}, .own_network = true};
  }
  static void bring_up(AgentUnderTest& agent) {
    for (const char* power : {"process", "link", "delay", "loss", "rate", "reset", "disconnect"})
      ASSERT_THAT(agent.hello()["powers"], testing::Contains(power)) << agent.hello();
    ASSERT_EQ(agent.ask({{"do", "run"}, {"argv", {"ip", "link", "set", "lo", "up"}}})["code"], 0);
  }
  static json cut(const std::string& address) { return {{"do", "cut"}, {"from", {address}}}; }
  static json delay(const std::string& address, int ms) {
    return {{"do", "delay"}, {"links", {{{"from", address}, {"delay_ms", ms}}}}};
  }
  static json send_probe(const std::string& address) {
    return {{"do", "probe"}, {"to", {address}}};
  }
  // Of nft alone. What iptables tries beforehand leaves its table, and nothing in it.
  static std::string ruleset(AgentUnderTest& agent) {
    return agent.ask({{"do", "run"}, {"argv", {"nft", "list", "tables", "inet"}}})["stdout"];
  }
  static std::string iptables(AgentUnderTest& agent) {
    return agent.ask({{"do", "run"}, {"argv", {"iptables", "-t", "mangle", "-S"}}})["stdout"];
  }
};

TEST_F(Cut, BitesAndHeals) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  EXPECT_EQ(agent.ask(cut("127.0.0.1"))["installed"], json::array({"127.0.0.1"}));
  EXPECT_EQ(agent.ask({{"do", "observe"}})["rules"], json({{"127.0.0.1", 0}}));
  agent.ask({{"do", "probe"}, {"to", {"127.0.0.1"}}});
  const json bite = agent.event("bite");
  EXPECT_EQ(bite["from"], "127.0.0.1");
  EXPECT_GE(bite["packets"], 1);
  const json healed = agent.ask({{"do", "heal"}});
  EXPECT_GE(healed["dropped"]["127.0.0.1"], 1);
  EXPECT_EQ(ruleset(agent), "");
  EXPECT_EQ(agent.ask({{"do", "heal"}})["dropped"], json::object());
}

TEST_F(Cut, OfBothFamiliesIsReplacedByTheNextOne) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  agent.ask({{"do", "cut"}, {"from", {"127.0.0.1", "0::1", "10.1.1.1"}}});
  agent.ask({{"do", "probe"}, {"to", {"::1"}}});
  EXPECT_EQ(agent.event("bite")["from"], "::1");
  EXPECT_EQ(agent.ask({{"do", "cut"}, {"from", {"10.2.2.2", "::1"}}})["installed"],
            json({"10.2.2.2", "::1"}));
  const json rules = agent.ask({{"do", "observe"}})["rules"];
  EXPECT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules["10.2.2.2"], 0);
  EXPECT_GE(rules["::1"], 1) << "what stays cut keeps its rule";
  agent.ask({{"do", "probe"}, {"to", {"::1"}}});
  EXPECT_EQ(agent.event("bite")["from"], "::1") << "each cut proves itself anew";
  EXPECT_EQ(agent.ask({{"do", "cut"}, {"from", json::array()}})["installed"], json::array());
  EXPECT_EQ(ruleset(agent), "");
}

TEST_F(Cut, OfTheDriverOrOfWhatIsNoAddressIsRefused) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  for (const char* address :
       {"10.77.0.1", "localhost", "10.77.0.0/24", "", "1.2.3.4 }; flush ruleset"}) {
    EXPECT_TRUE(agent.ask(cut(address)).contains("error")) << address;
  }
  EXPECT_EQ(ruleset(agent), "");
}

TEST_F(Cut, LeavesTheRulesOfTheHostAlone) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  agent.ask({{"do", "run"}, {"argv", {"nft", "add table inet host"}}});
  agent.ask(cut("127.0.0.1"));
  agent.ask({{"do", "heal"}});
  EXPECT_EQ(ruleset(agent), "table inet host\n");
}

TEST_F(Cut, RulesThatAreSecretlyNotInstalledAreNoticed) {
  AgentUnderTest agent(in_own_network("rule"));
  bring_up(agent);
  EXPECT_NE(agent.ask(cut("127.0.0.1"))["error"].get<std::string>().find("not there"),
            std::string::npos);
}

TEST_F(Cut, DoesNotBiteWithoutAPacket) {
  AgentUnderTest agent(in_own_network("probe"));
  bring_up(agent);
  agent.ask(cut("127.0.0.1"));
  EXPECT_EQ(agent.ask({{"do", "probe"}, {"to", {"127.0.0.1"}}})["ok"], true);
  EXPECT_EQ(agent.ask({{"do", "heal"}})["dropped"]["127.0.0.1"], 0);
  for (const json& line : agent.lines_so_far()) EXPECT_NE(line.value("event", ""), "bite");
}

using Delay = Cut;

TEST_F(Delay, BitesAndHeals) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  const std::string before = iptables(agent);
  EXPECT_EQ(agent.ask(delay("127.0.0.1", 80))["ok"], true);
  agent.ask(send_probe("127.0.0.1"));
  const json held = agent.event("held");
  EXPECT_EQ(held["from"], "127.0.0.1");
  EXPECT_GE(held["us"], 80'000);
  const json healed = agent.ask({{"do", "undelay"}});
  EXPECT_GE(healed["held"]["127.0.0.1"]["packets"], 1) << healed;
  EXPECT_EQ(healed["held"]["127.0.0.1"]["duplicates"], 0);
  EXPECT_EQ(iptables(agent).find("assay"), std::string::npos);
  EXPECT_EQ(agent.ask({{"do", "undelay"}})["held"], json::object());
  EXPECT_TRUE(children_of(agent.pid()).empty());
}

TEST_F(Delay, IsReplacedByTheNextOneWhichProvesItselfAnew) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  agent.ask(delay("127.0.0.1", 5));
  agent.ask(send_probe("127.0.0.1"));
  agent.event("held");
  agent.ask(delay("10.1.1.1", 5));
  EXPECT_EQ(iptables(agent).find("127.0.0.1"), std::string::npos);
  agent.ask(delay("127.0.0.1", 5));
  agent.ask(send_probe("127.0.0.1"));
  EXPECT_EQ(agent.event("held")["from"], "127.0.0.1");
  EXPECT_EQ(children_of(agent.pid()).size(), 1u);
}

TEST_F(Delay, OfTheDriverOrOfWhatIsNoAddressIsRefused) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  for (const char* address : {"10.77.0.1", "localhost", "::1", "", "1.2.3.4 -j DROP"})
    EXPECT_TRUE(agent.ask(delay(address, 5)).contains("error")) << address;
  EXPECT_EQ(iptables(agent).find("assay"), std::string::npos);
}

TEST_F(Delay, LeavesTheRulesOfTheHostAlone) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  agent.ask(
      {{"do", "run"},
       {"argv", {"iptables", "-t", "mangle", "-A", "INPUT", "-s", "10.9.9.9", "-j", "DROP"}}});
  const std::string before = iptables(agent);
  agent.ask(delay("127.0.0.1", 5));
  EXPECT_NE(iptables(agent), before);
  agent.ask({{"do", "undelay"}});
  EXPECT_EQ(iptables(agent), before);
}

TEST(DelayPower, WhereItIsAbsentTheRefusalNamesTheCause) {
  AgentUnderTest agent;  // --no-links
  EXPECT_EQ(agent.hello()["absent"]["delay"], "the network is the host's");
  const json refused =
      agent.ask({{"do", "delay"}, {"links", {{{"from", "10.1.1.1"}, {"delay_ms", 5}}}}});
  EXPECT_EQ(refused["error"], "links cannot be slow here: the network is the host's");
  EXPECT_EQ(agent.ask({{"do", "undelay"}})["held"], json::object());
}

TEST_F(Delay, AKilledQueueProgramIsToldAndItsEndTakesNothingElseAlong) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  agent.ask(delay("127.0.0.1", 5));
  const auto programs = children_of(agent.pid());
  ASSERT_EQ(programs.size(), 1u);
  kill(programs[0], SIGKILL);
  EXPECT_EQ(agent.event("undelayed")["why"], "its queue program: killed by signal 9 (Killed)");
  EXPECT_EQ(agent.ask({{"do", "undelay"}})["held"], json::object());
  EXPECT_EQ(iptables(agent).find("assay"), std::string::npos);
}

TEST_F(Delay, TheQueueProgramEndsWithAnAgentThatIsKilled) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  agent.ask(delay("127.0.0.1", 5));
  const auto programs = children_of(agent.pid());
  ASSERT_EQ(programs.size(), 1u);
  agent.kill_it();
  agent.wait();
  EXPECT_TRUE(eventually([&] { return !process_runs(programs[0]); }));
}

// Of a kind each, in force beside each other and beside a cut, and each ends alone.
using Broken = Cut;

json breaking(const std::string& kind, const std::string& from, const json& settings) {
  return {{"do", "break"}, {"kind", kind}, {"from", {from}}, {"settings", settings}};
}
json mending(const std::string& kind) { return {{"do", "mend"}, {"kind", kind}}; }

const struct {
  const char* kind;
  json settings;
  json probe;  // of what it takes to see it strike
} kRuleFaults[] = {{"loss", {{"percent", 50}}, {{"count", 30}}},
                   {"rate", {{"kbytes", 1}}, {{"count", 30}, {"bytes", 1'000}}},
                   {"reset", json::object(), {{"tcp", true}}}};

TEST_F(Broken, LinksLosePacketsAboveARateByChanceOrByAResetAndAreMended) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  for (const auto& [kind, settings, probe] : kRuleFaults) {
    ASSERT_EQ(agent.ask(breaking(kind, "127.0.0.1", settings))["ok"], true) << kind;
    json sent = send_probe("127.0.0.1");
    sent.update(probe);
    agent.ask(sent);
    const json struck = agent.event("struck");
    EXPECT_EQ(struck["kind"], kind);
    EXPECT_EQ(struck["from"], "127.0.0.1");
    EXPECT_GE(struck["count"], 1);
    EXPECT_GE(agent.ask(mending(kind))["struck"]["127.0.0.1"], 1) << kind;
    EXPECT_EQ(ruleset(agent), "") << kind;
    EXPECT_EQ(agent.ask(mending(kind))["struck"], json::object());
  }
}

TEST_F(Broken, SeveralKindsAreInForceAtOnceAndEachEndsAlone) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  const auto chains = [&] {
    const std::string listed =
        agent.ask({{"do", "run"}, {"argv", {"nft", "list", "chains"}}})["stdout"];
    std::set<std::string> names;
    for (const char* name : {"input", "loss", "rate", "reset"}) {
      for (const char* prefix : {"chain ", "chain fault_"})
        if (listed.find(std::string(prefix) + name + " ") != std::string::npos) names.insert(name);
    }
    return names;
  };
  using Names = std::set<std::string>;
  for (const auto& [kind, settings, probe] : kRuleFaults)
    ASSERT_EQ(agent.ask(breaking(kind, "10.1.1.1", settings))["ok"], true) << kind;
  ASSERT_EQ(agent.ask(breaking("loss", "::1", {{"percent", 100}}))["ok"], true) << "replaced";
  ASSERT_TRUE(agent.ask(cut("10.1.1.1")).contains("ok"));
  EXPECT_EQ(chains(), (Names{"input", "loss", "rate", "reset"}));
  EXPECT_EQ(agent.ask({{"do", "heal"}})["dropped"]["10.1.1.1"], 0);
  EXPECT_EQ(chains(), (Names{"loss", "rate", "reset"}));
  ASSERT_TRUE(agent.ask(cut("10.1.1.1")).contains("ok"));
  EXPECT_EQ(agent.ask(mending("loss"))["struck"], json({{"::1", 0}}));
  EXPECT_EQ(chains(), (Names{"input", "rate", "reset"}));
  agent.ask(mending("reset"));
  agent.ask(mending("rate"));
  EXPECT_EQ(chains(), Names{"input"});
  agent.ask({{"do", "heal"}});
  EXPECT_EQ(ruleset(agent), "");
}

TEST_F(Broken, OfTheDriverOrOfWhatIsNotKnownIsRefused) {
  AgentUnderTest agent(in_own_network());
  bring_up(agent);
  for (const char* address : {"10.77.0.1", "localhost", "", "1.2.3.4 drop; flush ruleset"})
    for (const char* kind : kLinkFaults)
      EXPECT_TRUE(agent.ask(breaking(kind, address, {{"percent", 5}, {"kbytes", 5}}))
                      .contains("error"))
          << kind << " " << address;
  EXPECT_TRUE(agent.ask(breaking("rust", "10.1.1.1", {})).contains("error"));
  EXPECT_TRUE(agent.ask(breaking("loss", "10.1.1.1", {{"percent", 101}})).contains("error"));
  EXPECT_TRUE(agent.ask(breaking("rate", "10.1.1.1", json::object())).contains("error"));
  EXPECT_EQ(ruleset(agent), "");
}

TEST_F(Broken, RulesThatAreSecretlyNotInstalledAreNoticed) {
  AgentUnderTest agent(in_own_network("rule"));
  bring_up(agent);
  for (const auto& [kind, settings, probe] : kRuleFaults) {
    const json refused = agent.ask(breaking(kind, "127.0.0.1", settings));
    EXPECT_NE(refused["error"].get<std::string>().find("not there"), std::string::npos) << kind;
    EXPECT_EQ(agent.ask(mending(kind))["struck"], json({{"127.0.0.1", 0}})) << kind;
  }
}

TEST(LinkFaultPower, WhereItIsAbsentTheRefusalNamesTheCause) {
  AgentUnderTest agent;  // --no-links
  for (const std::string kind : kLinkFaults) {
    EXPECT_EQ(agent.hello()["absent"][kind], "the network is the host's");
    EXPECT_EQ(agent.ask(breaking(kind, "10.1.1.1", {{"percent", 5}}))["error"],
              kind + " is not possible here: the network is the host's");
    EXPECT_EQ(agent.ask(mending(kind))["struck"], json::object());
  }
}

// Two agents, one after the other, in one network: as on a real host, where rules outlive agents.
TEST_F(Cut, IsHealedByTheEndOfInputAndByTheNextAgentOfItsLabel) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = become_namespace_root() && unshare(CLONE_NEWNET) == 0;
    const auto rules = [] {
      FILE* nft = popen("PATH=$PATH:/usr/sbin nft list ruleset 2>/dev/null", "r");
      const bool any = nft != nullptr && fgetc(nft) != EOF;
      pclose(nft);
      return any;
    };
    AgentUnderTest::Options options{.env = {{kRunVariable, "r"}}, .links = true};
    for (const json& request : {cut("10.1.1.1"), delay("10.1.1.1", 5),
                                breaking("loss", "10.1.1.1", {{"percent", 5}})}) {
      AgentUnderTest agent(options);
      agent.ask(request);
      good = good && rules();
      agent.end_input();
      agent.wait();
      good = good && !rules();
    }
    AgentUnderTest killed(options);
    killed.ask(cut("10.1.1.1"));
    killed.ask(delay("10.1.1.1", 5));
    killed.ask(breaking("reset", "10.1.1.1", json::object()));
    killed.kill_it();
    killed.wait();
    good = good && rules();
    AgentUnderTest later(options);
    good = good && later.hello()["leftovers"]["rules"] == true && !rules();
    _exit(good && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace assay::agent
