// The private world: in child processes, since it is for a program's first moments.
#include "targets/node/private_net.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>

#include "targets/node/agent/child.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/test_support.h"

namespace assay {
namespace {

using agent::read_whole;
using agent::run_tool;

// The run's mark: of this process's children alone, since other tests run at the same time.
const std::string kMark = "private-net-test-" + std::to_string(getpid());

// A launcher as it is started by a shell: with its own ends of two pipes.
struct Launched {
  pid_t pid = -1;
  int out = -1;

  std::string rest() const {  // all that it still writes, to its end
    std::string text;
    char buffer[4'096];
    for (ssize_t n; (n = read(out, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
    return text;
  }
  int wait() const {  // its exit code; 1000 + signal
    int status = 0;
    waitpid(pid, &status, 0);
    close(out);
    return WIFSIGNALED(status) ? 1'000 + WTERMSIG(status) : WEXITSTATUS(status);
  }
};

// Runs `driver` in a private world of its own and passes its result on as an exit code. An error of
// the entry is written out, and makes it 255.
Launched launch(
    const std::function<int()>& driver, const std::function<void()>& before = [] {}) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) abort();
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid != 0) {
    close(out[1]);
    return {pid, out[0]};
  }
  dup2(out[1], STDOUT_FILENO);
  dup2(out[1], STDERR_FILENO);
  close(out[0]);
  close(out[1]);
  before();
  int code = 255;
  if (const auto entered = enter_private_world(kMark); entered) {
    code = driver();
  } else {
    printf("%s\n", entered.error().message.c_str());
  }
  fflush(nullptr);
  _exit(code);
}

void say(const std::string& text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(99);
}

std::string ip(const std::vector<std::string>& words) {
  std::vector<std::string> argv{"ip"};
  argv.insert(argv.end(), words.begin(), words.end());
  const auto output = run_tool(argv);
  return output ? output->out : "failed: " + output.error().message;
}

class PrivateWorld : public testing::Test {
 protected:
  void SetUp() override {
    if (!agent::namespaces_work()) GTEST_SKIP() << "no namespaces for this user";
  }
};

TEST_F(PrivateWorld, PassesTheDriversExitCodeAndOutputOn) {
  for (int code : {0, 1, 5, 130, 254}) {
    const Launched launched = launch([code] {
      say("from the driver");
      return code;
    });
    EXPECT_EQ(launched.rest(), "from the driver");
    EXPECT_EQ(launched.wait(), code);
  }
}

TEST_F(PrivateWorld, HasItsOwnProcessTableAndNetwork) {
  const Launched launched = launch([] {
    const bool good = getppid() == 1 && agent::all_processes().size() == 2 &&
                      read_whole("/proc/1/comm") == "assay-init\n" && getpgrp() == getpid() &&
                      ip({"-o", "link"}).find(": eth") == std::string::npos &&
                      ip({"-o", "addr"}).find(driver_address() + "/24") != std::string::npos &&
                      ip({"-o", "link", "show", "lo"}).find("UP") != std::string::npos;
    if (!good) say(ip({"addr"}));
    return good ? 0 : 1;
  });
  EXPECT_EQ(launched.rest(), "");
  EXPECT_EQ(launched.wait(), 0);
}

TEST_F(PrivateWorld, LeavesTheHostsNetworkAndMountsAlone) {
  const auto mounts = [] { return read_whole("/proc/self/mountinfo"); };
  const auto links = [] { return ip({"-o", "link"}); };
  const std::string mounts_before = mounts(), links_before = links();
  const Launched launched = launch([] {
    char letter;
    say("x");
    return read(STDIN_FILENO, &letter, 0) < 0;
  });
  launched.rest();
  EXPECT_EQ(mounts(), mounts_before);
  EXPECT_EQ(links(), links_before);
  EXPECT_EQ(launched.wait(), 0);
}

TEST_F(PrivateWorld, EveryProcessCarriesTheMarkThoughItWasSetLate) {
  const Launched launched = launch([] {
    const bool good =
        read_whole("/proc/1/environ").find("ASSAY_RUN=" + kMark) != std::string::npos &&
        read_whole("/proc/self/environ").find("ASSAY_RUN=" + kMark) != std::string::npos &&
        getenv("ASSAY_RUN") == kMark;
    say("ready");
    pause();
    return good ? 0 : 1;
  });
  char ready[5];
  EXPECT_EQ(read(launched.out, ready, 5), 5);
  EXPECT_EQ(agent::processes_with({"ASSAY_RUN=" + kMark}).size(), 3u);
  kill(launched.pid, SIGTERM);
  EXPECT_EQ(launched.wait(), 130);
}

TEST_F(PrivateWorld, OrphansAreReaped) {
  const Launched launched = launch([] {
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        if (fork() == 0) _exit(0);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
    return agent::eventually([] { return agent::all_processes().size() == 2; }) ? 0 : 1;
  });
  EXPECT_EQ(launched.wait(), 0);
}

TEST_F(PrivateWorld, EndsWithTheDriverWhateverStillRuns) {
  const Launched launched = launch([] {
    if (fork() == 0) {
      setsid();
      signal(SIGTERM, SIG_IGN);
      for (;;) pause();
    }
    return 7;
  });
  launched.rest();  // its end comes when nobody has the pipe open any more
  EXPECT_EQ(launched.wait(), 7);
}

TEST_F(PrivateWorld, ADriverThatDiesOfASignalIsAFailureOfTheHarness) {
  const struct {
    int signal, code;
    const char* says;
  } rows[] = {{SIGKILL, 255, "killed by signal 9 (Killed)"},
              {SIGABRT, 255, "killed by signal 6"},
              {SIGTERM, 130, ""},
              {SIGINT, 130, ""}};
  for (const auto& row : rows) {
    const Launched launched = launch(
        [&] {
          signal(row.signal, SIG_DFL);
          raise(row.signal);
          pause();
          return 0;
        },
        [] {
          const rlimit no_core{0, 0};
          setrlimit(RLIMIT_CORE, &no_core);
        });
    const std::string text = launched.rest();
    EXPECT_NE(text.find(row.says), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), *row.says ? 1 : 0) << text;
    EXPECT_EQ(launched.wait(), row.code);
  }
}

volatile sig_atomic_t interrupts = 0;

// A driver that counts the signals that it gets, for as long as it takes to get one, and a bit.
int count_interrupts() {
  for (int number : {SIGINT, SIGTERM}) {
    signal(number, [](int) { interrupts = interrupts + 1; });
  }
  say("ready\n");
  while (interrupts == 0) poll(nullptr, 0, 10);
  poll(nullptr, 0, 200);
  say("interrupts " + std::to_string(interrupts) + "\n");
  return 130;
}

TEST_F(PrivateWorld, SignalsToTheLauncherReachTheDriverOnce) {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    const Launched launched = launch(count_interrupts);
    char ready[6];
    ASSERT_EQ(read(launched.out, ready, 6), 6);
    kill(launched.pid, number);
    EXPECT_EQ(launched.rest(), "interrupts 1\n") << number;
    EXPECT_EQ(launched.wait(), 130);
  }
}

TEST_F(PrivateWorld, IgnoredSignalsStayIgnored) {
  const Launched launched = launch(count_interrupts, [] {
    signal(SIGINT, SIG_IGN);  // as a script's background job
    signal(SIGHUP, SIG_IGN);  // as under nohup
  });
  char ready[6];
  ASSERT_EQ(read(launched.out, ready, 6), 6);
  kill(launched.pid, SIGINT);
  kill(launched.pid, SIGHUP);
  kill(launched.pid, SIGTERM);
  EXPECT_EQ(launched.rest(), "interrupts 1\n");
  EXPECT_EQ(launched.wait(), 130);
}

// On a terminal of its own: what Ctrl-C and Ctrl-Z do.
TEST_F(PrivateWorld, CtrlCReachesTheDriverOnceAndCtrlZDoesNothing) {
  int terminal = -1;
  fflush(nullptr);
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid < 0) GTEST_SKIP() << "no pseudo-terminals here";
  if (pid == 0) {
    // The launcher's group is in the foreground, as a shell would have it.
    const pid_t job = fork();
    setpgid(job, job);
    signal(SIGTTOU, SIG_IGN);
    if (job == 0) {
      setpgid(0, 0);
      tcsetpgrp(STDIN_FILENO, getpgrp());
      signal(SIGTTOU, SIG_DFL);
      const auto entered = enter_private_world(kMark);
      if (!entered) say(entered.error().message);
      _exit(entered ? count_interrupts() : 255);
    }
    int status = 0;
    waitpid(job, &status, WUNTRACED);
    say(WIFSTOPPED(status) ? "stopped\n" : "code " + std::to_string(WEXITSTATUS(status)) + "\n");
    _exit(0);
  }
  std::string text;
  const auto read_until = [&](const std::string& wanted) {
    char buffer[256];
    for (ssize_t n;
         text.find(wanted) == std::string::npos && (n = read(terminal, buffer, sizeof buffer)) > 0;)
      text.append(buffer, size_t(n));
    return text.find(wanted) != std::string::npos;
  };
  ASSERT_TRUE(read_until("ready")) << text;
  ASSERT_EQ(write(terminal, "\x1a", 1), 1);
  ASSERT_EQ(write(terminal, "\x03", 1), 1);
  EXPECT_TRUE(read_until("interrupts 1")) << text;
  EXPECT_TRUE(read_until("code 130")) << text;
  waitpid(pid, nullptr, 0);
  close(terminal);
}

