#include "targets/node/agent/control_group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "targets/node/agent/proc_fs.h"

namespace assay::agent {
namespace {

std::string text_in(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char buffer[4'096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  ::close(fd);
  return text;
}

bool put_text(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool put = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::close(fd);
  errno = error;
  return put;
}

bool has_word(std::string text, const std::string& word) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  for (std::string each; words >> each;)
    if (each == word) return true;
  return false;
}

struct Hierarchy {
  std::string mount;  // where its root, or what is seen of it, is
  std::string ours;   // the folder of this process's own group
  bool v2 = false;
  std::string options;  // v1: its controllers
};

// The path of this process's group in the hierarchy with that controller ("" for version 2).
std::string own_path(const std::string& controller) {
  std::istringstream lines(text_in("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller))
      return line.substr(second + 1);
  }
  return "/";
}

// Those that are mounted here.
std::vector<Hierarchy> hierarchies() {
  std::vector<Hierarchy> found;
  std::istringstream lines(text_in("/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string id, parent, device, root, mount, type, source, options;
    left >> id >> parent >> device >> root >> mount;
    right >> type >> source >> options;
    if (type != "cgroup" && type != "cgroup2") continue;
    Hierarchy hierarchy{.mount = mount, .v2 = type == "cgroup2", .options = options};
    std::string own = own_path(hierarchy.v2 ? "" : options.substr(options.rfind(',') + 1));
    if (root != "/" && own.starts_with(root)) own.erase(0, root.size());
    if (own.find("..") != std::string::npos || ::access((mount + own).c_str(), F_OK) != 0) own = "";
    hierarchy.ours = own == "/" ? mount : mount + own;
    found.push_back(std::move(hierarchy));
  }
  return found;
}

std::string group_name(const std::string& run, const std::string& node) {
  std::string name = "assay-" + run + "-" + node;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

// Where a group of ours can be: below our own, and in the root of what is mounted, where version 2
// has its controllers (a group with processes cannot pass them on).
std::vector<std::string> parents(const Hierarchy& hierarchy) {
  std::vector<std::string> places{hierarchy.ours};
  if (hierarchy.ours != hierarchy.mount) places.push_back(hierarchy.mount);
  if (hierarchy.v2) std::reverse(places.begin(), places.end());
  return places;
}

// The file that is there only where the controller is.
std::string control_file(const std::string& controller, bool v2) {
  if (controller == "cpu") return v2 ? "cpu.max" : "cpu.cfs_quota_us";
  if (controller == "memory") return v2 ? "memory.max" : "memory.limit_in_bytes";
  return v2 ? "cgroup.freeze" : "freezer.state";
}

bool provides(const Hierarchy& hierarchy, const std::string& controller) {
  if (!hierarchy.v2) return has_word(hierarchy.options, controller);
  return controller == "freezer" ||  // it belongs to every group
         has_word(text_in(hierarchy.mount + "/cgroup.controllers"), controller);
}

// Those that are there, each with whether its hierarchy is of version 2.
std::map<std::string, bool> groups_of(const std::string& run, const std::string& node) {
  std::map<std::string, bool> groups;
  for (const Hierarchy& hierarchy : hierarchies()) {
    for (const std::string& parent : parents(hierarchy)) {
      const std::string folder = parent + "/" + group_name(run, node);
      if (::access(folder.c_str(), F_OK) == 0) groups[folder] = hierarchy.v2;
    }
  }
  return groups;
}

}  // namespace

Result<ControlGroup> ControlGroup::open(const std::string& controller, const std::string& run,
                                        const std::string& node) {
  std::string why = "no hierarchy of control groups with \"" + controller + "\" is mounted";
  std::vector<Hierarchy> known = hierarchies();
  std::erase_if(known, [&](const auto& one) { return !provides(one, controller); });
  // A process that is frozen in version 2 can still be killed.
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& a, const auto& b) { return a.v2 > b.v2; });
  for (const Hierarchy& hierarchy : known) {
    for (const std::string& parent : parents(hierarchy)) {
      ControlGroup group;
      group.v2_ = hierarchy.v2;
      group.folder_ = parent + "/" + group_name(run, node);
      const bool made = ::mkdir(group.folder_.c_str(), 0755) == 0;
      if (!made && errno != EEXIST) {
        why = "cannot make a control group in " + parent + ": " + strerror(errno);
        continue;
      }
      const std::string file = group.folder_ + "/" + control_file(controller, hierarchy.v2);
      if (hierarchy.v2 && ::access(file.c_str(), F_OK) != 0)
        put_text(parent + "/cgroup.subtree_control", "+" + controller);
      if (::access(file.c_str(), W_OK) == 0) return group;
      why = "the control group " + group.folder_ + " has no controller \"" + controller + "\"";
      if (made) ::rmdir(group.folder_.c_str());
    }
  }
  return environment_error(why);
}

void ControlGroup::thaw(const std::string& run, const std::string& node) {
  for (const auto& [folder, v2] : groups_of(run, node))
    put_text(folder + (v2 ? "/cgroup.freeze" : "/freezer.state"), v2 ? "0" : "THAWED");
}

Result<bool> ControlGroup::remove(const std::string& run, const std::string& node) {
  const auto groups = groups_of(run, node);
  thaw(run, node);
  for (const auto& [folder, v2] : groups) {
    // What was killed a moment ago may still be in it.
    for (int tries = 0; ::rmdir(folder.c_str()) != 0 && errno != ENOENT; ++tries) {
      if (tries == 100)
        return environment_error("cannot remove " + folder + ": " + strerror(errno));
      ::usleep(10'000);
    }
  }
  return !groups.empty();
}

Result<void> ControlGroup::write(const std::string& file, const std::string& text) const {
  if (put_text(folder_ + "/" + file, text)) return {};
  return environment_error("cannot write \"" + text + "\" to " + folder_ + "/" + file + ": " +
                           strerror(errno));
}

std::string ControlGroup::read(const std::string& file) const {
  std::string text = text_in(folder_ + "/" + file);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::optional<int64_t> ControlGroup::number(const std::string& file,
                                            const std::string& name) const {
  std::istringstream lines(read(file));
  std::string key;
  for (int64_t value; lines >> key >> value;)
    if (key == name) return value;
  return std::nullopt;
}

Result<void> ControlGroup::take(const std::function<std::vector<pid_t>()>& processes) const {
  std::set<pid_t> taken;
  for (int round = 0; round < 50; ++round) {
    bool any = false;
    for (pid_t process : processes()) {
      if (taken.contains(process)) continue;
      const bool moved = put_text(folder_ + "/cgroup.procs", std::to_string(process));
      if (!moved && errno != ESRCH && is_alive(process))
        return environment_error("cannot move a process into " + folder_ + ": " + strerror(errno));
      taken.insert(process);
      any = true;
    }
    if (!any) return {};
  }
  return environment_error("its processes fork faster than they can be moved");
}

}  // namespace assay::agent
