// A store that only its description knows, run as a user would run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class ExecRun : public testing::Test {
 protected:
  // The rehearsal's store and client; `more` are further members, each with a comma in front.
  void describe(const std::string& client, const std::string& more = "") const {
    const std::string program = bin_dir() + "/exec-rehearsal";
    std::ofstream(scratch_.path() + "/mystore.json")
        << R"({"name": "mystore", "start": [")" << program
        << R"(", "serve", "{node}", "{folder}/data/state", "{peers:{node}={address}:{client_port}}"],
              "client": [)"
        << client << R"(], "claims": {"read": "linearizable", "durable": "process"},
              "errors": {"refused": {"definite": true}, "lost": {"definite": false, "class": "timeout"}})"
        << more << "}\n";
  }
  // Of the description written last.
  void claim_reads(const std::string& what) const {
    const std::string file = scratch_.path() + "/mystore.json";
    std::string text = text_of_file(file);
    const std::string claim = R"("read": "linearizable")";
    text.replace(text.find(claim), claim.size(), R"("read": ")" + what + '"');
    std::ofstream(file) << text;
  }
  static std::string speaking(const std::string& mode) {
    return "\"" + bin_dir() + "/exec-rehearsal\", \"" + mode + "\"";
  }
  Ended run(std::vector<std::string> options) const {
    std::vector<std::string> arguments{"run",     "--json", "--target", "./mystore.json",
                                       "--nodes", "3",      "--seed",   "1"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Launch launch = assay(std::move(arguments));
    launch.folder = scratch_.path();
    return e2e::run(launch);
  }

  ScratchFolder scratch_;
};

TEST_F(ExecRun, AStoreIsValidUnderFaults) {
  describe(speaking("client"));
  const Ended ended =
      run({"--time-limit", "8s", "--nemesis", "kill,pause", "--op-timeout", "500ms"});
  const Value result = ended.json();
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_EQ(result.text_or("target", ""), "mystore");
  EXPECT_GT(result["operations"].int_or("ok", 0), 500);
}

TEST_F(ExecRun, TheCommandsOfADescriptionAreRunInTheirPlaces) {
  describe(speaking("client"), R"(, "install": ["touch", "{folder}/installed"],
      "diagnose": ["sh", "-c", "echo {node} says nothing new; exit 4"],
      "ready": {"command": ["test", "-e", "{folder}/installed"]}, "stop": ["touch", "{folder}/stopped"])");
  const Ended ended = run({"--time-limit", "2s", "--nemesis", "none"});
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  for (const char* file : {"installed", "stopped", "mystore.log", "node.log"}) {
    EXPECT_TRUE(std::ifstream(scratch_.path() + "/results/runs/latest/nodes/n3/" + file)) << file;
  }
  EXPECT_EQ(text_of_file(scratch_.path() + "/results/runs/latest/nodes/n3/diagnose.log"),
            "n3 says nothing new\n(sh exited with 4: n3 says nothing new)\n");
}

TEST_F(ExecRun, AFailedPreparationIsOneClearLine) {
  describe(speaking("client"), R"(, "install": ["sh", "-c", "echo no such disk >&2; exit 4"])");
  const Ended ended = run({"--time-limit", "2s"});
  EXPECT_EQ(ended.code, 255);
  EXPECT_THAT(ended.err, HasSubstr(": sh exited with 4: no such disk"));
}

TEST_F(ExecRun, AClientThatCannotWorkIsTheSetUpsFailureBeforeTheLoad) {
  describe(R"("{bin}/client.py")");
  Ended ended = run({"--time-limit", "2s"});
  EXPECT_EQ(ended.code, 255);
  EXPECT_THAT(ended.err, HasSubstr("cannot run the client program " + scratch_.path() +
                                   "/client.py: No such file"));
  describe(speaking("exit-at-once"));
  ended = run({"--time-limit", "2s"});
  EXPECT_EQ(ended.code, 255);
  EXPECT_THAT(ended.err, HasSubstr("exited with 3: exec-rehearsal: no such library"));
}

TEST_F(ExecRun, AMistakeInTheDescriptionIsNamedWithItsPlace) {
  std::ofstream(scratch_.path() + "/mystore.json")
      << "{\n \"name\": \"mystore\",\n \"strat\": []\n}";
  const Ended ended = run({});
  EXPECT_EQ(ended.code, 254);
  EXPECT_THAT(ended.err, HasSubstr("./mystore.json:3:2: unknown member \"strat\""));
}

// A fault of its own that is in force while a file is there.
constexpr const char* kFlagFault = R"(, "faults": {"flag": {"summary": "a flag is up",
    "begin": ["sh", "-c", "touch {folder}/flag; echo {node} is up"],
    "end": ["rm", "-f", "{folder}/flag"], "verify": ["test", "-e", "{folder}/flag"]},
  "mark": {"begin": ["touch", "{folder}/mark"], "verify": ["test", "-e", "{folder}/mark"]}})";

TEST_F(ExecRun, FaultsOfItsOwnAreVerifiedAndHealedBesideOthers) {
  describe(speaking("client"), kFlagFault);
  const Ended ended = run({"--time-limit", "12s", "--nemesis", "flag:minority,mark,kill",
                           "--nemesis-interval", "2s", "--fault-duration", "1s"});
  const Value result = ended.json();
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  for (const char* kind : {"flag", "kill", "mark"}) {
    const Value& fault = result["faults"][kind];
    EXPECT_GT(fault.int_or("bit", 0), 0) << kind;
    EXPECT_EQ(fault.int_or("healed", -1), fault.int_or("started", 0)) << kind;
  }
  const std::string folder = scratch_.path() + "/results/runs/latest/";
  EXPECT_FALSE(std::ifstream(folder + "nodes/n1/flag"));
  const auto holds = [&](const char* file, const char* words) {
    return text_of_file(folder + file).find(words) != std::string::npos;
  };
  EXPECT_TRUE(holds("history.jsonl", " is up\"")) << "what begin printed";
  EXPECT_TRUE(holds("report.html", "flag (minority)"));
}

