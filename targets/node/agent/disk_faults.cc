// What goes wrong with a node's disk: power that goes before writes were synced, calls that fail, no
// room. All three need the disk program (disk_program.h) under the daemon's data folder from its
// first start on; `prepare` mounts it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <utility>

#include "targets/node/agent/child.h"
#include "targets/node/agent/disk_program.h"
#include "targets/node/agent/node_fault.h"

namespace assay::agent {
namespace {

constexpr int kAnswersMs = 4'000;
constexpr Nanos kDies = seconds(4);
constexpr Nanos kBites = seconds(4);  // until the daemon meets what was prepared for it

// The program and the way to it; one for the three faults of a node.
class Disk {
 public:
  explicit Disk(const FaultContext& context) : name_(disk_mount_name(context.run, context.node)) {}
  ~Disk() { unmount(); }

  // Where an earlier agent's mounts are gone, *leftover says that there were some.
  Result<void> probe(bool* leftover) {
    std::istringstream mounts(read_mounts());
    for (std::string what, where, rest; mounts >> what >> where && std::getline(mounts, rest);)
      if (what == name_) {
        *leftover = true;
        umount2(where.c_str(), MNT_DETACH);
      }
    const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0)
      return environment_error(std::string("/dev/fuse: ") + strerror(errno) + " (FUSE, and root, are needed)");
    close(fd);
    if (geteuid() != 0) return environment_error("not root: nothing can be mounted");
    return {};
  }

  Result<void> mount(const std::string& folder) {
    if (pid_ > 0) return {};
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      return environment_error(std::string("cannot make a pipe: ") + strerror(errno));
    ChildSpec spec{.in = to[0], .out = from[1]};
    spec.body = [folder, name = name_] {
      return run_disk_program(folder, name, STDIN_FILENO, STDOUT_FILENO);
    };
    const auto pid = spawn(spec);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    if (!pid) return pid.error();
    pid_ = *pid;
    folder_ = folder;
    const auto mounted = hear();
    if (!mounted) unmount();
    return mounted ? Result<void>() : mounted.error();
  }

  // The words after "ok"; blocks for as long as the program needs, which is little.
  Result<std::string> ask(const std::string& command) {
    if (pid_ <= 0) return environment_error("the data folder was not prepared for faults of the disk");
    const std::string line = command + "\n";
    if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      return environment_error("the disk program has ended");
    return hear();
  }

