// A real sshd on 127.0.0.1 for tests: keys, configuration and files in a folder of its own; stopped
// by its process id. Needs /usr/sbin/sshd, ssh-keygen, and root.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/test_support.h"

namespace assay {

inline void run_or_fail(const std::string& command) {
  ASSERT_EQ(std::system((command + " </dev/null >/dev/null 2>&1").c_str()), 0) << command;
}

inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

class TestSshd {
 public:
  // Empty, or why there can be none here.
  static std::string missing() {
    if (::geteuid() != 0) return "not root";
    for (const char* program : {"/usr/sbin/sshd", "/usr/bin/ssh-keygen"})
      if (::access(program, X_OK) != 0) return std::string(program) + " is missing (package openssh-server)";
    return "";
  }

  // `host_keys`: types for ssh-keygen. `config`: lines that count before its own.
  explicit TestSshd(const std::string& host_keys = "ed25519", const std::string& config = "") {
    ::chmod(folder.path("").c_str(), 0755);
    key("id", "ed25519");
    ::mkdir("/run/sshd", 0755);  // where sshd locks itself in; compiled into it
    for (int i = 0; i < 20; ++i) {  // another may take the port that was free
      port = free_port();
      std::ofstream file(folder.path("sshd_config"));
      file << config << "\nPort " << port << "\nListenAddress 127.0.0.1\nPidFile " << folder.path("pid")
           << "\nHostKey " << host_key(host_keys) << "\nAuthorizedKeysFile " << folder.path("id.pub")
           << "\nUsePAM no\nStrictModes no\nUseDNS no\nSetEnv SHLVL=1\nMaxStartups 64:30:128\n";
      file.close();
      start();
      if (is_up()) break;
      stop();
    }
    known("known", agent::read_whole(host_key(host_keys) + ".pub"));
  }
  ~TestSshd() { stop(); }

  // A pair of keys in the folder; the path of the private one.
  std::string key(const std::string& name, const std::string& type) {
    const std::string path = folder.path(name);
    if (::access(path.c_str(), R_OK) != 0)
      run_or_fail("ssh-keygen -q -t " + type + " -N '' -f " + path);
    return path;
  }
  std::string host_key(const std::string& type) { return key("host_" + type, type); }
  // A known_hosts file that says so of this server.
  std::string known(const std::string& name, const std::string& public_key) {
    std::ofstream(folder.path(name)) << "[127.0.0.1]:" << port << " " << public_key;
    return folder.path(name);
  }

  // Those that serve connections now.
  std::vector<pid_t> sessions() const { return agent::children_of(pid_); }
  pid_t pid() const { return pid_; }
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  agent::ScratchFolder folder;
  int port = 0;

 private:
  void start() {
    pid_ = ::fork();
    if (pid_ != 0) return;
    const std::string config = folder.path("sshd_config"), log = folder.path("sshd.log");
    ::execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-f", config.c_str(), "-E", log.c_str(), nullptr);
    ::_exit(127);
  }
  bool is_up() const {
    for (int i = 0; i < 500; ++i) {
      if (::access(folder.path("pid").c_str(), R_OK) == 0) return true;
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  pid_t pid_ = -1;
};

}  // namespace assay
