#include "targets/node/refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace assay {
namespace {

constexpr int kCapSysAdmin = 21;

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// The value behind "Name:" in /proc/self/status.
std::string status_value(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    std::istringstream rest(line.substr(name.size() + 1));
    std::string value;
    rest >> value;
    return value;
  }
  return {};
}

// Mounts outside of the root are not listed, the root of a chroot is rarely a mount of its own.
bool root_is_no_mount() {
  std::ifstream file("/proc/self/mountinfo");
  std::string line, field;
  bool any = false;
  while (std::getline(file, line)) {
    any = true;
    std::istringstream fields(line);
    for (int i = 0; i < 5; ++i) fields >> field;
    if (field == "/") return false;
  }
  return any;
}

Refusal setting(const std::string& name, const std::string& value, const std::string& wanted) {
  return {name + " is " + value, "set it to " + wanted + ", or be root"};
}

}  // namespace

NamespaceFacts namespace_facts() {
  NamespaceFacts facts;
  facts.is_root = geteuid() == 0;
  const std::string capabilities = status_value("CapEff");
  facts.has_sys_admin = strtoull(capabilities.c_str(), nullptr, 16) >> kCapSysAdmin & 1;
  facts.in_chroot = root_is_no_mount();
  facts.has_seccomp = status_value("Seccomp") == "2";
  const std::string threads = status_value("Threads");
  facts.has_threads = !threads.empty() && threads != "1";
  const std::string sys = "/proc/sys/";
  facts.apparmor_restrict = first_word(sys + "kernel/apparmor_restrict_unprivileged_userns");
  facts.userns_clone = first_word(sys + "kernel/unprivileged_userns_clone");
  facts.max_user = first_word(sys + "user/max_user_namespaces");
  facts.max_net = first_word(sys + "user/max_net_namespaces");
  return facts;
}

Refusal namespace_refusal(const NamespaceFacts& facts, int error) {
  if (error == ENOSPC || error == EUSERS) {
    if (!facts.is_root && facts.max_user == "0") {
      return setting("user.max_user_namespaces", "0", "some thousands");
    }
    if (facts.max_net == "0") return {"user.max_net_namespaces is 0", "raise it"};
    return {"the limit of namespaces is reached (user.max_user_namespaces " + facts.max_user +
                ", user.max_net_namespaces " + facts.max_net + ")",
            "raise it"};
  }
  if (error == EINVAL && facts.has_threads) {
    return {"this process has threads already (ThreadSanitizer starts one)", "be root"};
  }
  if (error == EINVAL || error == ENOSYS) return {"the kernel was built without namespaces", ""};
  if (facts.is_root && !facts.has_sys_admin) {
    return {"root without CAP_SYS_ADMIN, as in a container", "make the container privileged"};
  }
  if (facts.has_seccomp) {
    return {"a seccomp filter, as in a container", "make the container privileged"};
  }
  if (facts.is_root) return {"the system forbids it", ""};
  if (facts.in_chroot) return {"this is a chroot, where only root may have it", "be root"};
  if (facts.userns_clone == "0") return setting("kernel.unprivileged_userns_clone", "0", "1");
  if (facts.max_user == "0") {
    return setting("user.max_user_namespaces", "0", "some thousands");
  }
  if (!facts.apparmor_restrict.empty() && facts.apparmor_restrict != "0") {
    return setting("kernel.apparmor_restrict_unprivileged_userns", facts.apparmor_restrict, "0");
  }
  return {"the system forbids it", "be root"};
}

std::string private_net_error(const std::string& what, const Refusal& refusal) {
  return "no private network: " + what + (refusal.cause.empty() ? "" : ": " + refusal.cause) +
         "; use --net host (kills and pauses only)" +
         (refusal.remedy.empty() ? "" : ", or " + refusal.remedy);
}

}  // namespace assay
