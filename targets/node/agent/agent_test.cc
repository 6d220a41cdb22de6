// The protocol, against the real program.
#include <signal.h>

#include <algorithm>

#include "targets/node/agent/agent_under_test.h"
#include "targets/node/agent/base64.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

json run(std::vector<std::string> argv) { return {{"do", "run"}, {"argv", std::move(argv)}}; }
json sh(const std::string& script) { return run({"sh", "-c", script}); }

TEST(Agent, HelloNamesProtocolRunNodeAndPowers) {
  AgentUnderTest agent({.node = "n7"});
  EXPECT_EQ(agent.hello()["hello"], kHello);
  EXPECT_EQ(agent.hello()["protocol"], kProtocol);
  EXPECT_EQ(agent.hello()["node"], "n7");
  EXPECT_EQ(agent.hello()["run"], agent.run_id());
  EXPECT_EQ(agent.hello()["pid"], agent.pid());
  EXPECT_EQ(agent.hello()["powers"][0], "process");
  EXPECT_EQ(agent.ask({{"do", "beat"}})["ok"], true);
}

TEST(Agent, ADriverOfAnotherProtocolIsRefused) {
  for (const char* hello :
       {R"({"hello":"assay-agent","protocol":2})", R"({"id":1,"do":"beat"})", "[]", "x"}) {
    AgentUnderTest agent({.greet = false});
    agent.send_text(std::string(hello) + "\n");
    EXPECT_NE(agent.event("bad-line")["why"].get<std::string>().find("JSON"), 0) << hello;
    agent.end_input();
    EXPECT_NE(agent.wait(), 0) << hello;
  }
}

TEST(Agent, EndsOrderlyWhenAskedToClose) {
  AgentUnderTest agent;
  const pid_t daemon = agent.start_shell("d", "sleep 1000");
  const json reply = agent.ask({{"do", "close"}});
  EXPECT_EQ(reply["stopped"], 1);
  EXPECT_FALSE(process_runs(daemon));
  EXPECT_EQ(agent.wait(), 0);
  EXPECT_EQ(agent.complaints(), "");
}

TEST(Agent, RunReturnsTheCodeAndBothStreams) {
  AgentUnderTest agent;
  const json reply = agent.ask(sh("echo out; echo err >&2; exit 9"));
  EXPECT_EQ(reply["code"], 9);
  EXPECT_EQ(reply["stdout"], "out\n");
  EXPECT_EQ(reply["stderr"], "err\n");
  EXPECT_EQ(reply["timed_out"], false);
}

TEST(Agent, RunTellsASignalFromAnExitCode) {
  AgentUnderTest agent;
  const json reply = agent.ask(sh("kill -9 $$"));
  EXPECT_EQ(reply["signal"], 9);
  EXPECT_FALSE(reply.contains("code"));
}

TEST(Agent, RunGivesInputFolderAndEnvironment) {
  AgentUnderTest agent;
  json request = sh("cat; pwd; echo $COLOUR $ASSAY_RUN $ASSAY_NODE");
  request.update({{"stdin", "hello\n"}, {"cwd", "/usr"}, {"env", {{"COLOUR", "blue"}}}});
  EXPECT_EQ(agent.ask(request)["stdout"], "hello\n/usr\nblue " + agent.run_id() + " n1\n");
}

TEST(Agent, RunKillsAtTheDeadlineAndKeepsWhatWasSaid) {
  AgentUnderTest agent;
  json request = sh("echo begun; sleep 1000");
  request["deadline_ms"] = 200;
  const json reply = agent.ask(request);
  EXPECT_EQ(reply["timed_out"], true);
  EXPECT_EQ(reply["signal"], 9);
  EXPECT_EQ(reply["stdout"], "begun\n");
}

