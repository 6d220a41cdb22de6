#include "targets/node/private_net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "targets/node/agent/child.h"
#include "targets/node/agent/firewall.h"
#include "targets/node/agent/protocol.h"
#include "targets/node/refusal.h"
#include "targets/node/warden.h"

namespace assay {
namespace {

constexpr char kBridge[] = "assay0";
constexpr char kPrefix[] = "10.77.0.";
constexpr char kPrefixLength[] = "/24";
constexpr int kFirstNode = 11;  // the last byte of the first node's address

Error refused(const std::string& what, int error) {
  return environment_error(private_net_error(what + " (" + strerror(error) + ")",
                                             namespace_refusal(namespace_facts(), error)));
}

// A tool's complaint names the errno in words.
Error refused(const std::string& what, const Error& error) {
  const bool denied = error.message.find("not permitted") != std::string::npos ||
                      error.message.find("denied") != std::string::npos;
  return environment_error(
      private_net_error(what + " (" + error.message + ")",
                        denied ? namespace_refusal(namespace_facts(), EPERM) : Refusal{}));
}

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == ssize_t(text.size());
  close(fd);
  return written;
}

// Root inside is the user outside; nobody else exists.
Result<void> map_ids(uid_t uid, gid_t gid) {
  prctl(PR_SET_DUMPABLE,
        1);  // else /proc/self is not ours to write: a program without read permission
  if (write_file("/proc/self/setgroups", "deny") &&
      write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
      write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1")) {
    return {};
  }
  return refused("cannot map the user into its namespace", errno);
}

// Shows the processes of this PID namespace. Private first, so that nothing reaches the host.
Result<void> mount_proc() {
  if (mount(nullptr, "/proc", nullptr, MS_PRIVATE, nullptr) != 0) {
    if (errno == EINVAL || errno == ENOENT) {
      return environment_error(
          private_net_error("/proc is not mounted here", {"", "mount -t proc proc /proc"}));
    }
    return refused("cannot make /proc private", errno);
  }
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) return {};
  return refused("cannot mount /proc", errno);
}

Result<void> run_ip(const std::string& batch) {
  const auto done = agent::run_tool({"ip", "-batch", "-"}, batch);
  if (!done) return done.error();
  return {};
}

Result<void> make_bridge() {
  const std::string bridge = kBridge;
  std::string batch = "link set lo up\n";
  // With an address of its own: else it takes the least of its ports', another one whenever a node
  // joins, and what the nodes have cached leads nowhere.
  batch += "link add " + bridge + " address 02:00:00:77:00:01 type bridge\n";
  batch += "addr add " + driver_address() + kPrefixLength + " dev " + bridge + "\n";
  batch += "link set " + bridge + " up\n";
  // A pair as the nodes will have it, on trial.
  batch += "link add avtry type veth peer name avtry1\n";
  batch += "link set avtry master " + bridge + "\n";
  batch += "link del avtry\n";
  if (auto made = run_ip(batch); !made) {
    return refused("cannot make a bridge and veth pairs", made.error());
  }
  return {};
}

Result<void> try_rules(const std::string& run_id) {
  bool leftover = false;
  agent::Firewall firewall({run_id, "try"});
  const auto tried = firewall.probe(&leftover);
  if (!tried) return refused("cannot make an nftables rule", tried.error());
  return {};
}

Result<void> find_tools() {
  const struct {
    const char* tool;
    const char* package;
  } needed[] = {{"ip", "iproute2"}, {"nft", "nftables"}};
  for (const auto& [tool, package] : needed) {
    if (!agent::find_tool(tool).empty()) continue;
    return environment_error(
        private_net_error(std::string(tool) + " not found in PATH, /usr/sbin, /sbin",
                          {"", "install the package " + std::string(package)}));
  }
  return {};
}

// Numbers 3 to 52 of /proc/self/stat, as proc(5) counts them.
std::vector<unsigned long> stat_numbers() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<unsigned long> numbers(4);  // 0 is none, 1 and 2 are the pid and the name, 3 a letter
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  const char* at = text.c_str() + name_end + 4;
  for (char* end = nullptr; numbers.size() <= 52; at = end) {
    numbers.push_back(strtoul(at, &end, 10));
    if (end == at) return {};
  }
  return numbers;
}

}  // namespace

void mark_process(const std::string& run_id) {
  setenv(agent::kRunVariable, run_id.c_str(), 1);
  unsetenv(agent::kNodeVariable);  // of a shell in the node of another run
  // The kernel shows others the strings that the process was executed with. Where they lie may be
  // told to it, all places at once.
  const auto numbers = stat_numbers();
  if (numbers.empty()) return;
  std::string block;
  for (char** entry = environ; *entry != nullptr; ++entry) block.append(*entry).push_back('\0');
  void* place =
      mmap(nullptr, block.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return;
  memcpy(place, block.data(), block.size());
  prctl_mm_map map{};
  map.start_code = numbers[26];
  map.end_code = numbers[27];
  map.start_stack = numbers[28];
  map.start_data = numbers[45];
  map.end_data = numbers[46];
  map.start_brk = numbers[47];
  map.brk = reinterpret_cast<unsigned long>(sbrk(0));
  map.arg_start = numbers[48];
  map.arg_end = numbers[49];
  map.env_start = reinterpret_cast<unsigned long>(place);
  map.env_end = map.env_start + block.size();
  map.exe_fd = ~0u;
  if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) != 0) munmap(place, block.size());
}

std::string driver_address() { return std::string(kPrefix) + "1"; }

std::string node_address(int index) { return kPrefix + std::to_string(kFirstNode + index); }

std::string node_interface_address(int index) { return node_address(index) + kPrefixLength; }

Result<void> join_node(int index, int agent_pid) {
  const std::string link = "av" + std::to_string(index + 1);
  return run_ip("link add " + link + " type veth peer name " + kNodeLink + " netns " +
                std::to_string(agent_pid) + "\n" + "link set " + link + " master " + kBridge +
                " up\n");
}

Result<void> enter_private_world(const std::string& run_id) {
  if (auto found = find_tools(); !found) return found;
  mark_process(run_id);
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  const bool is_root = geteuid() == 0;
  const int kinds = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | (is_root ? 0 : CLONE_NEWUSER);
  if (unshare(kinds) != 0) return refused("namespaces are refused", errno);
  if (!is_root) {
    if (auto mapped = map_ids(uid, gid); !mapped) return mapped;
  }
  sigset_t mask;
  const sigset_t signals = warden_signals();
  sigprocmask(SIG_BLOCK, &signals, &mask);
  int line[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0)
    return refused("no socket", errno);
  const pid_t init = fork();
  if (init < 0) return refused("cannot fork", errno);
  if (init > 0) {
    close(line[1]);
    be_launcher(init, line[0]);
  }
  close(line[0]);
  if (be_init(line[1], mask) != 0) return refused("cannot fork", errno);
  if (auto mounted = mount_proc(); !mounted) return mounted;
  if (auto made = make_bridge(); !made) return made;
  return try_rules(run_id);
}

}  // namespace assay