  void unmount() {
    if (pid_ <= 0) return;
    close(to_);
    for (int i = 0; i < 200 && is_mounted(); ++i) usleep(10'000);
    if (is_mounted()) {
      ::kill(pid_, SIGKILL);
      umount2(folder_.c_str(), MNT_DETACH);
    }
    close(from_);
    pid_ = -1;
  }

 private:
  static std::string read_mounts() {
    std::string text;
    const int fd = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
    char block[4096];
    for (ssize_t n; fd >= 0 && (n = read(fd, block, sizeof block)) > 0;) text.append(block, static_cast<size_t>(n));
    if (fd >= 0) close(fd);
    return text;
  }
  bool is_mounted() const { return ("\n" + read_mounts()).find("\n" + name_ + " ") != std::string::npos; }

  Result<std::string> hear() {
    std::string line;
    while (line.empty() || line.back() != '\n') {
      pollfd ready{from_, POLLIN, 0};
      char block[512];
      if (poll(&ready, 1, kAnswersMs) <= 0) return environment_error("the disk program does not answer");
      const ssize_t n = read(from_, block, sizeof block);
      if (n <= 0) return environment_error("the disk program has ended");
      line.append(block, static_cast<size_t>(n));
    }
    line.pop_back();
    if (line.starts_with("ok")) return line.substr(std::min<size_t>(3, line.size()));
    return environment_error(line.substr(std::min<size_t>(3, line.size())));
  }

  const std::string name_;
  std::string folder_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

std::shared_ptr<Disk> disk_of(const FaultContext& context) {
  static std::map<std::string, std::weak_ptr<Disk>> disks;
  auto& known = disks[disk_mount_name(context.run, context.node)];
  auto disk = known.lock();
  if (!disk) known = disk = std::make_shared<Disk>(context);
  return disk;
}

// "failed=2" of an answer.
uint64_t number_in(const std::string& answer, const std::string& name) {
  const size_t at = answer.find(name + "=");
  return at == std::string::npos ? 0 : strtoull(answer.c_str() + at + name.size() + 1, nullptr, 10);
}

std::string setting(const NodeFault::Settings& settings, const char* name, const char* fallback) {
  const auto found = settings.find(name);
  return found == settings.end() || found->second.empty() ? fallback : found->second;
}

class DiskFault : public NodeFault {
 public:
  explicit DiskFault(const FaultContext& context) : context_(context), disk_(disk_of(context)) {}
  Result<void> probe(bool* leftover) override { return disk_->probe(leftover); }
  void prepare(const Settings& settings, Done<Environment> done) override {
    const auto mounted = disk_->mount(setting(settings, "folder", context_.data_folder.c_str()));
    if (!mounted) return done(mounted.error());
    done(Environment{});
  }
  Result<void> heal() override { return {}; }
  Result<void> remove() override {
    disk_->unmount();
    return {};
  }

 protected:
  bool skipped() const { return context_.skip.contains("no-" + kind()); }
  FaultContext context_;
  std::shared_ptr<Disk> disk_;
};

class PowerLoss : public DiskFault {
 public:
  using DiskFault::DiskFault;
  std::string kind() const override { return "power-loss"; }

  // Everything dies, then what was not synced is gone.
  void begin(const Settings& settings, const std::string& daemon, Done<FaultSeen> done) override {
    const pid_t leader = context_.daemons.leader(daemon);
    const auto dead = [this, daemon] {
      const auto tree = context_.daemons.tree(daemon);
      for (const pid_t process : tree) ::kill(process, SIGKILL);
      return tree.empty() && context_.daemons.leader(daemon) == 0;
    };
    // Other draws at every loss, and on every node.
    uint64_t seed = strtoull(setting(settings, "seed", "1").c_str(), nullptr, 10) * 1000 + ++losses_;
    for (const char c : context_.node) seed = seed * 31 + static_cast<unsigned char>(c);
    context_.loop.until(dead, kDies, [this, leader, seed = std::to_string(seed), done](bool all) {
      if (!all) return done(FaultSeen{.evidence = "its processes do not die"});
      if (skipped()) return done(FaultSeen{.installed = true, .evidence = "nothing was dropped"});
      const auto lost = disk_->ask("lose " + seed);
      if (!lost) return done(lost.error());
      lost_ = leader != 0;
      done(FaultSeen{.installed = true,
                     .bit = lost_,
                     .evidence = "power lost: " + std::to_string(number_in(*lost, "bytes")) + " bytes of " +
                                 std::to_string(number_in(*lost, "files")) + " files and " +
                                 std::to_string(number_in(*lost, "entries")) +
                                 " entries were not synced and are gone"});
    });
  }
  void end(Done<FaultSeen> done) override {
    done(FaultSeen{.installed = true, .bit = std::exchange(lost_, false)});
  }

 private:
  uint64_t losses_ = 0;
  bool lost_ = false;
};

// Calls fail until it is ended.
class DiskTrouble : public DiskFault {
 public:
  DiskTrouble(const FaultContext& context, std::string kind, std::string word, std::string counter, std::string what)
      : DiskFault(context),
        kind_(std::move(kind)),
        word_(std::move(word)),
        counter_(std::move(counter)),
        what_(std::move(what)) {}
  std::string kind() const override { return kind_; }

  void begin(const Settings& settings, const std::string&, Done<FaultSeen> done) override {
    if (skipped()) return done(FaultSeen{.installed = true, .evidence = "nothing was made to fail"});
    const std::string command = word_ == "full"
                                    ? "full " + setting(settings, "room", "0")
                                    : "fail " + setting(settings, "call", "fsync") + " " + setting(settings, "nth", "1");
    if (const auto told = disk_->ask(command); !told) return done(told.error());
    active_ = true;
    const auto seen = std::make_shared<uint64_t>(0);
    context_.loop.until(
        [this, seen] {
          const auto looked = disk_->ask("look");
          return !looked || (*seen = number_in(*looked, counter_)) > 0;
        },
        kBites, [this, seen, done](bool) { done(report(*seen)); });
  }
  void end(Done<FaultSeen> done) override {
    if (!active_) return done(FaultSeen{.installed = true});
    const auto healed = disk_->ask("heal " + word_);
    if (!healed) return done(healed.error());
    active_ = false;
    done(report(number_in(*healed, counter_)));
  }
  Result<void> heal() override {
    if (active_) (void)disk_->ask("heal " + word_);
    active_ = false;
    return {};
  }

 private:
  FaultSeen report(uint64_t times) const {
    return {.installed = true, .bit = times > 0, .evidence = std::to_string(times) + " calls " + what_};
  }
  const std::string kind_, word_, counter_, what_;
  bool active_ = false;
};

}  // namespace

std::unique_ptr<NodeFault> make_power_loss(const FaultContext& context) {
  return std::make_unique<PowerLoss>(context);
}
std::unique_ptr<NodeFault> make_disk_error(const FaultContext& context) {
  return std::make_unique<DiskTrouble>(context, "disk-error", "fail", "failed", "failed with EIO");
}
std::unique_ptr<NodeFault> make_disk_full(const FaultContext& context) {
  return std::make_unique<DiskTrouble>(context, "disk-full", "full", "refused", "met a full disk (ENOSPC)");
}

}  // namespace assay::agent
