// For the tests of agent and nodes.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace assay::agent {

// Asks again and again until it holds or the time is up.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::seconds patience = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (char buffer[65'536]; file.read(buffer, sizeof buffer) || file.gcount() > 0;) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
  }
  return text;
}

// Programs for nodes are linked statically in release builds, not with sanitizers.
inline bool is_static(const std::string& program) {
  const std::string image = read_whole(program);
  Elf64_Ehdr header;
  memcpy(&header, image.data(), sizeof header);
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, image.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

inline bool process_runs(pid_t pid) {  // there, and no zombie
  const std::string text = read_whole("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

// A folder that goes with the object.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / "assay-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) abort();
  }
  ~ScratchFolder() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const std::string& name = {}) const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  std::string read(const std::string& name) const { return read_whole(path(name)); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

 private:
  std::string path_;
};

// Makes the caller root of a user namespace of its own when it is not root already; false where
// that is refused. Only in a forked child.
inline bool become_namespace_root() {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (uid == 0) return true;
  if (unshare(CLONE_NEWUSER) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  return getuid() == 0;
}

// Some machines refuse namespaces to ordinary users, or to everybody (a container).
inline bool namespaces_work() {
  const pid_t pid = fork();
  if (pid == 0) _exit(become_namespace_root() && unshare(CLONE_NEWNET) == 0 ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0;
}

}  // namespace assay::agent
