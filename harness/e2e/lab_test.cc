// assay lab and assay doctor as a user would call them. What needs root skips elsewhere.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "harness/e2e/program.h"
#include "targets/node/lab.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class LabCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto means = lab_means(); !means) GTEST_SKIP() << means.error().message;
  }
  void TearDown() override { (void)lab_down(name_); }

  Launch command(const std::string& what, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"lab", what, "--name", name_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Launch launch = assay(std::move(arguments));
    launch.folder = scratch_.path();
    return launch;
  }
  bool has_traces() const {
    return fs::exists("/run/netns/assay." + name_) || fs::exists("/sys/class/net/al-" + name_) ||
           fs::exists("/var/lib/assay-lab/" + name_);
  }

  const std::string name_ = "l" + std::to_string(::getpid() % 1'000'000);
  ScratchFolder scratch_;
};

TEST_F(LabCommand, UpStatusDown) {
  const Ended up = run(command("up", {"--nodes", "2", "-o", "lab.json"}));
  ASSERT_EQ(up.code, 0) << up.err;
  EXPECT_EQ(up.out, "");
  EXPECT_TRUE(has(up.err, "assay run --hosts lab.json")) << up.err;
  EXPECT_TRUE(has(text_of_file(scratch_.path() + "/lab.json"), "\"assay-hosts\""));
  const Ended status = run(command("status"));
  EXPECT_EQ(status.code, 0) << status.out;
  EXPECT_TRUE(has(status.out, "2 of 2 nodes")) << status.out;
  const Ended again = run(command("up"));
  EXPECT_EQ(again.code, 255);
  EXPECT_TRUE(has(again.err, "is up already")) << again.err;
  EXPECT_EQ(std::count(again.err.begin(), again.err.end(), '\n'), 1);
  const auto lab = find_lab(name_);
  ASSERT_TRUE(lab.ok());
  ASSERT_EQ(::kill(lab_status(*lab)[1].sshd, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return run(command("status")).code == 255; }, seconds(20)));
  const Ended down = run(command("down"));
  EXPECT_EQ(down.code, 0) << down.err;
  EXPECT_FALSE(has_traces());
  const Ended nothing = run(command("down"));
  EXPECT_EQ(nothing.code, 0);
  EXPECT_TRUE(has(nothing.out, "nothing to remove"));
  const Ended gone = run(command("status"));
  EXPECT_EQ(gone.code, 255);
  EXPECT_TRUE(has(gone.err, "there is no lab")) << gone.err;
}

TEST_F(LabCommand, WithoutAFileItPrintsTheHosts) {
  const Ended up = run(command("up", {"--nodes", "1"}));
  ASSERT_EQ(up.code, 0) << up.err;
  EXPECT_EQ(up.json().text_or("format", ""), "assay-hosts");
}

// Whenever `up` is killed, `down` finds what there is, and the next `up` can begin.
TEST_F(LabCommand, DownAfterUpWasKilledAtAnyMoment) {
  const std::vector<std::function<bool()>> moments = {
      [&] { return fs::exists("/var/lib/assay-lab/" + name_); },
      [&] { return fs::exists("/run/netns/assay." + name_); },
      [&] { return fs::exists("/run/netns/assay." + name_ + ".n2"); },
      [&] { return fs::exists("/var/lib/assay-lab/" + name_ + "/n1/sshd.pid"); },
      [&] { return fs::exists("/var/lib/assay-lab/" + name_ + "/n3/sshd.pid"); },
  };
  for (size_t i = 0; i < moments.size(); ++i) {
    Program up(command("up", {"--nodes", "4"}));
    ASSERT_TRUE(eventually(moments[i], seconds(60))) << i;
    up.signal(SIGKILL);
    (void)up.wait();
    const Ended down = run(command("down"));
    EXPECT_EQ(down.code, 0) << down.err;
    EXPECT_FALSE(has_traces()) << i;
  }
}

TEST_F(LabCommand, InterruptedUpLeavesNothing) {
  Program up(command("up", {"--nodes", "6"}));
  ASSERT_TRUE(eventually([&] { return fs::exists("/run/netns/assay." + name_); }, seconds(60)));
  up.signal(SIGTERM);
  const Ended ended = up.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_FALSE(has_traces());
}