TEST_F(ExecRun, AFaultOfItsOwnThatDoesNotBiteIsVacuous) {
  describe(speaking("client"), R"(, "faults": {"nothing": {"begin": ["true"], "end": ["true"],
                                                           "verify": ["false"]}})");
  const Ended ended = run({"--time-limit", "9s", "--nemesis", "nothing", "--nemesis-interval", "2s",
                           "--fault-duration", "500ms"});
  EXPECT_EQ(ended.code, 4) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("nothing: observed to bite 0 of 1 needed"));
}

// To fall is what the fault is for.
TEST_F(ExecRun, AServerThatEndsUnderAFaultOfItsOwnIsStartedAgain) {
  describe(speaking("client"), R"(, "faults": {"fall": {"begin": [)" + speaking("die") +
                                   R"(, "{address}:{client_port}"], "verify": ["true"]}})");
  const Ended ended = run({"--time-limit", "9s", "--nemesis", "fall", "--nemesis-interval", "2s"});
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_GT(ended.json()["faults"]["fall"].int_or("bit", 0), 1);
}

TEST_F(ExecRun, AFaultOfItsOwnThatCannotBeEndedIsTheHarnesssFailure) {
  describe(speaking("client"), R"(, "ready": {"within": "3s"}, "faults": {"stuck": {
      "begin": ["true"], "end": ["sh", "-c", "echo no way >&2; exit 5"], "verify": ["true"]}})");
  const Ended ended =
      run({"--time-limit", "6s", "--nemesis", "stuck:one", "--nemesis-interval", "1s"});
  EXPECT_EQ(ended.code, 255) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("stuck could not be ended: exited with 5"));
}

TEST_F(ExecRun, AnInterruptInTheMiddleOfABeginningUndoesIt) {
  describe(speaking("client"), R"(, "faults": {"slow": {
      "begin": ["sh", "-c", "touch {folder}/begun; sleep 100 & wait; touch {folder}/flag"],
      "end": ["sh", "-c", "rm -f {folder}/flag; touch {folder}/undone"],
      "verify": ["test", "-e", "{folder}/flag"], "within": "2m"}})");
  Launch launch = assay({"run", "--target", "./mystore.json", "--nodes", "3", "--nemesis",
                         "slow:all", "--time-limit", "60s", "--nemesis-interval", "1s"});
  launch.folder = scratch_.path();
  const std::string nodes = scratch_.path() + "/results/runs/latest/nodes/";
  const auto there = [&](const char* file) { return std::ifstream(nodes + file).good(); };
  Program program(launch);
  ASSERT_TRUE(eventually([&] { return there("n3/begun"); }, std::chrono::seconds(60)));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(std::chrono::seconds(60)).code, 130);
  EXPECT_TRUE(there("n3/undone"));
  EXPECT_FALSE(there("n3/flag"));
}

TEST_F(ExecRun, AFaultOfItsOwnEndsAlsoWhenTheDriverIsKilled) {
  describe(speaking("client"), kFlagFault);
  const std::string nodes = scratch_.path() + "/results/runs/latest/nodes/";
  const auto up = [&](const char* node) { return std::ifstream(nodes + node + "/flag").good(); };
  for (const char* net : {"host", "private"}) {
    Launch launch = assay({"run", "--target", "./mystore.json", "--nodes", "3", "--nemesis",
                           "flag:all", "--time-limit", "60s", "--fault-duration", "40s",
                           "--nemesis-interval", "1s", "--net", net});
    launch.folder = scratch_.path();
    {
      Program program(launch);
      ASSERT_TRUE(
          eventually([&] { return up("n1") && up("n2") && up("n3"); }, std::chrono::seconds(60)));
      program.signal(SIGKILL);  // "private": its launcher
    }
    EXPECT_TRUE(
        eventually([&] { return !up("n1") && !up("n2") && !up("n3"); }, std::chrono::seconds(10)))
        << net;
  }
}

TEST_F(ExecRun, WhatIsNotClaimedIsNotJudged) {
  describe(speaking("client"));
  const Ended ended = run({"--workload", "cas-versioned"});
  EXPECT_EQ(ended.code, 254);
  EXPECT_THAT(ended.err, HasSubstr("does not claim guarded writes"));
}

TEST_F(ExecRun, StaleReadsAreInvalidOnlyWhereTheyAreClaimedToBeLinearizable) {
  describe(speaking("caching"));
  const std::vector<std::string> options{"--time-limit", "3s", "--nemesis", "none"};
  Ended ended = run(options);
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  const std::string not_claimed = "linearizable reads are not claimed: ";
  EXPECT_THAT(ended.err, Not(HasSubstr(not_claimed)));
  claim_reads("stale");
  ended = run(options);
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(not_claimed));
  // The history alone says so as well.
  Launch check = assay({"check", "results/runs/latest/history.jsonl"});
  check.folder = scratch_.path();
  const Ended checked = e2e::run(check);
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr(not_claimed));
}

TEST_F(ExecRun, ClientsThatHangDieOrLieLeaveUnknownOperationsAndAWholeRun) {
  describe(speaking("flaky"));
  const Ended ended = run({"--time-limit", "5s", "--nemesis", "none", "--op-timeout", "300ms"});
  const Value result = ended.json();
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_GT(result["operations"].int_or("ok", 0), 300);
  EXPECT_GT(result["operations"].int_or("info", 0), 5);
}

}  // namespace
}  // namespace assay::e2e
