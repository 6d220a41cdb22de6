#include "targets/node/lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <shadow.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "targets/node/agent/child.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/net_namespace.h"
#include "targets/node/refusal.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr char kLabs[] = "/var/lib/assay-lab";
// Where sshd wants an empty folder; the system's own sshd brings it along.
constexpr char kServerFolder[] = "/run/sshd";
constexpr char kMadeServerFolder[] = "/var/lib/assay-lab/.made-run-sshd";
constexpr int kFirstNode = 11;
constexpr auto kLockPatience = std::chrono::seconds(60);
constexpr auto kSshdPatience = std::chrono::seconds(15);

std::string folder_of(const std::string& name) { return std::string(kLabs) + "/" + name; }
std::string hub_of(const std::string& name) { return "assay." + name; }
std::string host_link_of(const std::string& name) { return "al-" + name; }

Error failed(const std::string& what, int error) {
  return environment_error(what + ": " + strerror(error));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return failed("cannot write " + path, errno);
  return {};
}

Result<void> check_name(const std::string& name) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (!name.empty() && name.size() <= 12 && name[0] != '-' &&
      name.find_first_not_of(kLetters) == std::string::npos)
    return {};
  return input_error("a lab's name is at most 12 letters of lower case, digits and -, found \"" +
                     name + "\"");
}

// The servers of a lab, by their command lines: "sshd: /usr/sbin/sshd -f FOLDER/n1/sshd_config …".
// Of no folder: every sshd.
std::vector<pid_t> servers_in(const std::string& folder) {
  std::vector<pid_t> found;
  for (pid_t process : agent::all_processes()) {
    const std::string of_process = "/proc/" + std::to_string(process);
    if (text_of(of_process + "/comm") != "sshd\n") continue;
    std::string command = text_of(of_process + "/cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    if (folder.empty() || command.find(" -f " + folder + "/") != std::string::npos)
      found.push_back(process);
  }
  return found;
}

// One process at a time makes or removes labs. The folder of all labs goes with the last of them.
class LabLock {
 public:
  static Result<LabLock> take() {
    const auto deadline = Clock::now() + kLockPatience;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      std::error_code error;
      fs::create_directories(kLabs, error);
      const int fd = open(kLabs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0 && errno != ENOENT) return failed(std::string("cannot make ") + kLabs, errno);
      struct stat locked {
      }, there{};
      if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &locked) == 0 &&
          stat(kLabs, &there) == 0 && locked.st_ino == there.st_ino)
        return LabLock(fd);
      if (fd >= 0) close(fd);
      if (Clock::now() > deadline)
        return environment_error("another `assay lab` has been at work for a minute");
    }
  }
  LabLock(LabLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LabLock& operator=(LabLock&&) = delete;
  ~LabLock() {
    if (fd_ < 0) return;
    remove_if_last();
    close(fd_);
  }

 private:
  explicit LabLock(int fd) : fd_(fd) {}

  static void remove_if_last() {
    if (!lab_names().empty()) return;
    if (fs::exists(kMadeServerFolder)) {
      if (servers_in("").empty()) rmdir(kServerFolder);  // nobody else has come to need it
      unlink(kMadeServerFolder);
    }
    rmdir(kLabs);
  }

  int fd_;
};

// "10.77.0.0/16" as it is in a table of routes; everything for "default".
struct Network {
  uint32_t address = 0, mask = 0;
  bool overlaps(const Network& other) const {
    return ((address ^ other.address) & mask & other.mask) == 0;
  }
};

std::optional<Network> parse_network(const std::string& text) {
  const size_t slash = text.find('/');
  in_addr address{};
  if (inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1) return {};
  const int bits = slash == std::string::npos ? 32 : atoi(text.c_str() + slash + 1);
  return Network{ntohl(address.s_addr), bits <= 0 ? 0 : ~0u << (32 - std::min(bits, 32))};
}

// What this machine has routes to, the default route aside, and what other labs have.
Result<std::vector<Network>> taken_networks() {
  const auto routes = agent::run_tool({"ip", "-4", "-json", "route", "show", "table", "all"});
  if (!routes) return routes.error();
  std::vector<Network> taken;
  const Json parsed = Json::parse(routes->out, nullptr, false);
  for (const Json& route : parsed.is_array() ? parsed : Json::array()) {
    const auto network = parse_network(route.value("dst", ""));
    if (network && network->mask != 0) taken.push_back(*network);
  }
  for (const std::string& name : lab_names()) {
    if (const auto lab = find_lab(name); lab)
      taken.push_back(*parse_network(lab->network + ".0/24"));
  }
  return taken;
}

