// A shell inside a node of a run that was kept with --leave-running: the namespaces of its agent,
// found by the marks that every process of a run carries in its environment.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/cli/verbs.h"
#include "results/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The environment of a process, each entry ended by a zero byte; empty when it is not ours to read.
std::string environment_of(const fs::path& process) {
  std::ifstream file(process / "environ", std::ios::binary);
  return std::string(1, '\0') +
         std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

bool has_entry(const std::string& environment, const std::string& entry) {
  return environment.find('\0' + entry + '\0') != std::string::npos;
}

Result<fs::path> find_agent(const std::string& run, const std::string& node) {
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = environment_of(process.path());
    if (!has_entry(environment, "ASSAY_RUN=" + run) ||
        !has_entry(environment, "ASSAY_NODE=" + node))
      continue;
    std::ifstream name(process.path() / "comm");
    std::string command;
    std::getline(name, command);
    if (command == "assay-agent") return process.path();
  }
  return environment_error(
      "no agent of node " + node + " of run " + run +
      " is alive: was the run started with --leave-running, is it still in the foreground?");
}

Result<void> enter(const fs::path& process, const char* kind) {
  const fs::path theirs = process / "ns" / kind;
  struct stat own {
  }, other{};
  if (::stat((fs::path("/proc/self/ns") / kind).c_str(), &own) == 0 &&
      ::stat(theirs.c_str(), &other) == 0 && own.st_ino == other.st_ino) {
    return {};
  }
  const int fd = ::open(theirs.c_str(), O_RDONLY | O_CLOEXEC);
  const int entered = fd < 0 ? -1 : ::setns(fd, 0);
  const std::string why = std::strerror(errno);
  if (fd >= 0) ::close(fd);
  if (entered == 0) return {};
  return environment_error("cannot enter the " + std::string(kind) +
                           " namespace of the node: " + why);
}

int run_in(const fs::path& process, const std::vector<std::string>& command) {
  for (const char* kind : {"user", "net", "pid", "mnt"}) {  // mnt last: it hides this /proc
    if (auto entered = enter(process, kind); !entered) return fail(entered.error());
  }
  const pid_t child = ::fork();  // the pid namespace counts for children only
  if (child < 0) return fail(environment_error(std::string("fork: ") + std::strerror(errno)));
  if (child == 0) {
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    std::fprintf(stderr, "assay: %s: %s\n", argv[0], std::strerror(errno));
    ::_exit(kExitHarness);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitHarness;
}

}  // namespace

int shell_verb(const ShellArgs& args) {
  auto folder = RunFolder::open(args.run, std::string(kDefaultRuns));
  if (!folder) return fail(folder.error());
  if (args.node.find('/') != std::string::npos || !fs::is_directory(folder->node_path(args.node)))
    return fail(input_error("the run " + folder->name() + " has no node \"" + args.node + "\""));
  auto agent = find_agent(folder->name(), args.node);
  if (!agent) return fail(agent.error());
  std::vector<std::string> command = args.command;
  const char* shell = std::getenv("SHELL");
  if (command.empty()) command = {shell ? shell : "/bin/sh"};
  return run_in(*agent, command);
}

}  // namespace assay