TEST(Agent, RunCutsLongOutputAndSaysSo) {
  AgentUnderTest agent;
  json request = sh("head -c 3000000 /dev/zero | tr '\\0' x; echo short >&2");
  request["stdout_max"] = 1'000;
  const json reply = agent.ask(request);
  EXPECT_EQ(reply["stdout"].get<std::string>().size(), 1'000u);
  EXPECT_EQ(reply["stdout_cut"], true);
  EXPECT_EQ(reply["stderr_cut"], false);
  EXPECT_EQ(reply["code"], 0);
}

TEST(Agent, RunDoesNotWaitForWhatACommandLeavesBehind) {
  AgentUnderTest agent;
  const json reply = agent.ask(sh("sleep 1000 & echo $!"));
  EXPECT_EQ(reply["code"], 0);
  const pid_t left = std::stoi(reply["stdout"].get<std::string>());
  EXPECT_TRUE(eventually([&] { return !process_runs(left); }));
}

TEST(Agent, CommandsRunSideBySide) {
  AgentUnderTest agent;
  const int64_t slow = agent.send(sh("read line < " + std::string("/proc/self/fd/0; sleep 1000")));
  EXPECT_EQ(agent.ask(sh("echo quick"))["stdout"], "quick\n");
  for (const json& line : agent.lines_so_far()) EXPECT_NE(line.value("id", int64_t{0}), slow);
}

TEST(Agent, WhatCannotBeRunIsAnErrorThatNamesIt) {
  AgentUnderTest agent;
  const struct {
    json request;
    const char* names;
  } cases[] = {
      {run({"/nowhere/prog"}), "/nowhere/prog"},
      {run({"no-such-program-anywhere"}), "no-such-program-anywhere"},
      {run({}), "no program"},
      {{{"do", "run"}, {"argv", json::array({"true"})}, {"cwd", "/nowhere"}}, "/nowhere"},
      {{{"do", "start"}, {"name", "d"}, {"argv", json::array({"/etc/passwd"})}}, "/etc/passwd"},
      {{{"do", "start"}, {"name", "d"}, {"argv", json::array({"true"})}, {"log", "/nowhere/log"}},
       "/nowhere/log"},
      {{{"do", "dance"}}, "dance"},
      {{{"do", "start"}}, "malformed"},
      {{{"do", "kill"}, {"name", 5}}, "malformed"},
      {{{"do", 7}}, "malformed"},
      {{{"do", "net"}, {"link", "x"}, {"name", "y"}, {"address", "z"}}, "network of its host"},
      {{{"do", "fetch"}, {"path", "/nowhere/file"}}, "/nowhere/file"},
      {{{"do", "fetch"}, {"path", "/dev/zero"}}, "not a regular file"},
      {{{"do", "fsync"}, {"path", "/nowhere"}}, "/nowhere"},
  };
  for (const auto& c : cases) {
    const json reply = agent.ask(c.request);
    EXPECT_NE(reply.value("error", "").find(c.names), std::string::npos) << c.request << reply;
  }
}

TEST(Agent, GarbageIsAnsweredAndDoesNotEndIt) {
  AgentUnderTest agent;
  for (const char* line : {"garbage", "{}", "[1,2]", "{\"id\":\"x\",\"do\":\"beat\"}",
                           "{\"id\":1.5}", "\xff\xfe", "null", "{\"id\":1"}) {
    agent.send_text(std::string(line) + "\n");
    EXPECT_NE(agent.event("bad-line")["why"], "") << line;
  }
  EXPECT_EQ(agent.ask({{"do", "beat"}})["ok"], true);
}

TEST(Agent, AFloodOfGarbageStaysWithinBounds) {
  AgentUnderTest agent;
  agent.send_text(std::string(8 << 20, 'x') + "\n");
  EXPECT_NE(agent.event("bad-line")["why"].get<std::string>().find("1048576"), std::string::npos);
  std::string flood;
  for (int i = 0; i < 200'000; ++i) flood += "?\n";
  agent.send_text(flood + std::string(1 << 19, '[') + "\n");
  EXPECT_EQ(agent.ask({{"do", "beat"}})["ok"], true);
  const std::string status = read_whole("/proc/" + std::to_string(agent.pid()) + "/status");
  const int64_t resident_kb = std::stoll(status.substr(status.find("VmRSS:") + 6));
#if defined(__SANITIZE_ADDRESS__)
  const int64_t freed_but_kept_kb = 256 << 10;  // the default quarantine
#else
  const int64_t freed_but_kept_kb = 0;
#endif
  EXPECT_LT(resident_kb, 400'000 + freed_but_kept_kb);
}

TEST(Agent, ExitsOfDaemonsComeUnaskedAfterTheirLastLogLines) {
  AgentUnderTest agent;
  ScratchFolder folder;
  const std::string log = folder.path("log");
  agent.ask({{"do", "tail"}, {"name", "t"}, {"path", log}});
  const json started = agent.ask({{"do", "start"},
                                  {"name", "d"},
                                  {"argv", {"sh", "-c", "echo last words; exit 4"}},
                                  {"log", log}});
  const json exit = agent.event("exit");
  EXPECT_EQ(exit["daemon"], "d");
  EXPECT_EQ(exit["pid"], started["pid"]);
  EXPECT_EQ(exit["code"], 4);
  EXPECT_EQ(exit["asked"], false);
  const auto before = agent.lines_so_far();
  ASSERT_EQ(before.size(), 1u) << "the log line was still to come";
  EXPECT_EQ(before[0]["line"], "last words");
  EXPECT_EQ(agent.ask({{"do", "observe"}})["daemons"][0]["exit"]["code"], 4);
}

TEST(Agent, ADaemonIsStartedOnceAndMayBeStartedAgain) {
  AgentUnderTest agent;
  agent.start_shell("d", "sleep 1000");
  const json again = agent.ask({{"do", "start"}, {"name", "d"}, {"argv", json::array({"true"})}});
  EXPECT_NE(again["error"].get<std::string>().find("running already"), std::string::npos);
  agent.ask({{"do", "kill"}, {"name", "d"}});
  EXPECT_TRUE(process_runs(agent.start_shell("d", "sleep 1000")));
}

TEST(Agent, WhatADeadLeaderLeftIsKilledBeforeTheNextStart) {
  AgentUnderTest agent;
  ScratchFolder folder;
  agent.start_shell("d", "sleep 1000 & echo $! >" + folder.path("child"));
  agent.event("exit");
  const pid_t child = std::stoi(folder.read("child"));
  EXPECT_TRUE(process_runs(child));
  agent.start_shell("d", "sleep 1000");
  EXPECT_FALSE(process_runs(child));
}

TEST(Agent, ADaemonHasThreeDescriptorsAndASessionOfItsOwn) {
  AgentUnderTest agent;
  const pid_t pid = agent.start_shell("d", "exec sleep 1000");
  const auto descriptors = [pid] {
    std::set<std::string> fds;
    const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      fds.insert(entry.path().filename());
    }
    return fds;
  };
  // For a moment of its start it holds the libraries that it loads as well.
  const std::set<std::string> three{"0", "1", "2"};
  EXPECT_TRUE(eventually([&] { return descriptors() == three; })) << descriptors().size();
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_EQ(getpgid(pid), pid);
}

TEST(Agent, EveryProcessCarriesTheRunsMark) {
  AgentUnderTest agent({.env = {{kRunVariable, "r42"}}});
  const pid_t daemon = agent.start_shell("d", "exec sleep 1000");
  for (pid_t pid : {agent.pid(), daemon}) {
    const std::string environ = read_whole("/proc/" + std::to_string(pid) + "/environ");
    EXPECT_NE(environ.find("ASSAY_RUN=r42"), std::string::npos);
  }
}

TEST(Agent, ObserveCountsProcessesAndThreads) {
  AgentUnderTest agent;
  agent.start_shell("d", "sleep 1000 & sleep 1000 & wait");
  EXPECT_TRUE(eventually([&] {
    return agent.ask({{"do", "observe"}})["daemons"][0]["processes"] == 3;
  }));
}

TEST(Agent, TailsSendEachLineOnceWithItsNumber) {
  AgentUnderTest agent;
  ScratchFolder folder;
  folder.write("log", "old\none\ntwo");
  agent.ask({{"do", "tail"}, {"name", "t"}, {"path", folder.path("log")}, {"offset", 4}});
  EXPECT_EQ(agent.event("log")["line"], "one");
  std::ofstream(folder.path("log"), std::ios::app) << " and a half\n"
                                                   << std::string(100'000, 'x') << "\n\xff\n";
  const json two = agent.event("log");
  EXPECT_EQ(two["line"], "two and a half");
  EXPECT_EQ(two["seq"], 2);
  const json cut = agent.event("log");
  EXPECT_EQ(cut["line"].get<std::string>().size(), kMaxLogLineBytes);
  EXPECT_EQ(cut["cut"], true);
  EXPECT_EQ(agent.event("log")["line"], "\xEF\xBF\xBD");
}

TEST(Agent, ATailFollowsAFileThatAppearsLaterAndOneThatBeginsAnew) {
  AgentUnderTest agent;
  ScratchFolder folder;
  agent.ask({{"do", "tail"}, {"name", "t"}, {"path", folder.path("log")}});
  folder.write("log", "first line\n");
  EXPECT_EQ(agent.event("log")["line"], "first line");
  folder.write("log", "new\n");
  EXPECT_EQ(agent.event("log")["line"], "new");
}

TEST(Agent, ALastLineWithoutItsNewlineComesAtTheEnd) {
  AgentUnderTest agent;
  ScratchFolder folder;
  folder.write("log", "whole\nhalf");
  agent.ask({{"do", "tail"}, {"name", "t"}, {"path", folder.path("log")}});
  agent.ask({{"do", "close"}});
  EXPECT_EQ(agent.event("log")["line"], "whole");
  EXPECT_EQ(agent.event("log")["line"], "half");
}

TEST(Agent, ADriverThatDoesNotReadStopsTheTailsNotTheAgent) {
  AgentUnderTest agent({.args = {"--no-beat"}});
  ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += "line " + std::to_string(i) + "\n";
  folder.write("log", text);
  agent.ask({{"do", "tail"}, {"name", "t"}, {"path", folder.path("log")}});
  for (int i = 0; i < 60'000; ++i) {
    const json line = agent.event("log");
    ASSERT_EQ(line["seq"], i + 1);
    ASSERT_EQ(line["line"], "line " + std::to_string(i));
  }
}

TEST(Agent, FetchReadsAFilePieceByPiece) {
  AgentUnderTest agent;
  ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += static_cast<char>(i * 7);
  folder.write("file", text);
  std::string got;
  for (bool eof = false; !eof;) {
    const json reply = agent.ask(
        {{"do", "fetch"}, {"path", folder.path("file")}, {"offset", got.size()}, {"max", 30'000}});
    got += *base64_decode(reply["data"].get<std::string>());
    EXPECT_EQ(reply["size"], text.size());
    eof = reply["eof"];
  }
  EXPECT_EQ(got, text);
}

TEST(Agent, ListNamesWhatLiesInAFolder) {
  AgentUnderTest agent;
  ScratchFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.write("sub/file", "12345");
  const json reply = agent.ask({{"do", "list"}, {"path", folder.path()}});
  EXPECT_THAT(reply["entries"], testing::UnorderedElementsAre(
                                    json{{"path", "sub"}, {"type", "folder"}, {"bytes", 0}},
                                    json{{"path", "sub/file"}, {"type", "file"}, {"bytes", 5}}));
}

TEST(Agent, FoldersAreMadeAndRemovedInItsDataFolderOnly) {
  ScratchFolder folder;
  std::filesystem::create_directory(folder.path("data"));
  std::filesystem::create_directory(folder.path("elsewhere"));
  std::filesystem::create_symlink(folder.path("elsewhere"), folder.path("data") + "/link");
  AgentUnderTest agent({.args = {"--data", folder.path("data") + "/"}});
  const auto ask = [&](const char* word, const std::string& path) {
    return agent.ask({{"do", word}, {"path", path}}).contains("ok");
  };
  EXPECT_TRUE(ask("mkdir", "a/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("data/a/b")));
  for (const char* path : {"../elsewhere", "link", "link/x", "a/../../elsewhere", "/", "/etc"}) {
    EXPECT_FALSE(ask("rm", path)) << path;
  }
  EXPECT_FALSE(ask("rm", folder.path("data") + "x"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("elsewhere")));
  EXPECT_TRUE(ask("rm", folder.path("data")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("data")));
  AgentUnderTest without_data;
  EXPECT_NE(without_data.ask({{"do", "mkdir"}, {"path", "x"}})["error"], "");
}

TEST(Agent, FsyncTellsHowLongADiskTakes) {
  AgentUnderTest agent;
  ScratchFolder folder;
  EXPECT_GT(agent.ask({{"do", "fsync"}, {"path", folder.path()}})["ns"], 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Nodes have nothing: no shell, no library, no /proc, no /dev.
TEST(Agent, RunsInAnEmptyChroot) {
  const std::string program = std::string(ASSAY_BIN_DIR) + "/assay-agent";
  if (!is_static(program)) GTEST_SKIP() << "not linked statically";
  if (!namespaces_work()) GTEST_SKIP() << "no user namespaces for this user";
  ScratchFolder folder;
  std::filesystem::copy_file(program, folder.path("assay-agent"));
  AgentUnderTest agent({.links = true, .chroot = folder.path()});
  EXPECT_EQ(agent.hello()["powers"][0], "process");
  EXPECT_NE(agent.hello()["absent"]["link"].get<std::string>().find("nft"), std::string::npos);
  EXPECT_NE(
      agent.ask({{"do", "cut"}, {"from", {"10.0.0.1"}}})["error"].get<std::string>().find("nft"),
      std::string::npos);
  const json reply = agent.ask(run({"/assay-agent", "--version"}));
  EXPECT_EQ(reply["stdout"], ASSAY_VERSION "\n");
}

TEST(Agent, IsSmallEnoughToUpload) {
  const std::string program = std::string(ASSAY_BIN_DIR) + "/assay-agent";
  if (!is_static(program)) GTEST_SKIP() << "not linked statically";
  EXPECT_LT(std::filesystem::file_size(program), 3'000'000u);
}

}  // namespace
}  // namespace assay::agent
