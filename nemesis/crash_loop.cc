// A node that crashes again and again: SIGKILL as soon as it answers, restart, and so on until the
// fault ends; then it stays up. Tests what a start does before it is through.
#include <map>
#include <memory>
#include <utility>

#include "nemesis/process_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

// The loops of one run. Its callbacks keep it alive.
class CrashLoops : public std::enable_shared_from_this<CrashLoops> {
 public:
  explicit CrashLoops(Cluster& cluster) : cluster_(cluster) {}

  // Done after the first kill.
  void begin(int node, Callback<Effect> done) {
    Looping& loop = loops_[node];
    if (loop.goes_on) return done(Effect{true, true, ""});
    loop = {};
    loop.goes_on = true;
    cluster_.kill(node, [self = shared_from_this(), node, done](const Result<Effect>& seen) {
      Looping& loop = self->loops_[node];
      if (!seen || !seen->bit) {
        loop.goes_on = false;
        loop.failed = !seen;
        return done(seen);
      }
      ++loop.kills;
      self->revive(node);
      done(seen);
    });
  }

  // Done when the node is up and stays so. bit: it was killed more than once.
  void end(int node, Callback<Effect> done) {
    const auto it = loops_.find(node);
    if (it != loops_.end() && std::exchange(it->second.failed, false))
      return cluster_.start(node, std::move(done));
    if (it == loops_.end() || !it->second.goes_on) return done(Effect{true, false, ""});
    it->second.goes_on = false;
    it->second.ended = std::move(done);
    if (std::exchange(it->second.stands_down, false)) revive(node);
  }

 private:
  struct Looping {
    bool goes_on = false;
    bool failed = false;       // nobody knows whether the first kill struck
    bool stands_down = false;  // a start failed: nothing is under way
    int kills = 0;
    Callback<Effect> ended;
  };

  void revive(int node) {
    cluster_.start(node, [self = shared_from_this(), node](const Result<Effect>& up) {
      Looping& loop = self->loops_[node];
      if (!loop.goes_on) return self->finish(node, up);
      up ? self->strike(node) : void(loop.stands_down = true);
    });
  }

  void strike(int node) {
    cluster_.kill(node, [self = shared_from_this(), node](const Result<Effect>& seen) {
      Looping& loop = self->loops_[node];
      if (seen && seen->bit) ++loop.kills;
      self->revive(node);
    });
  }

  void finish(int node, const Result<Effect>& up) {
    Looping& loop = loops_[node];
    const Callback<Effect> ended = std::exchange(loop.ended, nullptr);
    if (!up) return ended(up);
    ended(Effect{up->installed, loop.kills > 1,
                 cluster_.nodes()[node].name + ": killed " + std::to_string(loop.kills) + " times" +
                     (up->evidence.empty() ? "" : "; " + up->evidence)});
  }

  Cluster& cluster_;
  std::map<int, Looping> loops_;
};

class CrashLoop : public Nemesis {
 public:
  std::string_view kind() const override { return "crash-loop"; }
  std::string_view summary() const override {
    return "SIGKILL again and again, as soon as the store answers; then it stays up";
  }
  std::vector<std::string_view> shapes() const override { return process_victims(); }
  std::vector<std::string_view> deck() const override { return {"one", "minority", "leader"}; }
  bool takes_nodes() const override { return true; }
  bool available(const Powers& powers) const override { return powers.kill; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    const auto loops = std::make_shared<CrashLoops>(cluster);
    return run_process_fault(
        cluster, options, deck(),
        {.kind = std::string(kind()),
         .strike = [loops](int node, auto done) { loops->begin(node, std::move(done)); },
         .restore = [loops](int node, auto done) { loops->end(node, std::move(done)); },
         .tells = true,
         .strikes = Strikes::kRunningFirst});
  }
};

}  // namespace

const Nemesis& crash_loop_nemesis() {
  static const CrashLoop nemesis;
  return nemesis;
}

}  // namespace assay
