// Runs our own programs as a user would: a command line in, exit code and output out. For tests.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkers/history/value.h"

namespace assay::e2e {

struct Ended {
  int code = -1;  // exit code, or 1000 + signal
  std::string out;
  std::string err;
  Value json() const;  // of `out`; null when it is none
};

struct Launch {
  std::vector<std::string> argv;      // argv[0] a path
  std::vector<std::string> env;       // NAME=value; empty: this process's
  std::string folder;                 // working directory; empty: this one
  std::optional<uid_t> user;          // another user (needs root); its group is the same number
  std::function<void()> before_exec;  // in the child, before the user changes
};

// A program that runs. What it prints is gathered; the destructor kills it.
class Program {
 public:
  explicit Program(const Launch& launch);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);
  // Gathers output until the condition on it holds; false at its end or when the time is up.
  bool wait_for(const std::function<bool(const Ended& so_far)>& condition,
                std::chrono::seconds limit);
  Ended wait(std::chrono::seconds limit = std::chrono::seconds(300));  // killed at the limit

 private:
  bool gather(std::chrono::steady_clock::time_point until);  // false: its outputs have ended

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Ended so_far_;
  bool reaped_ = false;
};

Ended run(const Launch& launch, std::chrono::seconds limit = std::chrono::seconds(300));
// `assay` of this build with these arguments.
Launch assay(std::vector<std::string> arguments);
std::string bin_dir();  // the folder of this very program

constexpr uid_t kNobody = 65534;  // an ordinary user, on every machine

// False in a chroot, for one: there only root may have namespaces.
bool ordinary_users_may_have_namespaces();

// What a file holds; empty where it cannot be read, as of a process that ends meanwhile.
std::string text_of_file(const std::string& path);

// Processes whose environment carries ASSAY_RUN=<run>.
std::vector<pid_t> processes_of_run(const std::string& run);
// True as soon as the condition holds; false when it does not within the limit.
bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit);

// A folder that is removed at the end of its scope, open to every user.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace assay::e2e
