#include "targets/node/agent/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

std::string read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char buffer[4'096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(fd);
  return text;
}

std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = readdir(dir)) {
    const pid_t number = static_cast<pid_t>(atoi(entry->d_name));
    if (number > 0) numbers.push_back(number);
  }
  closedir(dir);
  return numbers;
}

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

struct Stat {
  char state = 0;  // 0: gone
  pid_t parent = 0, group = 0;
  long user_ticks = 0, system_ticks = 0, resident_pages = 0;
};

Stat stat_of(pid_t process) {
  const std::string text = read_file(folder_of(process) + "/stat");
  const size_t name_end = text.rfind(')');  // the name itself may hold anything
  Stat stat;
  if (name_end == std::string::npos) return stat;
  sscanf(text.c_str() + name_end + 1,
         " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %*d %*d %*d %*d %*d %*d %*u %*u %ld",
         &stat.state, &stat.parent, &stat.group, &stat.user_ticks, &stat.system_ticks,
         &stat.resident_pages);
  return stat;
}

// The number behind "name:" at the start of a line of a status file.
uint64_t status_number(const std::string& text, const char* name) {
  const size_t at = text.find(std::string("\n") + name + ":");
  if (at == std::string::npos) return 0;
  return strtoull(text.c_str() + text.find(':', at) + 1, nullptr, 10);
}

std::set<std::string_view> environment_entries(const std::string& text) {
  std::set<std::string_view> entries;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    entries.insert(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

}  // namespace

bool has_proc_fs() { return stat_of(getpid()).state != 0; }

std::vector<pid_t> all_processes() { return numbers_in("/proc"); }

bool is_alive(pid_t process) {
  const char state = stat_of(process).state;
  return state != 0 && state != 'Z' && state != 'X';
}

std::vector<pid_t> members_of_group(pid_t group) {
  std::vector<pid_t> members;
  for (pid_t process : all_processes()) {
    const Stat stat = stat_of(process);
    if (stat.group == group && stat.state != 'Z' && stat.state != 'X') members.push_back(process);
  }
  return members;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (pid_t process : all_processes()) {
    const Stat stat = stat_of(process);
    if (stat.state != 0 && stat.parent == parent) children.push_back(process);
  }
  return children;
}

std::vector<ThreadState> threads_of(const std::vector<pid_t>& processes) {
  std::vector<ThreadState> threads;
  for (pid_t process : processes) {
    const std::string tasks = folder_of(process) + "/task";
    for (pid_t thread : numbers_in(tasks)) {
      const std::string text = read_file(tasks + "/" + std::to_string(thread) + "/status");
      const size_t at = text.find("\nState:\t");
      if (at == std::string::npos) continue;
      threads.push_back({process, thread, text[at + 8],
                         status_number(text, "voluntary_ctxt_switches") +
                             status_number(text, "nonvoluntary_ctxt_switches")});
    }
  }
  return threads;
}

bool is_stopped(const ThreadState& thread) {
  return std::string_view("TtZXx").find(thread.state) != std::string_view::npos;
}

ProcessUsage usage_of(pid_t process) {
  const Stat stat = stat_of(process);
  return {(stat.user_ticks + stat.system_ticks) * 1'000 / sysconf(_SC_CLK_TCK),
          stat.resident_pages * sysconf(_SC_PAGESIZE)};
}

std::vector<pid_t> processes_with(const std::vector<std::string>& wanted) {
  std::vector<pid_t> found;
  for (pid_t process : all_processes()) {
    if (process == getpid()) continue;
    const std::string text = read_file(folder_of(process) + "/environ");
    const auto entries = environment_entries(text);
    if (std::all_of(wanted.begin(), wanted.end(),
                    [&](const auto& e) { return entries.contains(e); }))
      found.push_back(process);
  }
  return found;
}

int kill_marked(const std::string& run, const std::string& node) {
  std::set<pid_t> spared{getpid()};
  for (pid_t up = getppid(); up > 1 && spared.insert(up).second;) up = stat_of(up).parent;
  std::set<pid_t> killed;
  for (int round = 0; round < 200; ++round) {
    bool any = false;
    for (pid_t process : processes_with(
             {std::string(kRunVariable) + "=" + run, std::string(kNodeVariable) + "=" + node})) {
      if (spared.contains(process)) continue;
      any = true;
      if (kill(process, SIGKILL) == 0) killed.insert(process);
    }
    if (!any) break;
    const timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  return static_cast<int>(killed.size());
}

}  // namespace assay::agent
