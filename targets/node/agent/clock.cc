// The clock of a daemon jumps and drifts: through a file that it maps (skewed_clock.h), or through
// libfaketime. Nobody else's clock is touched. Verified by what the daemon says its time is, or by
// what another program under the same libfaketime takes for the time.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <optional>

#include "targets/node/agent/child.h"
#include "targets/node/agent/node_fault.h"
#include "targets/skewed_clock.h"

namespace assay::agent {
namespace {

constexpr Nanos kClockPatience = seconds(4);
constexpr Nanos kClockStep = milliseconds(50);  // between the small jumps that make a drift
constexpr Nanos kClockStale = milliseconds(500);
constexpr Nanos kClockNear = milliseconds(250);  // of what is seen to what was set

int64_t real_wall() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The preloaded library, where Debian and others have it; empty: it is nowhere.
std::string find_libfaketime() {
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/lib", "/usr/local/lib"}) {
    const std::string path = std::string(folder) + "/faketime/libfaketimeMT.so.1";
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

// "+12.345" s, as libfaketime reads it.
std::string faketime_text(Nanos offset) {
  char text[64];
  const int64_t ns = offset.count < 0 ? -offset.count : offset.count;
  snprintf(text, sizeof text, "%c%lld.%09lld\n", offset.count < 0 ? '-' : '+',
           static_cast<long long>(ns / 1'000'000'000), static_cast<long long>(ns % 1'000'000'000));
  return text;
}

std::string seconds_text(Nanos offset) {
  char text[64];
  snprintf(text, sizeof text, "%+.3f s", static_cast<double>(offset.count) / 1e9);
  return text;
}

int64_t number_of(const NodeFault::Settings& settings, const char* name) {
  const auto it = settings.find(name);
  return it == settings.end() ? 0 : atoll(it->second.c_str());
}

class ClockFault : public NodeFault {
 public:
  explicit ClockFault(FaultContext context)
      : context_(std::move(context)), path_(context_.data_folder + ".clock") {}
  ~ClockFault() override { unmap(); }

  std::string kind() const override { return "clock"; }

  Result<void> probe(bool* leftover) override {
    if (context_.data_folder.empty())
      return environment_error("the agent has no folder of its own");
    *leftover |= unlink(path_.c_str()) == 0;
    return {};
  }

  void prepare(const Settings& settings, Done<Environment> done) override {
    const auto by = settings.find("by");
    faketime_ = by != settings.end() && by->second == "libfaketime";
    library_ = faketime_ ? find_libfaketime() : "";
    if (faketime_ && library_.empty())
      return done(environment_error("libfaketimeMT.so.1 not found (package libfaketime)"));
    if (const auto made = make_file(); !made) return done(made.error());
    done(environment());
  }

  void begin(const Settings& settings, const std::string& daemon, Done<FaultSeen> done) override {
    if (!prepared_) return done(environment_error("the daemon was not prepared for it"));
    if (context_.daemons.leader(daemon) == 0)
      return done(FaultSeen{.evidence = "it was not running"});
    if (!in_force_) {
      in_force_ = true;
      jump_ = milliseconds(number_of(settings, "jump_ms"));
      gain_permille_ = number_of(settings, "gain_permille");
      since_ = context_.loop.now();
      drifted_ = {};
      if (const auto put = apply(); !put) return done(put.error());
      if (gain_permille_ != 0) step(++begins_);
    }
    // What is small beside what the eye can tell is waited for: a drift needs its time.
    const auto seen = [this] {
      const auto offset = seen_offset();
      return offset && magnitude(*offset) > kClockNear && is_near(*offset, wanted());
    };
    context_.loop.until(seen, kClockPatience,
                        [this, done](bool bit) { done(seen_now(true, bit)); });
  }

  void end(Done<FaultSeen> done) override {
    if (!in_force_) return done(FaultSeen{.installed = true});
    const auto held = seen_offset();
    const bool bit = held && magnitude(*held) > kClockNear && is_near(*held, wanted());
    if (const auto put = lift(); !put) return done(put.error());
    const std::string evidence = "its clock was off by " + (held ? seconds_text(*held) : "?");
    const auto right = [this] {
      const auto offset = seen_offset();
      return !offset || magnitude(*offset) < kClockNear;  // a daemon that does not run has none
    };
    context_.loop.until(right, kClockPatience, [bit, evidence, done](bool healed) {
      done(FaultSeen{.installed = healed,
                     .bit = bit,
                     .evidence = evidence + (healed ? ", and is right again" : ", and still is")});
    });
  }

  void look(Done<FaultSeen> done) override { done(seen_now(in_force_, false)); }

  Result<void> heal() override { return in_force_ ? lift() : Result<void>(); }
  Result<void> remove() override {
    unmap();
    if (prepared_ && unlink(path_.c_str()) != 0 && errno != ENOENT)
      return environment_error("cannot remove " + path_ + ": " + strerror(errno));
    return {};
  }

 private:
  static Nanos magnitude(Nanos span) { return span.count < 0 ? Nanos{-span.count} : span; }
  static bool is_near(Nanos seen, Nanos wanted) {
    return magnitude(seen - wanted) <= std::max(kClockNear, magnitude(wanted) / 4);
  }

  Environment environment() const {
    if (!faketime_) return {{kClockVariable, path_}};
    return {{"LD_PRELOAD", library_},
            {"FAKETIME_TIMESTAMP_FILE", path_},
            {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
            {"FAKETIME_NO_CACHE", "1"},
            {"NO_FAKE_STAT", "1"}};
  }

  Result<void> make_file() {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return environment_error("cannot make " + path_ + ": " + strerror(errno));
    const bool sized = faketime_ || ftruncate(fd, sizeof(ClockFile)) == 0;
    ::close(fd);
    unmap();
    if (!faketime_) file_ = ClockFile::map(path_.c_str());
    if (!sized || (!faketime_ && file_ == nullptr))
      return environment_error("cannot map " + path_ + ": " + strerror(errno));
    prepared_ = true;
    return faketime_ ? put_text(Nanos{}) : Result<void>();
  }

  void unmap() {
    if (file_) munmap(file_, sizeof(ClockFile));
    file_ = nullptr;
  }

  // In place of the old one, whole: a reader sees the one or the other.
  Result<void> put_text(Nanos offset) const {
    const std::string fresh = path_ + ".new", text = faketime_text(offset);
    const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool put = fd >= 0 && write(fd, text.data(), text.size()) == ssize_t(text.size());
    if (fd >= 0) ::close(fd);
    if (put && rename(fresh.c_str(), path_.c_str()) == 0) return {};
    return environment_error("cannot write " + path_ + ": " + strerror(errno));
  }

  Nanos wanted() const { return in_force_ ? jump_ + drifted_ : Nanos{}; }

  Result<void> apply() {
    if (context_.skip.contains("no-clock")) return {};
    if (faketime_) return put_text(wanted());
    file_->gain_permille = in_force_ ? gain_permille_ : 0;
    file_->steady_offset = steady_base_ + drifted_.count;
    file_->wall_offset = wanted().count;
    return {};
  }

  void step(int begin) {
    context_.loop.after(kClockStep, [this, begin] {
      if (!in_force_ || begin != begins_) return;
      drifted_ = (context_.loop.now() - since_) * gain_permille_ / 1'000;
      if (const auto put = apply(); !put) return context_.lost(kind(), put.error().message);
      step(begin);
    });
  }

  // The wall clock is right again; a steady one keeps what it has gained.
  Result<void> lift() {
    steady_base_ += drifted_.count;
    drifted_ = {};
    in_force_ = false;
    return apply();
  }

  // Absent where nobody says: the daemon does not run, or has not looked at its clock yet.
  std::optional<Nanos> seen_offset() const {
    if (!faketime_) {
      if (file_ == nullptr) return std::nullopt;
      const int64_t seen = file_->seen_wall.exchange(0);
      if (seen == 0) {  // not since the last look; one that stands still says nothing
        if (context_.loop.now() - last_seen_at_ > kClockStale) last_seen_.reset();
        return last_seen_;
      }
      last_seen_ = Nanos{seen - real_wall()};
      last_seen_at_ = context_.loop.now();
      return last_seen_;
    }
    std::vector<std::string> argv{"env"};
    for (const auto& [name, value] : environment()) argv.push_back(name + "=" + value);
    argv.insert(argv.end(), {"date", "+%s%N"});
    const auto ran = run_tool(argv);
    if (!ran) return std::nullopt;
    return Nanos{atoll(ran->out.c_str()) - real_wall()};
  }

  FaultSeen seen_now(bool installed, bool bit) const {
    const auto offset = seen_offset();
    return {.installed = installed,
            .bit = bit,
            .evidence =
                offset ? "its clock is off by " + seconds_text(*offset) : "its clock is not seen",
            .figure = offset ? offset->count : 0};
  }

  FaultContext context_;
  const std::string path_;
  bool faketime_ = false, prepared_ = false, in_force_ = false;
  std::string library_;
  ClockFile* file_ = nullptr;
  Nanos jump_, drifted_, since_;
  int64_t gain_permille_ = 0, steady_base_ = 0;
  int begins_ = 0;
  mutable std::optional<Nanos> last_seen_;
  mutable Nanos last_seen_at_;
};

}  // namespace

std::unique_ptr<NodeFault> make_clock(const FaultContext& context) {
  return std::make_unique<ClockFault>(context);
}

}  // namespace assay::agent
