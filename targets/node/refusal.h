// Why a system refuses a private network, in words, and what to do about it.
#pragma once

#include <string>

namespace assay {

// What the system says about itself; empty where it says nothing.
struct NamespaceFacts {
  bool is_root = false;
  bool has_sys_admin = false;  // CAP_SYS_ADMIN
  bool in_chroot = false;
  bool has_seccomp = false;       // a filter is installed
  bool has_threads = false;       // of this process
  std::string apparmor_restrict;  // kernel.apparmor_restrict_unprivileged_userns
  std::string userns_clone;       // kernel.unprivileged_userns_clone
  std::string max_user;           // user.max_user_namespaces
  std::string max_net;            // user.max_net_namespaces
};
NamespaceFacts namespace_facts();

struct Refusal {
  std::string cause;
  std::string remedy;  // besides --net host; empty: none is known
};

// What is behind an errno of unshare(2), or behind a power that is denied afterwards.
Refusal namespace_refusal(const NamespaceFacts& facts, int error);

// One line: "no private network: <what>: <cause>; use --net host (kills and pauses only), or …".
std::string private_net_error(const std::string& what, const Refusal& refusal);

}  // namespace assay
