#include "harness/doctor.h"

#include <gtest/gtest.h>

#include "targets/node/agent/child.h"
#include "targets/node/agent/test_support.h"

namespace assay {
namespace {

// A machine on which all is well, as its shell would tell it.
constexpr char kWell[] =
    "fact:system=Linux 6.1\nfact:machine=x86_64\nfact:cores=8\nfact:memory_kb=16000000\nfact:uid=0\n"
    "fact:capabilities=000001ffffffffff\n"
    "fact:folder=/work\nfact:writable=1\nfact:free_kb=90000000\nfact:file_system=ext2/ext3\n"
    "fact:have=ip\nfact:have=nft\nfact:have=iptables\nfact:have=ss\nfact:have=etcd\n"
    "fact:have=redis-server\nfact:fuse=1\nfact:fuse_opens=1\nfact:faketime=/usr/lib/libfaketimeMT.so.1\n"
    "fact:cgroup=1 w /sys/fs/cgroup/freezer rw,relatime,freezer\n"
    "fact:cgroup=2 w /sys/fs/cgroup/unified cpu,memory,pids\n";

Examined well() {
  return {.powers = {.cut = true, .delay = true}, .facts = Facts(kWell), .fsync = milliseconds(1)};
}

// The same, with another value for a fact; empty: it is not said.
Examined but(const std::string& fact, const std::string& value) {
  std::string said = kWell;
  for (size_t at; (at = said.find("fact:" + fact)) != std::string::npos;)
    said.erase(at, said.find('\n', at) + 1 - at);
  if (!value.empty()) said += "fact:" + fact + "=" + value + "\n";
  Examined examined = well();
  examined.facts = Facts(said);
  return examined;
}

Prerequisite of(const Examined& examined, const std::string& what) {
  for (const Prerequisite& one : prerequisites_of(examined)) {
    if (one.what == what) return one;
  }
  ADD_FAILURE() << "nothing is said of " << what;
  return {};
}

TEST(Doctor, FindsNothingToDoWhereAllIsWell) {
  const Diagnosis diagnosis{.machine = "m", .prerequisites = prerequisites_of(well())};
  for (const Prerequisite& one : diagnosis.prerequisites) {
    EXPECT_EQ(one.outcome, Prerequisite::Outcome::kWorks) << one.what << ": " << one.text;
    EXPECT_EQ(one.remedy, "") << one.what;
  }
  EXPECT_EQ(diagnosis.obstacle(), nullptr);
}

TEST(Doctor, SaysWhatToDoAboutEachThingThatIsMissing) {
  struct Case {
    std::string what;
    Examined examined;
    std::string text, remedy;
    bool is_obstacle = false;
    bool is_note = false;
  };
  Examined no_cut = well(), no_delay = well(), slow_disk = well(), ahead = well();
  no_cut.powers = {.no_cut = "nft exited with 1: Operation not permitted", .delay = true};
  no_delay.powers = {.cut = true, .no_delay = "iptables not found"};
  slow_disk.fsync = milliseconds(200);
  ahead.clock = HostClock{.offset = seconds(90), .error = milliseconds(1)};
  const std::vector<Case> cases = {
      {"partitions", no_cut, "not permitted", "root", true},
      {"slow links", no_delay, "iptables not found", "delay"},
      {"disk faults", but("fuse", ""), "/dev/fuse", "modprobe fuse"},
      {"disk faults", but("capabilities", "00000000a80425fb"), "CAP_SYS_ADMIN", "privileged"},
      {"disk faults", but("fuse_opens", ""), "does not open", "be root"},
      {"clock faults", but("faketime", ""), "not there", "package libfaketime"},
      {"cgroups", but("cgroup", ""), "freezer, cpu, memory", "root"},
      {"cgroups", but("cgroup", "2 - /sys/fs/cgroup cpu,memory"), "freezer, cpu, memory", "root"},
      {"cgroups", but("cgroup", "2 w /sys/fs/cgroup cpu"), "memory; there is freezer (v2), cpu (v2)", "root",
       false, true},
      {"tools", but("have", ""), "ip, nft, iptables, ss", "apt-get install iproute2 nftables iptables", false,
       true},
      {"targets", but("have", "etcd"), "redis-server", "redis-server", false, true},
      {"disk", but("writable", ""), "/work cannot be written", "--out", true},
      {"disk", but("free_kb", "1000"), "free", "free some space", true},
      {"disk", but("free_kb", "1000000"), "free", "free some space", false, true},
      {"disk", but("file_system", "tmpfs"), "memory", "disk", false, true},
      {"disk", slow_disk, "200 ms", "--rate", false, true},
      {"machine", but("cores", "1"), "1 core,", "--rate", false, true},
      {"clock", ahead, "90000 ms ahead of", "synchronise", false, true},
  };
  for (const Case& one : cases) {
    const Prerequisite found = of(one.examined, one.what);
    SCOPED_TRACE(one.what + ": " + found.text + ": " + found.remedy);
    EXPECT_EQ(found.outcome, one.is_note ? Prerequisite::Outcome::kNote : Prerequisite::Outcome::kFails);
    EXPECT_NE(found.text.find(one.text), std::string::npos);
    EXPECT_NE(found.remedy.find(one.remedy), std::string::npos);
    const Diagnosis diagnosis{.machine = "m", .prerequisites = prerequisites_of(one.examined)};
    EXPECT_EQ(diagnosis.obstacle() != nullptr, one.is_obstacle);
  }
}

TEST(Doctor, NamesTheBashrcBehindASlowShell) {
  EXPECT_EQ(shell_start(milliseconds(3)).outcome, Prerequisite::Outcome::kWorks);
  const Prerequisite slow = shell_start(milliseconds(214));
  EXPECT_EQ(slow.outcome, Prerequisite::Outcome::kNote);
  EXPECT_NE(slow.text.find("214 ms"), std::string::npos);
  EXPECT_NE(slow.remedy.find("~/.bashrc"), std::string::npos);
}

TEST(Doctor, ItsScriptTellsTheFactsOfThisMachine) {
  agent::ScratchFolder folder;
  const auto ran = agent::run_tool({"/bin/sh", "-c", facts_script(folder.path())});
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  const Facts facts(ran->out);
  EXPECT_TRUE(facts.one("system").starts_with("Linux"));
  EXPECT_GT(facts.number("cores"), 0);
  EXPECT_GT(facts.number("memory_kb"), 0);
  EXPECT_GT(facts.number("free_kb"), 0);
  EXPECT_EQ(facts.number("uid"), getuid());
  EXPECT_EQ(facts.number("writable"), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Doctor, ADiagnosisSurvivesTheWayBetweenProcesses) {
  Examined examined = but("faketime", "");
  examined.powers = {};
  const Diagnosis diagnosis{.machine = "m", .prerequisites = prerequisites_of(examined)};
  const auto again = diagnosis_from(to_value(diagnosis));
  ASSERT_TRUE(again);
  EXPECT_EQ(diagnosis_text(*again, 10), diagnosis_text(diagnosis, 10));
  ASSERT_TRUE(again->obstacle());
  EXPECT_EQ(again->obstacle()->what, "partitions");
  EXPECT_FALSE(diagnosis_from(Value("no diagnosis")));
}

}  // namespace
}  // namespace assay