// As a container's filter does it.
void refuse_unshare() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(99);
}

TEST_F(PrivateWorld, WhereItIsRefusedOneLineSaysWhyAndWhatToDo) {
  const Launched launched = launch([] { return 0; }, refuse_unshare);
  const std::string text = launched.rest();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("seccomp"), std::string::npos) << text;
  EXPECT_NE(text.find("--net host"), std::string::npos) << text;
  EXPECT_EQ(launched.wait(), 255);
}

// In a user namespace of its own, whose limits are its own too.
TEST_F(PrivateWorld, AnExhaustedLimitIsNamed) {
  const Launched launched =
      launch([] { return 0; },
             [] {
               const uid_t uid = getuid();
               if (unshare(CLONE_NEWUSER) != 0) _exit(77);
               std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
               std::ofstream("/proc/sys/user/max_net_namespaces") << "0";
               if (getuid() != 0 || read_whole("/proc/sys/user/max_net_namespaces") != "0\n")
                 _exit(77);
             });
  const std::string text = launched.rest();
  const int code = launched.wait();
  if (code == 77) GTEST_SKIP() << "no limit can be set here";
  EXPECT_EQ(code, 255);
  EXPECT_NE(text.find("user.max_net_namespaces is 0"), std::string::npos) << text;
}

TEST_F(PrivateWorld, APowerThatIsDeniedAfterwardsIsNoticed) {
  // A system that grants namespaces and denies their powers: here, links are no business of ours.
  const Launched launched =
      launch([] { return 0; },
             [] {
               prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
               sock_filter filter[] = {
                   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 1),
                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
               };
               const sock_fprog program{sizeof filter / sizeof *filter, filter};
               if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(99);
             });
  const std::string text = launched.rest();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("bridge"), std::string::npos) << text;
  EXPECT_EQ(launched.wait(), 255);
}

TEST_F(PrivateWorld, AllNodesHaveAddressesOfTheirOwn) {
  std::set<std::string> addresses{driver_address()};
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(addresses.insert(node_address(i)).second);
  EXPECT_EQ(node_address(0), "10.77.0.11");
}

}  // namespace
}  // namespace assay
