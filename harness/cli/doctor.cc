// assay doctor: what works here and on hosts, and what to do about the rest (harness/doctor.h).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "checkers/history/json_text.h"
#include "harness/cli/verbs.h"
#include "harness/describe.h"
#include "harness/run/examine.h"
#include "targets/node/lab.h"
#include "targets/node/private_net.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Outcome = Prerequisite::Outcome;

std::string read_all(int fd) {
  std::string text;
  char block[4096];
  for (ssize_t n; (n = ::read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) text.append(block, static_cast<size_t>(n));
  return text;
}

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) at += static_cast<size_t>(n);
  }
}

// In a process of its own, which enters the private world of a run; hosts are not to be reached
// from there. An error says why there is none.
Result<Diagnosis> examine_in_private_world(const ExamineOptions& options) {
  int line[2];
  if (::pipe2(line, O_CLOEXEC) != 0) return environment_error(std::string("pipe: ") + std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) return environment_error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    if (auto entered = enter_private_world(options.run_id); !entered)
      write_all(line[1], Value::object({{Symbol("error"), Value(entered.error().message)}}).to_json());
    else
      write_all(line[1], to_value(examine_here(options, true)).to_json());
    ::_exit(0);
  }
  ::close(line[1]);
  const std::string said = read_all(line[0]);
  ::close(line[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const auto value = parse_json(said, "doctor");
  if (value) {
    if (auto diagnosis = diagnosis_from(*value)) return *diagnosis;
    if (const auto why = value->text_or("error", ""); !why.empty())
      return environment_error(std::string(why));
  }
  return environment_error("no private network: it ended unexpectedly");
}

Prerequisite programs(const std::string& bin_dir) {
  std::string missing;
  for (const char* program : {"assay-agent", "assay-raft"}) {
    if (::access((bin_dir + "/" + program).c_str(), X_OK) != 0)
      missing += (missing.empty() ? "" : ", ") + std::string(program);
  }
  if (missing.empty()) return {.what = "programs", .text = "assay-agent and assay-raft in " + bin_dir, .needed = true};
  return {.what = "programs",
          .outcome = Outcome::kFails,
          .text = "not in " + bin_dir + ": " + missing,
          .remedy = "`./assay build`, or name their folder by --bin-dir",
          .needed = true};
}

Prerequisite lab() {
  if (const auto means = lab_means(); !means)
    return {.what = "lab", .outcome = Outcome::kFails, .text = means.error().message};
  return {.what = "lab", .text = "`assay lab up` makes SSH nodes on this machine"};
}

// Types of the user's own keys. A hosts file may name others.
Prerequisite keys() {
  const char* home = std::getenv("HOME");
  std::string usable, rsa;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(home ? home : "/") / ".ssh", ignored)) {
    if (entry.path().extension() != ".pub") continue;
    std::ifstream file(entry.path());
    std::string type;
    file >> type;
    const bool works = type == "ssh-ed25519" || type.starts_with("ecdsa-sha2-nistp");
    if (!works && type != "ssh-rsa") continue;
    std::string& list = works ? usable : rsa;
    list += (list.empty() ? "" : ", ") + entry.path().stem().string();
  }
  if (!usable.empty()) return {.what = "SSH keys", .text = usable + " in ~/.ssh"};
  return {.what = "SSH keys",
          .outcome = Outcome::kNote,
          .text = rsa.empty() ? "no ed25519 or ecdsa key in ~/.ssh"
                              : rsa + " in ~/.ssh is RSA, which libssh2 signs in a way that servers refuse",
          .remedy = "for hosts over SSH, `ssh-keygen -t ed25519`, or name a key in the hosts file"};
}

// What a run on hosts needs of this machine is little.
constexpr std::string_view kNeededForHosts[] = {"programs", "disk"};

Diagnosis diagnose_here(const ExamineOptions& options, bool for_hosts) {
  auto in_private = examine_in_private_world(options);
  Diagnosis here = in_private ? std::move(*in_private) : examine_here(options, false);
  Prerequisite network{.what = "private network", .text = "a run has a network of its own", .needed = true};
  if (!in_private) {
    network.outcome = Outcome::kFails;
    constexpr std::string_view kPrefix = "no private network: ";
    network.text = in_private.error().message;
    if (network.text.starts_with(kPrefix)) network.text.erase(0, kPrefix.size());
  }
  here.prerequisites.insert(here.prerequisites.begin(), network);
  here.prerequisites.insert(here.prerequisites.end(), {programs(options.bin_dir), lab(), keys()});
  for (Prerequisite& found : here.prerequisites) {
    if (for_hosts && std::find(std::begin(kNeededForHosts), std::end(kNeededForHosts), found.what) ==
                         std::end(kNeededForHosts))
      found.needed = false;
  }
  return here;
}

std::string verdict_of(const std::vector<Diagnosis>& diagnoses) {
  for (const Diagnosis& diagnosis : diagnoses) {
    if (const Prerequisite* obstacle = diagnosis.obstacle())
      return "not ready: " + diagnosis.machine + ": " + obstacle->what + ": " + obstacle->text;
  }
  return "";
}

void print_json(const std::vector<Diagnosis>& diagnoses, const std::string& obstacle) {
  Value::Array machines;
  for (const Diagnosis& diagnosis : diagnoses) machines.push_back(to_value(diagnosis));
  std::printf("%s\n", Value::object({{Symbol("ready"), Value(obstacle.empty())},
                                     {Symbol("reason"), Value(obstacle)},
                                     {Symbol("machines"), Value::array(std::move(machines))}})
                          .to_json()
                          .c_str());
}

void print_text(const std::vector<Diagnosis>& diagnoses) {
  size_t width = 0;
  for (const Diagnosis& diagnosis : diagnoses) {
    for (const Prerequisite& found : diagnosis.prerequisites) width = std::max(width, found.what.size());
  }
  for (const Diagnosis& diagnosis : diagnoses)
    std::printf("%s", diagnosis_text(diagnosis, width).c_str());
}

}  // namespace

int doctor_verb(const DoctorArgs& args) {
  std::vector<Host> hosts;
  if (!args.hosts.empty()) {
    auto read = read_hosts(args.hosts);
    if (!read) return fail(read.error());
    hosts = std::move(*read);
  }
  const std::string bin_dir = args.bin_dir.empty() ? own_folder() : args.bin_dir;
  const ExamineOptions options{.bin_dir = fs::absolute(bin_dir).lexically_normal(),
                               .run_id = "doctor-" + std::to_string(::getpid())};
  std::vector<Diagnosis> diagnoses{diagnose_here(options, !hosts.empty())};
  if (!hosts.empty()) {
    for (Diagnosis& diagnosis : examine_hosts(options, hosts)) diagnoses.push_back(std::move(diagnosis));
  }
  const std::string obstacle = verdict_of(diagnoses);
  args.voice.json ? print_json(diagnoses, obstacle) : print_text(diagnoses);
  if (!obstacle.empty()) return fail(environment_error(obstacle));
  if (!args.voice.json)
    std::printf("ready: `assay run%s`\n", args.hosts.empty() ? "" : (" --hosts " + args.hosts).c_str());
  return kExitValid;
}

}  // namespace assay
