// Servers: assay-raft (or assay-naive) processes on loopback, on ports that were free, in a folder
// of their own. All of them end with this object, and with the process that made it. Tests and
// benchmarks only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "targets/asio/testing_loop.h"
#include "targets/kv/http/kv_client.h"

namespace assay::raft {

// Ports of 127.0.0.1 that nobody listened on a moment ago, all different.
inline std::vector<int> free_ports(int count) {
  std::vector<int> sockets;
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no free port");
    }
    sockets.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (int fd : sockets) ::close(fd);
  return ports;
}

// Beside the running test.
inline std::string program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A child process; killed when this object or its parent ends.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const std::vector<std::string>& argv, const std::string& log_path) {
    std::vector<char*> args;
    for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
    args.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::freopen(log_path.c_str(), "a", stdout);
    std::freopen(log_path.c_str(), "a", stderr);
    ::execvp(args[0], args.data());
    ::_exit(127);
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~ChildProcess() { end(SIGKILL); }

  int pid() const { return pid_; }
  bool running() const { return pid_ > 0; }
  void signal(int number) const { ::kill(pid_, number); }
  // Sends the signal and waits for the end; gives what waitpid says.
  int end(int number) {
    if (pid_ <= 0) return 0;
    ::kill(pid_, number);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

 private:
  int pid_ = 0;
};

class Servers {
 public:
  // addresses: 127.0.77.1, 127.0.77.2, …, so that links can be told apart; else all 127.0.0.1.
  explicit Servers(int count, std::vector<std::string> flags = {}, bool addresses = false,
                   std::string binary = "assay-raft")
      : flags_(std::move(flags)), binary_(std::move(binary)) {
    std::string folder = (std::filesystem::temp_directory_path() / "assay-servers-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    const std::vector<int> ports = free_ports(2 * count);
    for (int i = 0; i < count; ++i) {
      const std::string name = "n" + std::to_string(i + 1);
      nodes_.push_back({.index = i,
                        .name = name,
                        .address = addresses ? "127.0.77." + std::to_string(i + 1) : "127.0.0.1",
                        .client_port = ports[2 * i],
                        .peer_port = ports[2 * i + 1],
                        .folder = folder_ + '/' + name});
    }
    children_.resize(count);
  }
  ~Servers() {
    children_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  int size() const { return static_cast<int>(nodes_.size()); }
  const NodeInfo& node(int i) const { return nodes_[i]; }
  ChildProcess& child(int i) { return children_[i]; }
  std::string log(int i) const { return read_text(nodes_[i].folder + ".log"); }
  const std::string& folder() const { return folder_; }

  std::vector<std::string> command(int i) const {
    std::string cluster;
    for (const NodeInfo& node : nodes_) {
      cluster += (cluster.empty() ? "" : ",") + node.name + "=" + endpoint(node, node.peer_port);
    }
    const NodeInfo& node = nodes_[i];
    std::vector<std::string> argv = {program(binary_),
                                     "--name",
                                     node.name,
                                     "--data",
                                     node.folder,
                                     "--client",
                                     endpoint(node, node.client_port),
                                     "--peer",
                                     endpoint(node, node.peer_port),
                                     "--cluster",
                                     cluster};
    argv.insert(argv.end(), flags_.begin(), flags_.end());
    return argv;
  }
  void start(int i) { children_[i] = ChildProcess(command(i), nodes_[i].folder + ".log"); }
  void start_all() {
    for (int i = 0; i < size(); ++i) start(i);
  }

  // On the processor so far, all threads, in microseconds.
  int64_t cpu_us(int i) const {
    int64_t ns = 0;
    const std::string tasks = "/proc/" + std::to_string(children_[i].pid()) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      ns += std::stoll("0" + read_text(task.path() / "schedstat"));
    }
    return ns / 1000;
  }

 private:
  static std::string endpoint(const NodeInfo& node, int port) {
    return node.address + ':' + std::to_string(port);
  }

  std::vector<std::string> flags_;
  std::string binary_;
  std::string folder_;
  std::vector<NodeInfo> nodes_;
  std::vector<ChildProcess> children_;
};

// Asks servers and waits for their answers.
class Asker {
 public:
  explicit Asker(TestingLoop& loop) : loop_(loop) {}

  // null: it does not answer.
  Value status(const NodeInfo& node) {
    std::optional<Value> answer;
    fetch_kv_status(loop_, node, [&](Result<Value> value) { answer = value ? *value : Value(); });
    loop_.run_until([&] { return answer.has_value(); });
    return answer.value_or(Value());
  }
  HttpReply http(const NodeInfo& node, std::string_view method, std::string_view target,
                 std::string_view body) {
    HttpClient client(loop_.context(), node.address, node.client_port);
    std::optional<HttpReply> answer;
    client.request(method, target, body, [&](HttpReply reply) { answer = std::move(reply); });
    loop_.run_until([&] { return answer.has_value(); }, std::chrono::seconds(10));
    return answer.value_or(HttpReply{HttpReply::Fate::kLost, 0, "", "no answer in 10 s"});
  }
  // The server that leads, by its own word and by that of a majority; -1 when none does in time.
  int leader(Servers& servers, std::chrono::milliseconds within = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < deadline) {
      if (const int leads = leader_now(servers); leads >= 0) return leads;
      loop_.run_for(std::chrono::milliseconds(10));
    }
    return -1;
  }

 private:
  int leader_now(Servers& servers) {
    int leads = -1;
    std::vector<Value> followed;
    for (int i = 0; i < servers.size(); ++i) {
      if (!servers.child(i).running()) continue;
      const Value status = this->status(servers.node(i));
      if (status["role"] == Value("leader")) leads = i;
      followed.push_back(status["leader"]);
    }
    if (leads < 0) return -1;
    const auto votes =
        std::count(followed.begin(), followed.end(), Value(servers.node(leads).name));
    return votes * 2 > servers.size() ? leads : -1;
  }

  TestingLoop& loop_;
};

}  // namespace assay::raft
