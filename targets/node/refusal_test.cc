#include "targets/node/refusal.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Refusal, NamesTheCauseAndTheRemedy) {
  const struct {
    NamespaceFacts facts;
    int error;
    const char* cause;
    const char* remedy;
  } rows[] = {
      {{.in_chroot = true}, EPERM, "chroot", "be root"},
      {{.has_seccomp = true}, EPERM, "seccomp", "privileged"},
      {{.is_root = true}, EPERM, "CAP_SYS_ADMIN", "privileged"},
      {{.is_root = true, .has_sys_admin = true, .has_seccomp = true},
       EPERM,
       "seccomp",
       "privileged"},
      {{.is_root = true, .has_sys_admin = true, .in_chroot = true}, EPERM, "forbids", ""},
      {{.apparmor_restrict = "1"},
       EPERM,
       "kernel.apparmor_restrict_unprivileged_userns is 1",
       "set it to 0"},
      {{.apparmor_restrict = "0"}, EPERM, "forbids", "be root"},
      {{.userns_clone = "0"}, EPERM, "kernel.unprivileged_userns_clone is 0", "set it to 1"},
      {{.max_user = "0"}, ENOSPC, "user.max_user_namespaces is 0", "set it to"},
      {{.is_root = true, .has_sys_admin = true, .max_user = "0", .max_net = "0"},
       ENOSPC,
       "user.max_net_namespaces is 0",
       "raise"},
      {{.max_user = "9", .max_net = "8"}, ENOSPC, "user.max_user_namespaces 9", "raise"},
      {{.has_threads = true}, EINVAL, "threads", "be root"},
      {{}, EINVAL, "kernel was built without", ""},
  };
  for (const auto& row : rows) {
    const Refusal refusal = namespace_refusal(row.facts, row.error);
    EXPECT_THAT(refusal.cause, testing::HasSubstr(row.cause));
    EXPECT_THAT(refusal.remedy, testing::HasSubstr(row.remedy)) << row.cause;
    EXPECT_EQ(refusal.remedy.empty(), *row.remedy == '\0') << row.cause;
  }
}

TEST(Refusal, IsOneLineThatNamesTheWayOut) {
  EXPECT_EQ(private_net_error("namespaces are refused (Operation not permitted)",
                              {"it is so", "be root"}),
            "no private network: namespaces are refused (Operation not permitted): it is so; use "
            "--net host "
            "(kills and pauses only), or be root");
  EXPECT_EQ(private_net_error("no", {}),
            "no private network: no; use --net host (kills and pauses only)");
}

TEST(Refusal, ReadsWhatTheSystemSays) {
  const NamespaceFacts facts = namespace_facts();
  EXPECT_FALSE(facts.max_net.empty());
  EXPECT_EQ(facts.has_sys_admin, facts.is_root) << "a test in a container without privileges?";
}

}  // namespace
}  // namespace assay
