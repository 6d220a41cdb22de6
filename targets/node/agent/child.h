// Starting a process in a session of its own, as the agent and the driver do it.
//
// The child has only the three descriptors that are given, no blocked or ignored signal, and is
// killed by the kernel when the thread that called spawn ends (PDEATHSIG): call it from a thread
// that lives as long as the program, the main thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkers/history/error.h"

namespace assay::agent {

struct ChildSpec {
  std::vector<std::string> argv;  // a first word without a slash is looked for, see find_tool
  std::map<std::string, std::string> env;  // on top of the caller's environment
  std::string cwd;                         // empty: the caller's
  int in = -1, out = -1, err = -1;         // -1: nothing to read, and output goes nowhere
  std::function<int()> body;  // instead of argv: runs in the child; returns its exit code
};

// Returns after the program has been executed, or says why it could not be. The child's pid is
// also the number of its session and of its process group.
Result<pid_t> spawn(const ChildSpec& spec);

// How a process ended.
struct ExitStatus {
  int code = 0;    // where signal is 0
  int signal = 0;  // that killed it
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};
ExitStatus exit_status(int wait_status);       // from waitpid(2)
std::string describe(const ExitStatus& exit);  // "exited with 3", "killed by signal 9 (Killed)"

// A file in PATH, then in /usr/sbin, /sbin, /usr/bin and /bin (an ordinary user's PATH lacks some
// of them); empty when it is nowhere.
std::string find_tool(const std::string& name);

struct ToolOutput {
  ExitStatus exit;
  std::string out, err;
};

// Runs a short command to its end, and waits for it. An error where it could not be run, did not
// end within `patience_ms` (it is killed then), or ended with anything but 0: the error then
// quotes the first line of its complaint.
Result<ToolOutput> run_tool(const std::vector<std::string>& argv, const std::string& input = {},
                            int patience_ms = 5'000);

// A new anonymous file with this text, to be read from its start; -1 with errno set.
int text_file(const std::string& text);

}  // namespace assay::agent