Result<std::string> free_network() {
  const auto taken = taken_networks();
  if (!taken) return taken.error();
  for (const char* range : {"10.207.", "172.29.", "192.168."}) {
    for (int third = 0; third < 256; ++third) {
      const std::string candidate = range + std::to_string(third);
      const Network network = *parse_network(candidate + ".0/24");
      if (std::none_of(taken->begin(), taken->end(),
                       [&](const Network& other) { return network.overlaps(other); }))
        return candidate;
    }
  }
  return environment_error("no private network is free: this machine has routes to all that were "
                           "tried (10.207, 172.29 and 192.168)");
}

Lab make_lab(const std::string& name, const std::string& network, int nodes) {
  Lab lab{.name = name, .folder = folder_of(name), .network = network};
  for (int i = 0; i < nodes; ++i) {
    const std::string node = "n" + std::to_string(i + 1);
    lab.nodes.push_back({.name = node,
                         .address = network + "." + std::to_string(kFirstNode + i),
                         .net_namespace = hub_of(name) + "." + node,
                         .folder = lab.folder + "/" + node});
  }
  return lab;
}

std::string state_file(const std::string& name) { return folder_of(name) + "/lab.json"; }

// A root that has no password is locked for an sshd that does not ask PAM.
bool root_is_locked() {
  const spwd* entry = getspnam("root");
  return entry != nullptr && entry->sp_pwdp[0] == '!';
}

std::string sshd_config(const Lab& lab, const LabNode& node) {
  return "ListenAddress " + node.address + ":22\nHostKey " + node.folder +
         "/host_key\nPidFile " + node.folder + "/sshd.pid\nAuthorizedKeysFile " + lab.folder +
         "/id_ed25519.pub\nUsePAM " + (root_is_locked() ? "yes" : "no") +
         "\nPermitRootLogin prohibit-password\n"
         "PasswordAuthentication no\n"
         "KbdInteractiveAuthentication no\n"
         "StrictModes no\n"
         "UseDNS no\n"
         "X11Forwarding no\n"
         "PrintMotd no\n"
         "PrintLastLog no\n"
         // bash takes a shell without it for one that must read ~/.bashrc, whatever that costs.
         "SetEnv SHLVL=1\n"
         "MaxSessions 64\n"
         "MaxStartups 64:30:128\n"
         "Subsystem sftp internal-sftp\n";
}

