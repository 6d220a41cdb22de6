// Whatever is killed, nothing of the run is left five seconds later. With assay-rehearsal as
// driver.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <random>
#include <utility>

#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/test_support.h"

namespace assay {
namespace {

using agent::children_of;
using agent::processes_with;

class Rehearsed {
 public:
  explicit Rehearsed(const std::string& net) : is_private_(net == "private") {
    static int count = 0;
    run_ = "kill-matrix-" + std::to_string(getpid()) + "-" + std::to_string(++count);
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) abort();
    const std::string bin = ASSAY_BIN_DIR;
    const std::vector<std::string> words{bin + "/assay-rehearsal",
                                         "--run",
                                         run_,
                                         "--net",
                                         net,
                                         "--nodes",
                                         "3",
                                         "--agent",
                                         bin + "/assay-agent",
                                         "--folder",
                                         folder_.path()};
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(open(folder_.path("stderr").c_str(), O_WRONLY | O_CREAT, 0644), STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(126);
    }
    close(out[1]);
    out_ = out[0];
  }
  ~Rehearsed() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
    close(out_);
  }

  // Reads its lines up to one that begins so; false when there is none.
  bool comes_to(const std::string& line) {
    char letter;
    for (std::string text; read(out_, &letter, 1) == 1;) {
      if (letter != '\n') {
        text += letter;
      } else if (std::exchange(text, "").starts_with(line)) {
        return true;
      }
    }
    return false;
  }
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status) ? 1'000 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  // In the test's process table. 0: it is not there (yet).
  pid_t find(const std::string& role) const {
    const auto child_named = [](pid_t parent, const std::string& name) -> pid_t {
      for (pid_t child : children_of(parent)) {
        if (agent::read_whole("/proc/" + std::to_string(child) + "/comm") == name + "\n")
          return child;
      }
      return 0;
    };
    if (role == "launcher") return pid_;
    const pid_t init = is_private_ ? child_named(pid_, "assay-init") : 0;
    if (role == "init") return init;
    const pid_t driver = !is_private_ ? pid_ : init == 0 ? 0 : child_named(init, "assay-rehearsal");
    if (role == "driver" || driver == 0) return driver;
    if (role == "agent") return child_named(driver, "assay-agent");
    for (pid_t agent : children_of(driver)) {
      if (const pid_t found = child_named(agent, "assay-delay")) return found;
    }
    return 0;
  }

  std::vector<pid_t> left() const { return processes_with({"ASSAY_RUN=" + run_}); }
  bool all_gone() const {
    return agent::eventually([&] { return left().empty(); }, std::chrono::seconds(5));
  }
  std::string complaints() const { return folder_.read("stderr"); }

 private:
  bool is_private_;
  std::string run_;
  agent::ScratchFolder folder_;
  pid_t pid_ = -1;
  int out_ = -1;
};

struct Victim {
  const char* net;
  const char* role;
  int code;          // of what was started
  const char* says;  // on standard error
};

void PrintTo(const Victim& victim, std::ostream* out) { *out << victim.net << " " << victim.role; }

class KillMatrix : public testing::TestWithParam<Victim> {
 protected:
  void SetUp() override {
    if (GetParam().net == std::string("private") && !agent::namespaces_work()) {
      GTEST_SKIP() << "no namespaces for this user";
    }
  }

  // Kills it as soon as it is there; false when all ends before it was.
  static bool kill_one(const Rehearsed& rehearsed) {
    pid_t victim = 0;
    const bool there =
        agent::eventually([&] { return (victim = rehearsed.find(GetParam().role)) != 0; });
    return there && kill(victim, SIGKILL) == 0;
  }

  static void expect_end(Rehearsed& rehearsed) {
    EXPECT_EQ(rehearsed.wait(), GetParam().code) << rehearsed.complaints();
    EXPECT_NE(rehearsed.complaints().find(GetParam().says), std::string::npos)
        << rehearsed.complaints();
    EXPECT_TRUE(rehearsed.all_gone()) << rehearsed.left().size() << " processes are left";
  }
};

TEST_P(KillMatrix, WhenAllIsUpNothingIsLeft) {
  Rehearsed rehearsed(GetParam().net);
  ASSERT_TRUE(rehearsed.comes_to("ready"));
  // Driver, agents, of each daemon three processes, and in private a queue program.
  ASSERT_TRUE(agent::eventually([&] { return rehearsed.left().size() >= 13; }))
      << "the marks are not seen";
  ASSERT_TRUE(kill_one(rehearsed));
  expect_end(rehearsed);
}

TEST_P(KillMatrix, AtMomentsOfTheStartNothingIsLeft) {
  std::mt19937 draw(20240607);
  for (int round = 0; round < 6; ++round) {
    const int moment_us = static_cast<int>(draw() % 150'000);
    SCOPED_TRACE("after " + std::to_string(moment_us) + " us");
    Rehearsed rehearsed(GetParam().net);
    usleep(static_cast<useconds_t>(moment_us));
    ASSERT_TRUE(kill_one(rehearsed));
    EXPECT_EQ(rehearsed.wait(), GetParam().code) << rehearsed.complaints();
    EXPECT_TRUE(rehearsed.all_gone()) << rehearsed.left().size() << " processes are left";
  }
}

TEST_P(KillMatrix, AtMomentsOfTheEndNothingIsLeft) {
  std::mt19937 draw(20240608);
  for (int round = 0; round < 4; ++round) {
    const int moment_us = static_cast<int>(draw() % 20'000);
    SCOPED_TRACE("after " + std::to_string(moment_us) + " us");
    Rehearsed rehearsed(GetParam().net);
    ASSERT_TRUE(rehearsed.comes_to("ready"));
    const pid_t victim = rehearsed.find(GetParam().role), launcher = rehearsed.find("launcher");
    kill(launcher, SIGTERM);
    usleep(static_cast<useconds_t>(moment_us));
    kill(victim, SIGKILL);
    rehearsed.wait();
    EXPECT_TRUE(rehearsed.all_gone()) << rehearsed.left().size() << " processes are left";
  }
}

constexpr Victim kVictims[] = {
    {"private", "launcher", 1'000 + SIGKILL, ""},
    {"private", "init", 255, "the init of the run was killed by signal 9"},
    {"private", "driver", 255, "the driver was killed by signal 9"},
    {"private", "agent", 255, "is lost: killed by signal 9"},
    {"private", "delay", 255, "a delay did not hold: its queue program: killed by signal 9"},
    {"host", "driver", 1'000 + SIGKILL, ""},
    {"host", "agent", 255, "is lost: killed by signal 9"},
};
INSTANTIATE_TEST_SUITE_P(Victims, KillMatrix, testing::ValuesIn(kVictims), [](const auto& info) {
  return std::string(info.param.net) + "_" + info.param.role;
});

class WithoutKill : public testing::TestWithParam<const char*> {};

TEST_P(WithoutKill, ATerminatedRunEndsInOrderAndLeavesNothing) {
  if (!agent::namespaces_work()) GTEST_SKIP() << "no namespaces for this user";
  Rehearsed rehearsed(GetParam());
  ASSERT_TRUE(rehearsed.comes_to("ready"));
  kill(rehearsed.find("launcher"), SIGTERM);
  EXPECT_EQ(rehearsed.wait(), 130);
  EXPECT_EQ(rehearsed.complaints(), "");
  EXPECT_TRUE(rehearsed.left().empty());
}
INSTANTIATE_TEST_SUITE_P(Nets, WithoutKill, testing::Values("private", "host"));

}  // namespace
}  // namespace assay
