#include "targets/node/net_namespace.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "targets/node/agent/proc_fs.h"

extern "C" {  // glibc 2.36 forgot it
#include <sys/pidfd.h>
}

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kNames[] = "/run/netns";
constexpr auto kThawAfter = std::chrono::milliseconds(300);
constexpr auto kPatience = std::chrono::seconds(10);

// Sure to hit the process that was looked at, not one that got its number since.
void kill_in(const NetNamespace& where, pid_t process) {
  const int handle = pidfd_open(process, 0);
  if (handle < 0) return;
  if (net_namespace_of(process) == where) pidfd_send_signal(handle, SIGKILL, nullptr, 0);
  close(handle);
}

// A frozen process of the first kind of cgroups does not die before it is thawed.
void thaw(pid_t process) {
  std::ifstream cgroups("/proc/" + std::to_string(process) + "/cgroup");
  for (std::string line; std::getline(cgroups, line);) {  // "5:freezer:/path"
    const size_t at = line.find(":freezer:");
    if (at == std::string::npos) continue;
    std::ofstream("/sys/fs/cgroup/freezer" + line.substr(at + 9) + "/freezer.state") << "THAWED";
  }
}

// The mount table writes blanks and such as \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    plain += is_escape ? static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
    if (is_escape) i += 3;
  }
  return plain;
}

std::vector<std::string> mounts_below(const std::string& folder) {
  std::vector<std::string> found;
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped, point;
    for (int i = 0; i < 4; ++i) fields >> skipped;
    fields >> point;
    point = unescaped(point);
    if (point == folder || point.starts_with(folder + "/")) found.push_back(point);
  }
  return found;
}

}  // namespace

std::string named_namespace_path(const std::string& name) {
  return std::string(kNames) + "/" + name;
}

std::vector<std::string> named_namespaces_beginning_with(const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kNames, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<NetNamespace> net_namespace_at(const std::string& path) {
  struct stat own {
  }, found{};
  if (stat("/proc/self/ns/net", &own) != 0 || stat(path.c_str(), &found) != 0) return {};
  if (found.st_dev != own.st_dev) return {};  // a plain file that waits for its namespace
  return NetNamespace{found.st_dev, found.st_ino};
}

std::optional<NetNamespace> net_namespace_of(pid_t process) {
  return net_namespace_at("/proc/" + std::to_string(process) + "/ns/net");
}

std::vector<pid_t> processes_in(const NetNamespace& where) {
  std::vector<pid_t> found;
  for (pid_t process : agent::all_processes()) {
    if (net_namespace_of(process) == where) found.push_back(process);
  }
  return found;
}

Result<int> kill_processes_in(const NetNamespace& where) {
  if (net_namespace_of(getpid()) == where)
    return environment_error("this process is in the network namespace that is to end");
  std::set<pid_t> killed;
  const auto start = Clock::now();
  for (;;) {
    const std::vector<pid_t> left = processes_in(where);
    if (left.empty()) return static_cast<int>(killed.size());
    const auto waited = Clock::now() - start;
    if (waited > kPatience)
      return environment_error("process " + std::to_string(left[0]) + " does not die");
    for (pid_t process : left) {
      kill_in(where, process);
      if (waited > kThawAfter) thaw(process);
    }
    killed.insert(left.begin(), left.end());
    usleep(2'000);
  }
}

Result<void> remove_named_namespace(const std::string& name) {
  const std::string path = named_namespace_path(name);
  while (umount2(path.c_str(), MNT_DETACH) == 0) {
  }
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return environment_error("cannot remove " + path + ": " + strerror(errno));
}

Result<void> unmount_below(const std::string& folder) {
  std::error_code ignored;
  const fs::path real = fs::canonical(folder, ignored);
  std::vector<std::string> mounts = mounts_below(real.empty() ? folder : real.string());
  for (auto it = mounts.rbegin(); it != mounts.rend(); ++it) {  // the last one first
    if (umount2(it->c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL)
      return environment_error("cannot unmount " + *it + ": " + strerror(errno));
  }
  return {};
}

}  // namespace assay
