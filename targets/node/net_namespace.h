// Named network namespaces, as `ip netns` makes them, and what lives in them. Blocking; for root.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "checkers/history/error.h"

namespace assay {

// Which namespace it is, whatever paths lead to it.
struct NetNamespace {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const NetNamespace&, const NetNamespace&) = default;
};

std::string named_namespace_path(const std::string& name);
// In the order of their names.
std::vector<std::string> named_namespaces_beginning_with(const std::string& prefix);
// Of a path such as /run/netns/NAME; nothing where there is none, or what a crash left of it.
std::optional<NetNamespace> net_namespace_at(const std::string& path);
std::optional<NetNamespace> net_namespace_of(pid_t process);

std::vector<pid_t> processes_in(const NetNamespace& where);
// Kills all of them, also those that are stopped, frozen, or that come meanwhile. How many there
// were. Never those of the caller's own namespace.
Result<int> kill_processes_in(const NetNamespace& where);

// The name goes at once; the namespace with its last process. Nothing to do is no error.
Result<void> remove_named_namespace(const std::string& name);

// Lets go of what is mounted at or below a folder, so that removing it removes nothing else.
Result<void> unmount_below(const std::string& folder);

}  // namespace assay