TEST_F(LabCommand, OfTwoAtOnceOneSaysWhyNot) {
  Program one(command("up", {"--nodes", "2"})), other(command("up", {"--nodes", "2"}));
  const Ended first = one.wait(), second = other.wait();
  const Ended& failed = first.code == 0 ? second : first;
  EXPECT_EQ(std::min(first.code, second.code), 0) << first.err << second.err;
  EXPECT_EQ(failed.code, 255) << failed.err;
  EXPECT_TRUE(has(failed.err, "is up already")) << failed.err;
  EXPECT_EQ(run(command("status")).code, 0);
}

TEST_F(LabCommand, DoctorTellsWhatHostsCanDoAndWhichCannotBeReached) {
  ASSERT_EQ(run(command("up", {"--nodes", "2", "-o", "lab.json"})).code, 0);
  const auto doctor = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"doctor", "--hosts", "lab.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Launch launch = assay(std::move(arguments));
    launch.folder = scratch_.path();
    return run(launch);
  };
  const Ended well = doctor({});
  EXPECT_EQ(well.code, 0) << well.out << well.err;
  EXPECT_TRUE(has(well.out, "ready: `assay run --hosts lab.json`")) << well.out;
  const auto lab = find_lab(name_);
  for (const LabNode& node : lab->nodes) {
    EXPECT_TRUE(has(well.out, node.name + " (" + node.address + ")"));
    const std::string runs = node.folder + "/cache/runs";
    EXPECT_TRUE(!fs::exists(runs) || fs::is_empty(runs)) << runs;
  }
  ASSERT_EQ(::kill(lab_status(*lab)[0].sshd, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return lab_status(*lab)[0].sshd == 0; }, seconds(20)));
  const Ended ill = doctor({"--json"});
  EXPECT_EQ(ill.code, 255);
  EXPECT_TRUE(has(ill.err, "not ready: n1")) << ill.err;
  EXPECT_EQ(std::count(ill.err.begin(), ill.err.end(), '\n'), 1);
  const Value json = ill.json();
  ASSERT_TRUE(json["machines"].is_array()) << ill.out;
  ASSERT_EQ(json["machines"].as_array().size(), 3u);
  EXPECT_EQ(json["machines"].as_array()[1]["prerequisites"].as_array().size(), 1u);
  EXPECT_GT(json["machines"].as_array()[2]["prerequisites"].as_array().size(), 8u);
  EXPECT_FALSE(json.bool_or("ready", true));
}

TEST(LabCommandForAnybody, WithoutRootItSaysSoInALine) {
  Launch launch = assay({"lab", "up"});
  if (::getuid() == 0) launch.user = kNobody;
  const Ended up = run(launch);
  if (up.code == 1000 + SIGKILL || up.code == 122) GTEST_SKIP() << "this program is not another user's to run";
  EXPECT_EQ(up.code, 255);
  EXPECT_TRUE(has(up.err, "needs root")) << up.err;
  EXPECT_EQ(std::count(up.err.begin(), up.err.end(), '\n'), 1);
}

TEST(DoctorCommand, SaysALineForEachPrerequisiteOfThisMachine) {
  ScratchFolder scratch;
  Launch launch = assay({"doctor"});
  launch.folder = scratch.path();
  const Ended ended = run(launch);
  EXPECT_TRUE(ended.code == 0 || ended.code == 255) << ended.code;
  EXPECT_EQ(has(ended.out, "ready: `assay run`"), ended.code == 0) << ended.out;
  EXPECT_EQ(has(ended.err, "not ready: this machine: "), ended.code == 255) << ended.err;
  for (const char* what : {"private network", "machine", "processes", "disk faults", "clock faults", "cgroups",
                           "tools", "targets", "disk", "programs", "lab", "SSH keys"})
    EXPECT_TRUE(has(ended.out, std::string("  ") + what)) << what << ":\n" << ended.out;
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(DoctorCommand, NamesTheProgramsThatAreMissing) {
  ScratchFolder scratch;
  Launch launch = assay({"doctor", "--bin-dir", scratch.path()});
  launch.folder = scratch.path();
  const Ended ended = run(launch);
  EXPECT_EQ(ended.code, 255);
  EXPECT_TRUE(has(ended.out, "assay-agent, assay-raft: `./assay build`")) << ended.out;
}

}  // namespace
}  // namespace assay::e2e
