// What /proc says about processes. All of it is a snapshot: a process may be gone a moment later.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace assay::agent {

struct ThreadState {
  pid_t pid = 0, tid = 0;
  char state = '?';       // as in proc(5): R, S, D, T stopped, t traced, Z zombie, X dead
  uint64_t switches = 0;  // how often it has left a processor: grows whenever it has run
  friend bool operator==(const ThreadState&, const ThreadState&) = default;
};

bool has_proc_fs();  // false in a chroot without /proc

std::vector<pid_t> all_processes();
bool is_alive(pid_t process);  // there, and no zombie
std::vector<pid_t> members_of_group(pid_t group);  // without zombies
std::vector<pid_t> children_of(pid_t parent);      // zombies too
std::vector<ThreadState> threads_of(const std::vector<pid_t>& processes);
bool is_stopped(const ThreadState& thread);  // T or t, or already dead

struct ProcessUsage {
  int64_t cpu_ms = 0;
  int64_t resident_bytes = 0;
};
ProcessUsage usage_of(pid_t process);

// Processes whose environment, as it was when they were executed, has all of these NAME=value
// entries, except the caller. Only processes that the caller may read.
std::vector<pid_t> processes_with(const std::vector<std::string>& entries);

// Kills what carries this run's and this node's mark, and waits up to two seconds until it is
// gone. The caller and its parents are spared. Returns how many processes were killed.
int kill_marked(const std::string& run, const std::string& node);

}  // namespace assay::agent