Result<void> make_key(const std::string& path, const std::string& comment) {
  const auto made = agent::run_tool(
      {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path}, {}, 20'000);
  if (!made) return made.error();
  return {};
}

Result<void> make_files(const Lab& lab) {
  if (auto made = make_key(lab.folder + "/id_ed25519", "assay lab " + lab.name); !made) return made;
  std::string known;
  for (const LabNode& node : lab.nodes) {
    fs::create_directories(node.folder + "/cache");
    if (auto made = make_key(node.folder + "/host_key", node.net_namespace); !made) return made;
    known += node.address + " " + text_of(node.folder + "/host_key.pub");
    if (auto made = write_file(node.folder + "/sshd_config", sshd_config(lab, node)); !made)
      return made;
  }
  return write_file(lab.folder + "/known_hosts", known);
}

std::string hosts_json(const Lab& lab) {
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  for (const LabNode& node : lab.nodes) {
    hosts.push_back(
        {{"name", node.name}, {"address", node.address}, {"cache", node.folder + "/cache"}});
  }
  return nlohmann::ordered_json{{"format", "assay-hosts"},
                                {"version", 1},
                                {"defaults",
                                 {{"user", "root"},
                                  {"key", lab.folder + "/id_ed25519"},
                                  {"known_hosts", lab.folder + "/known_hosts"}}},
                                {"hosts", hosts}}
             .dump(2) +
         "\n";
}

Result<void> ip(const std::string& commands, const std::string& where = {}) {
  std::vector<std::string> argv{"ip"};
  if (!where.empty()) argv.insert(argv.end(), {"-n", where});
  argv.insert(argv.end(), {"-batch", "-"});
  const auto done = agent::run_tool(argv, commands, 20'000);
  if (!done) return done.error();
  return {};
}

// Always the same, so that nobody's table of neighbours leads astray after a reboot.
std::string hardware_address(const std::string& ip_address) {
  in_addr address{};
  inet_pton(AF_INET, ip_address.c_str(), &address);
  const uint32_t bytes = ntohl(address.s_addr);
  char text[18];
  snprintf(text, sizeof text, "02:00:%02x:%02x:%02x:%02x", bytes >> 24, bytes >> 16 & 0xff,
           bytes >> 8 & 0xff, bytes & 0xff);
  return text;
}

Result<void> make_hub(const Lab& lab) {
  const std::string hub = hub_of(lab.name), link = host_link_of(lab.name);
  if (auto made = ip("netns add " + hub + "\nlink add " + link + " address " +
                     hardware_address(lab.driver_address()) +
                     " type veth peer name driver netns " + hub + "\naddr add " +
                     lab.driver_address() + "/24 dev " + link + "\nlink set " + link + " up\n");
      !made)
    return made;
  return ip(
      "link set lo up\n"
      "link add hub type bridge\n"
      "link set hub up\n"
      "link set driver master hub up\n",
      hub);
}

Result<void> make_node_network(const Lab& lab, const LabNode& node) {
  if (auto made = ip("netns add " + node.net_namespace + "\n"); !made) return made;
  if (auto joined = ip("link add " + node.name + " type veth peer name eth0 address " +
                           hardware_address(node.address) + " netns " + node.net_namespace +
                           "\nlink set " + node.name + " master hub up\n",
                       hub_of(lab.name));
      !joined)
    return joined;
  return ip("link set lo up\naddr add " + node.address + "/24 dev eth0\nlink set eth0 up\n",
            node.net_namespace);
}

// It goes into the background by itself, and out of the reach of what ends with this process.
Result<void> start_sshd(const LabNode& node) {
  const auto started = agent::run_tool(
      {"nsenter", "--net=" + named_namespace_path(node.net_namespace), agent::find_tool("sshd"),
       "-f", node.folder + "/sshd_config", "-E", node.folder + "/sshd.log"},
      {}, 20'000);
  if (!started) return environment_error("sshd of " + node.name + ": " + started.error().message);
  return {};
}

// What an SSH client says that does not come in; empty where it comes in.
std::string try_ssh(const Lab& lab, size_t node) {
  const auto ran = agent::run_tool(lab_ssh(lab, node, {"true"}), {}, 8'000);
  return ran ? "" : ran.error().message;
}

std::vector<std::string> try_all(const Lab& lab) {
  std::vector<std::future<std::string>> tries;
  for (size_t i = 0; i < lab.nodes.size(); ++i)
    tries.push_back(std::async(std::launch::async, [&lab, i] { return try_ssh(lab, i); }));
  std::vector<std::string> results;
  for (auto& result : tries) results.push_back(result.get());
  return results;
}

Result<void> wait_for_sshd(const Lab& lab, size_t node) {
  const auto deadline = Clock::now() + kSshdPatience;
  std::string why;
  do {
    if ((why = try_ssh(lab, node)).empty()) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  const std::string log = text_of(lab.nodes[node].folder + "/sshd.log");
  const size_t end = log.find_last_not_of("\r\n");
  const size_t start = end == std::string::npos ? end : log.rfind('\n', end);
  return environment_error("no SSH to " + lab.nodes[node].name + ": " + why +
                           (end == std::string::npos
                                ? ""
                                : " (its log: " + log.substr(start + 1, end - start) + ")"));
}

Result<void> make_server_folder() {
  if (mkdir(kServerFolder, 0755) == 0) return write_file(kMadeServerFolder, "");
  if (errno == EEXIST) return {};
  return failed(std::string("cannot make ") + kServerFolder, errno);
}

// All that `up` does, between the making of the lab's folder and the last file.
Result<void> build(const Lab& lab, const std::function<bool()>& interrupted) {
  std::vector<std::function<Result<void>()>> steps{
      [] { return make_server_folder(); }, [&] { return make_files(lab); },
      [&] { return make_hub(lab); }};
  for (const LabNode& node : lab.nodes) {
    steps.push_back([&] { return make_node_network(lab, node); });
    steps.push_back([&] { return start_sshd(node); });
  }
  for (size_t i = 0; i < lab.nodes.size(); ++i)
    steps.push_back([&, i] { return wait_for_sshd(lab, i); });
  steps.push_back([&] { return write_file(lab.hosts_file(), hosts_json(lab)); });
  for (const auto& step : steps) {
    if (interrupted()) return environment_error("interrupted");
    if (auto done = step(); !done) return done;
  }
  return {};
}

bool is_up(const std::string& name) {
  const auto lab = find_lab(name);
  return lab && fs::exists(lab->hosts_file()) &&
         net_namespace_at(named_namespace_path(hub_of(name))).has_value();
}

std::string count_of(size_t count, const std::string& what, const std::string& whats) {
  return std::to_string(count) + " " + (count == 1 ? what : whats);
}

std::vector<std::string> namespaces_of(const std::string& name) {
  std::vector<std::string> names = named_namespaces_beginning_with(hub_of(name) + ".");
  if (fs::exists(named_namespace_path(hub_of(name)))) names.push_back(hub_of(name));
  return names;
}

// The lock is held.
Result<std::string> remove_lab(const std::string& name) {
  const std::string folder = folder_of(name), link = host_link_of(name);
  std::vector<NetNamespace> places;
  const auto note = [&](const std::optional<NetNamespace>& place) {
    if (place && place != net_namespace_of(getpid()) &&
        std::find(places.begin(), places.end(), *place) == places.end())
      places.push_back(*place);
  };
  const std::vector<std::string> names = namespaces_of(name);
  for (const std::string& one : names) note(net_namespace_at(named_namespace_path(one)));
  for (pid_t server : servers_in(folder)) note(net_namespace_of(server));  // whose name was lost
  std::vector<std::string> removed;
  int killed = 0;
  for (const NetNamespace& place : places) {
    const auto ended = kill_processes_in(place);
    if (!ended) return ended.error();
    killed += *ended;
  }
  if (killed > 0) removed.push_back(count_of(static_cast<size_t>(killed), "process", "processes"));
  if (fs::exists("/sys/class/net/" + link)) {
    if (auto gone = ip("link del " + link + "\n"); !gone) return gone.error();
    removed.push_back("the link " + link);
  }
  for (const std::string& one : names) {
    if (auto gone = remove_named_namespace(one); !gone) return gone.error();
  }
  if (!names.empty()) removed.push_back(count_of(names.size(), "namespace", "namespaces"));
  if (fs::exists(folder)) {
    if (auto let_go = unmount_below(folder); !let_go) return let_go.error();
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) return environment_error("cannot remove " + folder + ": " + error.message());
    removed.push_back(folder);
  }
  std::string words;
  for (const std::string& one : removed) words += (words.empty() ? "" : ", ") + one;
  return words;
}

Result<Lab> build_lab(const LabOptions& options) {
  const auto network = free_network();
  if (!network) return network.error();
  const Lab lab = make_lab(options.name, *network, options.nodes);
  std::error_code error;
  fs::create_directories(lab.folder, error);
  if (error) return environment_error("cannot make " + lab.folder + ": " + error.message());
  fs::permissions(lab.folder, fs::perms::owner_all);
  const Json state = {{"name", lab.name}, {"network", lab.network}, {"nodes", options.nodes}};
  if (auto written = write_file(state_file(lab.name), state.dump() + "\n"); !written)
    return written.error();
  if (auto built = build(lab, options.interrupted); !built) return built.error();
  return lab;
}

}  // namespace

Result<void> lab_means() {
  if (geteuid() != 0)
    return environment_error("a lab needs root: network namespaces, and an sshd in each");
  if (!namespace_facts().has_sys_admin)
    return environment_error("a lab needs CAP_SYS_ADMIN: make the container privileged");
  const struct {
    const char* tool;
    const char* package;
  } needed[] = {{"ip", "iproute2"},
                {"nsenter", "util-linux"},
                {"sshd", "openssh-server"},
                {"ssh-keygen", "openssh-client"},
                {"ssh", "openssh-client"}};
  for (const auto& [tool, package] : needed) {
    if (!agent::find_tool(tool).empty()) continue;
    return environment_error(std::string(tool) + " not found: install the package " + package);
  }
  return {};
}

Result<Lab> lab_up(const LabOptions& options) {
  if (auto named = check_name(options.name); !named) return named.error();
  if (auto means = lab_means(); !means) return means.error();
  const auto lock = LabLock::take();
  if (!lock) return lock.error();
  if (is_up(options.name))
    return environment_error("the lab " + options.name +
                             " is up already: `assay lab down --name " + options.name +
                             "` first, or take another --name");
  if (auto cleaned = remove_lab(options.name); !cleaned) return cleaned.error();
  auto lab = build_lab(options);
  if (lab) return lab;
  std::string why = lab.error().message;
  if (auto cleaned = remove_lab(options.name); !cleaned)
    why += "; what was made of it is still there: " + cleaned.error().message;
  return environment_error("cannot bring the lab up: " + why);
}

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kLabs, ignored)) {
    const std::string name = entry.path().filename();
    if (check_name(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Lab> find_lab(const std::string& name) {
  if (auto named = check_name(name); !named) return named.error();
  if (access(kLabs, F_OK) == 0 && access(state_file(name).c_str(), F_OK) != 0 && errno == EACCES)
    return environment_error("the lab " + name + " is root's");
  const Json state = Json::parse(text_of(state_file(name)), nullptr, false);
  if (state.is_object() && state.contains("network") && state["network"].is_string() &&
      parse_network(state["network"].get<std::string>() + ".0") && state.contains("nodes") &&
      state["nodes"].is_number_integer())
    return make_lab(name, state["network"], std::clamp<int>(state["nodes"], 1, kLabNodesMax));
  return environment_error("there is no lab " + name + " here: `assay lab up --name " + name + "`");
}

Result<std::string> lab_down(const std::string& name) {
  if (auto named = check_name(name); !named) return named.error();
  if (geteuid() != 0) return environment_error("a lab needs root, to be removed too");
  const auto lock = LabLock::take();
  if (!lock) return lock.error();
  return remove_lab(name);
}

std::vector<LabNodeStatus> lab_status(const Lab& lab) {
  std::vector<LabNodeStatus> statuses;
  for (const LabNode& node : lab.nodes) {
    LabNodeStatus status;
    const auto place = net_namespace_at(named_namespace_path(node.net_namespace));
    if (place) status.processes = static_cast<int>(processes_in(*place).size());
    for (pid_t server : servers_in(node.folder)) {
      if (place && net_namespace_of(server) == place) status.sshd = server;
    }
    if (!place) status.why_not = "its network namespace is gone";
    statuses.push_back(status);
  }
  const std::vector<std::string> why_not = try_all(lab);
  for (size_t i = 0; i < statuses.size(); ++i) {
    if (statuses[i].why_not.empty()) statuses[i].why_not = why_not[i];
  }
  return statuses;
}

Result<void> reboot_lab_node(const Lab& lab, size_t index) {
  const LabNode& node = lab.nodes.at(index);
  const auto lock = LabLock::take();
  if (!lock) return lock.error();
  if (const auto place = net_namespace_at(named_namespace_path(node.net_namespace))) {
    if (const auto killed = kill_processes_in(*place); !killed) return killed.error();
  }
  if (auto let_go = unmount_below(node.folder); !let_go) return let_go;
  if (auto gone = remove_named_namespace(node.net_namespace); !gone) return gone;
  // The other end of its link, which goes with the namespace some time later by itself.
  (void)agent::run_tool({"ip", "-n", hub_of(lab.name), "link", "del", node.name});
  if (auto made = make_node_network(lab, node); !made) return made;
  if (auto started = start_sshd(node); !started) return started;
  return wait_for_sshd(lab, index);
}

std::vector<std::string> lab_ssh(const Lab& lab, size_t node, std::vector<std::string> command) {
  std::vector<std::string> argv{"ssh", "-F", "none", "-n"};
  for (const std::string& option :
       {std::string("LogLevel=ERROR"), std::string("BatchMode=yes"), std::string("ConnectTimeout=5"),
        std::string("IdentitiesOnly=yes"), std::string("IdentityAgent=none"),
        std::string("StrictHostKeyChecking=yes"), std::string("GlobalKnownHostsFile=none"),
        "UserKnownHostsFile=" + lab.folder + "/known_hosts"})
    argv.insert(argv.end(), {"-o", option});
  argv.insert(argv.end(),
              {"-i", lab.folder + "/id_ed25519", "root@" + lab.nodes.at(node).address, "--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace assay
