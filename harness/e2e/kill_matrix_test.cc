// kill -9 of every process of a run, at drawn moments: nothing of the run is left after five
// seconds, and what was recorded can be read.
//
// ASSAY_KILL_MOMENTS sets how many moments are drawn per role and user (10: two before the first
// hello of an agent, two in the teardown); ASSAY_KILL_SEED from what.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "checkers/history/rng.h"
#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;

int64_t number_from(const char* variable, int64_t fallback) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : fallback;
}

struct Proc {
  pid_t pid;
  pid_t parent;
  std::string name;
};

std::vector<Proc> all_processes() {
  std::vector<Proc> list;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = text_of_file(entry.path() / "stat");
    const size_t open = stat.find('('), close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    char state;
    int parent;
    if (std::sscanf(stat.c_str() + close + 1, " %c %d", &state, &parent) != 2) continue;
    list.push_back({std::atoi(pid.c_str()), parent, stat.substr(open + 1, close - open - 1)});
  }
  return list;
}

// Of a run whose launcher is known: -1 while there is none.
pid_t find_role(const std::string& role, pid_t launcher) {
  if (role == "launcher") return launcher;
  const auto processes = all_processes();
  const auto child_of = [&](pid_t parent, const std::string& name) {
    for (const Proc& p : processes) {
      if (p.parent == parent && p.name == name) return p.pid;
    }
    return pid_t{-1};
  };
  const pid_t init = child_of(launcher, "assay-init");
  if (role == "init" || init < 0) return init;
  const pid_t driver = child_of(init, "assay");
  if (role == "driver" || driver < 0) return driver;
  return child_of(driver, "assay-agent");
}

std::set<std::string> network_namespaces() {
  std::set<std::string> names;
  for (const Proc& p : all_processes()) {
    std::error_code error;
    const auto link = fs::read_symlink("/proc/" + std::to_string(p.pid) + "/ns/net", error);
    if (!error) names.insert(link);
  }
  return names;
}

enum class When { kBeforeHello, kDuringTheRun, kInTeardown };

struct Moment {
  When when;
  std::chrono::milliseconds delay;
};

std::vector<Moment> draw_moments(Rng& rng, int64_t count) {
  std::vector<Moment> moments;
  for (int64_t i = 0; i < count; ++i) {
    const When when = i % 5 == 1   ? When::kBeforeHello
                      : i % 5 == 3 ? When::kInTeardown
                                   : When::kDuringTheRun;
    const int64_t span = when == When::kDuringTheRun ? 4000 : 60;
    moments.push_back({when, std::chrono::milliseconds(rng.between(0, span))});
  }
  return moments;
}

class KillMatrix : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  std::string history() const {
    for (const auto& run : fs::directory_iterator(runs_)) {
      if (run.is_directory() && !run.is_symlink()) return run.path() / "history.jsonl";
    }
    return "";
  }
  bool in_teardown() const {
    if (!fs::exists(runs_)) return false;
    return text_of_file(history()).find("\"phase\":\"end\"") != std::string::npos;
  }

  void kill_at(const std::string& role, const Moment& moment, bool as_nobody) {
    const ScratchFolder scratch;
    runs_ = scratch.path() + "/results/runs";
    Launch launch = assay({"run", "--nodes", "3", "--time-limit", "4s", "--seed", "5"});
    launch.folder = scratch.path();
    if (as_nobody) launch.user = kNobody;
    const auto before = network_namespaces();
    Program program(launch);
    if (moment.when == When::kInTeardown) {
      ASSERT_TRUE(eventually([&] { return in_teardown(); }, std::chrono::seconds(60)));
    } else if (moment.when == When::kDuringTheRun) {
      ASSERT_TRUE(eventually([&] { return find_role("agent", program.pid()) > 0; },
                             std::chrono::seconds(30)));
    }
    std::this_thread::sleep_for(moment.delay);  // the moment itself
    pid_t victim = -1;
    eventually([&] { return (victim = find_role(role, program.pid())) > 0; },
               std::chrono::seconds(2));
    if (victim > 0) ::kill(victim, SIGKILL);  // in a teardown it may be gone already
    const Ended ended = program.wait(std::chrono::seconds(30));
    if (victim > 0 && moment.when != When::kInTeardown) {
      EXPECT_EQ(ended.code, role == "launcher" ? 1000 + SIGKILL : 255) << ended.out << ended.err;
    }
    if (!fs::exists(runs_)) return;  // killed before it made its folder
    const std::string run = fs::path(history()).parent_path().filename();
    EXPECT_TRUE(eventually([&] { return processes_of_run(run).empty(); }, std::chrono::seconds(5)))
        << role;
    EXPECT_TRUE(eventually(
        [&] {
          const auto now = network_namespaces();
          return std::includes(before.begin(), before.end(), now.begin(), now.end());
        },
        std::chrono::seconds(5)))
        << role << ": a network namespace is left";
    struct stat file {};
    if (::stat(history().c_str(), &file) != 0 || file.st_size == 0)
      return;  // before its first line
    const Ended checked = e2e::run(assay({"check", history(), "--checker", "stats"}));
    EXPECT_LT(checked.code, 254) << checked.err;
  }

 private:
  std::string runs_;
};

INSTANTIATE_TEST_SUITE_P(Roles, KillMatrix,
                         testing::Combine(testing::Values("launcher", "init", "driver", "agent"),
                                          testing::Bool()),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param)) +
                                  (std::get<1>(param.param) ? "AsNobody" : "");
                         });

TEST_P(KillMatrix, NothingOfTheRunIsLeftAndTheHistoryCanBeRead) {
  const auto [role, as_nobody] = GetParam();
  if (as_nobody && ::getuid() != 0) GTEST_SKIP() << "only root can become nobody";
  if (as_nobody && !ordinary_users_may_have_namespaces())
    GTEST_SKIP() << "this system refuses namespaces to ordinary users";
  Rng rng = Rng(static_cast<uint64_t>(number_from("ASSAY_KILL_SEED", 1))).stream(role);
  for (const Moment& moment : draw_moments(rng, number_from("ASSAY_KILL_MOMENTS", 1))) {
    SCOPED_TRACE(std::string(role) + " at " + std::to_string(moment.delay.count()) + " ms of " +
                 (moment.when == When::kBeforeHello  ? "the start"
                  : moment.when == When::kInTeardown ? "the teardown"
                                                     : "the run"));
    kill_at(role, moment, as_nobody);
  }
}

}  // namespace
}  // namespace assay::e2e
