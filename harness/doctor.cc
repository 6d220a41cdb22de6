#include "harness/doctor.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "targets/node/shell_words.h"

namespace assay {
namespace {

using Outcome = Prerequisite::Outcome;

constexpr int64_t kDiskNeededKb = 200 << 10;
constexpr int64_t kDiskWantedKb = 2 << 20;
constexpr int64_t kMemoryWantedKb = 1 << 20;
constexpr Nanos kSlowFsync = milliseconds(50);
constexpr Nanos kSlowShell = milliseconds(50);
constexpr Nanos kFarOff = seconds(1);

std::string rounded(double value, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}
std::string in_ms(Nanos time) { return rounded(static_cast<double>(time.count) / 1e6, "ms"); }
std::string in_gb(int64_t kb) { return rounded(static_cast<double>(kb) / (1 << 20), "GB"); }

Prerequisite power(const char* what, bool have, const std::string& works, const std::string& why_not,
              const std::string& remedy, bool needed) {
  if (have) return {.what = what, .text = works, .needed = needed};
  return {.what = what, .outcome = Outcome::kFails, .text = why_not, .remedy = remedy, .needed = needed};
}

Prerequisite machine(const Facts& facts) {
  const int64_t cores = facts.number("cores"), memory = facts.number("memory_kb");
  Prerequisite found{.what = "machine",
                  .text = facts.one("system") + " " + facts.one("machine") + ", " +
                          std::to_string(cores) + (cores == 1 ? " core, " : " cores, ") +
                          in_gb(memory) + " of memory"};
  if (memory < kMemoryWantedKb || cores < 2) {
    found.outcome = Outcome::kNote;
    found.remedy = "expect time-outs that are the machine's: fewer --nodes, a lower --rate";
  }
  return found;
}

Prerequisite disk(const Facts& facts, const std::optional<Nanos>& fsync) {
  const int64_t free_kb = facts.number("free_kb");
  Prerequisite found{.what = "disk",
                  .text = in_gb(free_kb) + " free in " + facts.one("folder"),
                  .needed = true};
  if (facts.number("writable") == 0) {
    found.outcome = Outcome::kFails;
    found.text = facts.one("folder") + " cannot be written";
    found.remedy = "go to another folder, or name one by --out";
    return found;
  }
  if (fsync) found.text += ", an fsync takes " + in_ms(*fsync);
  if (free_kb < kDiskWantedKb) {
    found.outcome = free_kb < kDiskNeededKb ? Outcome::kFails : Outcome::kNote;
    found.remedy = "free some space: a run's logs and data take hundreds of megabytes";
  } else if (facts.one("file_system") == "tmpfs") {
    found.outcome = Outcome::kNote;
    found.text += " (it is memory)";
    found.remedy = "figures of durable writes mean something on a disk only";
  } else if (fsync && *fsync > kSlowFsync) {
    found.outcome = Outcome::kNote;
    found.remedy = "expect elections that are the disk's: a lower --rate, or a faster disk";
  }
  return found;
}

bool may_mount(const Facts& facts) {
  constexpr int kSysAdmin = 21;
  return std::strtoull(facts.one("capabilities").c_str(), nullptr, 16) >> kSysAdmin & 1;
}

Prerequisite fuse(const Facts& facts) {
  const char* what = "disk faults";
  if (facts.number("fuse_opens") == 1 && may_mount(facts))
    return {.what = what, .text = "FUSE: /dev/fuse opens"};
  Prerequisite found{.what = what, .outcome = Outcome::kFails};
  if (facts.number("fuse") == 0) {
    found.text = "FUSE: there is no /dev/fuse";
    found.remedy = "modprobe fuse, or give the container the device";
  } else {
    found.text = facts.number("uid") != 0 ? "FUSE: not root"
                 : may_mount(facts)       ? "FUSE: /dev/fuse does not open here"
                                          : "FUSE: root without CAP_SYS_ADMIN, as in a container";
    found.remedy = "be root, outside of a container or in a privileged one";
  }
  return found;
}

Prerequisite clocks(const Facts& facts) {
  const std::string library = facts.one("faketime");
  return power("clock faults", !library.empty(), "libfaketime: " + library,
               "libfaketime is not there", "install the package libfaketime", false);
}

// "1 w /sys/fs/cgroup/freezer rw,freezer": version, writable, where, controllers.
std::string cgroup_version(const Facts& facts, const std::string& controller) {
  for (const std::string& mount : facts.all("cgroup")) {
    std::istringstream words(mount);
    std::string version, writable, at, controllers;
    words >> version >> writable >> at >> controllers;
    if (writable != "w") continue;
    if (version == "2" && controller == "freezer") return "v2";  // always there
    if (("," + controllers + ",").find("," + controller + ",") != std::string::npos)
      return "v" + version;
  }
  return {};
}

Prerequisite cgroups(const Facts& facts) {
  std::string have, missing;
  for (const char* controller : {"freezer", "cpu", "memory"}) {
    const std::string version = cgroup_version(facts, controller);
    std::string& list = version.empty() ? missing : have;
    list += (list.empty() ? "" : ", ") + std::string(controller) +
            (version.empty() ? "" : " (" + version + ")");
  }
  if (missing.empty()) return {.what = "cgroups", .text = have};
  return {.what = "cgroups",
          .outcome = have.empty() ? Outcome::kFails : Outcome::kNote,
          .text = "none that this user may write for " + missing + (have.empty() ? "" : "; there is " + have),
          .remedy = "be root, where cgroups are mounted: starving a process of CPU or memory needs them"};
}

Prerequisite tools(const Facts& facts) {
  constexpr std::pair<const char*, const char*> kWanted[] = {
      {"ip", "iproute2"}, {"nft", "nftables"}, {"iptables", "iptables"}, {"ss", "iproute2"}};
  std::string have, missing, packages;
  for (const auto& [tool, package] : kWanted) {
    const bool there = facts.has("have", tool);
    std::string& list = there ? have : missing;
    list += (list.empty() ? "" : ", ") + std::string(tool);
    if (!there && packages.find(package) == std::string::npos)
      packages += std::string(" ") + package;
  }
  if (missing.empty()) return {.what = "tools", .text = have};
  return {.what = "tools",
          .outcome = Outcome::kNote,
          .text = "not found: " + missing,
          .remedy = "apt-get install" + packages};
}

Prerequisite targets(const Facts& facts) {
  constexpr std::pair<const char*, const char*> kPrograms[] = {{"etcd", "etcd-server"},
                                                               {"redis-server", "redis-server"}};
  std::string have = "raft (brought along)", missing, packages;
  for (const auto& [program, package] : kPrograms) {
    const bool there = facts.has("have", program);
    (there ? have : missing) += (there || !missing.empty() ? ", " : "") + std::string(program);
    if (!there) packages += std::string(" ") + package;
  }
  if (missing.empty()) return {.what = "targets", .text = have};
  return {.what = "targets",
          .outcome = Outcome::kNote,
          .text = have + "; not there: " + missing,
          .remedy = "to test these, apt-get install" + packages};
}

Prerequisite clock_difference(const HostClock& clock) {
  const Nanos size{std::abs(clock.offset.count)};
  Prerequisite found{.what = "clock",
                  .text = size < clock.error || size == clock.error
                              ? "as here, to within " + in_ms(clock.error)
                              : in_ms(size) + (clock.offset.count > 0 ? " ahead of" : " behind") +
                                    " this machine's, to within " + in_ms(clock.error)};
  if (size > kFarOff) {
    found.outcome = Outcome::kNote;
    found.remedy = "synchronise it (chrony, systemd-timesyncd): a run measures by its driver's clock, the store may not";
  }
  return found;
}

Value to_value(const Prerequisite& found) {
  return Value::object({{Symbol("what"), Value(found.what)},
                        {Symbol("works"), Value(found.outcome != Outcome::kFails)},
                        {Symbol("note"), Value(found.outcome == Outcome::kNote)},
                        {Symbol("needed"), Value(found.needed)},
                        {Symbol("text"), Value(found.text)},
                        {Symbol("remedy"), Value(found.remedy)}});
}

}  // namespace

const Prerequisite* Diagnosis::obstacle() const {
  const auto found = std::find_if(prerequisites.begin(), prerequisites.end(), [](const Prerequisite& found) {
    return found.needed && found.outcome == Prerequisite::Outcome::kFails;
  });
  return found == prerequisites.end() ? nullptr : &*found;
}

std::string facts_script(const std::string& folder) {
  return "PATH=$PATH:/usr/sbin:/sbin; f=" + shell_word(folder) + R"sh(
say() { echo "fact:$1=$2"; }
say system "$(uname -s) $(uname -r)"
say machine "$(uname -m)"
say cores "$(nproc)"
say memory_kb "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
say uid "$(id -u)"
say capabilities "$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)"
say folder "$f"
if t=$(mktemp "$f/.assay-doctor-XXXXXX" 2>/dev/null); then rm -f "$t"; say writable 1; fi
say free_kb "$(df -Pk "$f" 2>/dev/null | awk 'NR == 2 { print $4 }')"
say file_system "$(stat -f -c %T "$f" 2>/dev/null)"
for t in ip nft iptables ss etcd redis-server; do command -v $t >/dev/null 2>&1 && say have $t; done
[ -c /dev/fuse ] && say fuse 1
(: <>/dev/fuse) 2>/dev/null && say fuse_opens 1
for l in /usr/lib/*/faketime /usr/lib/faketime /usr/lib64/faketime /usr/local/lib/faketime; do
  [ -e "$l/libfaketimeMT.so.1" ] && say faketime "$l/libfaketimeMT.so.1"
done
while read -r _ at kind how _; do
  [ -w "$at" ] && w=w || w=-
  case $kind in
    cgroup) say cgroup "1 $w $at $how" ;;
    cgroup2) say cgroup "2 $w $at $(tr ' ' , <"$at/cgroup.controllers")" ;;
  esac
done </proc/mounts
exit 0
)sh";
}

Facts::Facts(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (line.starts_with("fact:") && equals != std::string::npos)
      facts_.emplace_back(line.substr(5, equals - 5), line.substr(equals + 1));
  }
}

std::vector<std::string> Facts::all(const std::string& name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : facts_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

std::string Facts::one(const std::string& name) const {
  const auto values = all(name);
  return values.empty() ? "" : values.front();
}

int64_t Facts::number(const std::string& name) const {
  return std::strtoll(one(name).c_str(), nullptr, 10);
}

bool Facts::has(const std::string& name, const std::string& value) const {
  const auto values = all(name);
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<Prerequisite> prerequisites_of(const Examined& examined) {
  const Facts& facts = examined.facts;
  const NodePowers& powers = examined.powers;
  std::vector<Prerequisite> prerequisites{
      machine(facts), {.what = "processes", .text = "the agent starts, kills and pauses them", .needed = true}};
  if (examined.own_links) {
    prerequisites.push_back(power("partitions", powers.cut, "nftables", powers.no_cut,
                             "see that the user is root there, or sudo asks for no password", true));
    prerequisites.push_back(power("slow links", powers.delay, "iptables and NFQUEUE", powers.no_delay,
                             "leave the nemesis delay out", false));
  }
  prerequisites.insert(prerequisites.end(), {fuse(facts), clocks(facts), cgroups(facts), tools(facts),
                                   targets(facts), disk(facts, examined.fsync)});
  if (examined.clock) prerequisites.push_back(clock_difference(*examined.clock));
  return prerequisites;
}

Prerequisite shell_start(Nanos start_up) {
  Prerequisite found{.what = "shell", .text = "a command starts in " + in_ms(start_up)};
  if (start_up > kSlowShell) {
    found.outcome = Outcome::kNote;
    found.remedy =
        "it is the user's ~/.bashrc, most likely, which bash reads for SSH commands: return early there "
        "where the shell is not interactive, or take a user whose shell is /bin/sh";
  }
  return found;
}

std::string diagnosis_text(const Diagnosis& diagnosis, size_t what_width) {
  constexpr const char* kWords[] = {"works", "note", "no"};
  std::string text = diagnosis.machine + "\n";
  for (const Prerequisite& found : diagnosis.prerequisites) {
    std::string word = kWords[static_cast<int>(found.outcome)], what = found.what;
    word.resize(7, ' ');
    what.resize(std::max(what_width, what.size()) + 2, ' ');
    text += "  " + word + what + found.text + (found.remedy.empty() ? "" : ": " + found.remedy) + "\n";
  }
  return text;
}

Value to_value(const Diagnosis& diagnosis) {
  Value::Array prerequisites;
  for (const Prerequisite& found : diagnosis.prerequisites) prerequisites.push_back(to_value(found));
  return Value::object({{Symbol("machine"), Value(diagnosis.machine)},
                        {Symbol("prerequisites"), Value::array(std::move(prerequisites))}});
}

std::optional<Diagnosis> diagnosis_from(const Value& value) {
  if (!value.is_object() || !value["prerequisites"].is_array()) return {};
  Diagnosis diagnosis{.machine = std::string(value.text_or("machine", ""))};
  for (const Value& one : value["prerequisites"].as_array()) {
    diagnosis.prerequisites.push_back(
        {.what = std::string(one.text_or("what", "")),
         .outcome = !one.bool_or("works", false) ? Outcome::kFails
                 : one.bool_or("note", false) ? Outcome::kNote
                                              : Outcome::kWorks,
         .text = std::string(one.text_or("text", "")),
         .remedy = std::string(one.text_or("remedy", "")),
         .needed = one.bool_or("needed", false)});
  }
  return diagnosis;
}

}  // namespace assay
