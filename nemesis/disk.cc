// What goes wrong with disks: power loss (SIGKILL, and what was not synced is gone), calls that fail,
// no room. The nodes' data folders lie on a file system of the agent's from the first start on.
#include <charconv>

#include "nemesis/process_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

std::string chosen(const std::map<std::string, std::string>& settings, const NemesisOption& option) {
  const auto found = settings.find(option.name);
  return found == settings.end() ? option.fallback : found->second;
}

class DiskNemesis : public Nemesis {
 public:
  bool available(const Powers& powers) const override { return powers.faults; }
  std::string_view node_fault() const override { return kind(); }
  std::string_view needs() const override { return "root and FUSE"; }
  std::vector<std::string_view> shapes() const override {
    return {"one", "minority", "majority", "leader", "all"};
  }
  std::vector<NodeFault> prepared(const std::map<std::string, std::string>&, const Claims&) const override {
    return {{.kind = std::string(kind())}};
  }
  std::unique_ptr<NemesisRun> start(Cluster& cluster, const NemesisOptions& options) const override {
    const auto all = drawn();
    NodeFault fault{.kind = std::string(kind()), .ends_daemon = true};
    for (const NemesisOption& option : this->options()) fault.settings[option.name] = chosen(options.settings, option);
    const auto seeds = std::make_shared<Rng>(options.rng.stream("torn"));
    return run_process_fault(
        cluster, options, {all.begin(), all.end()},
        {.kind = std::string(kind()),
         .strike =
             [&cluster, fault, seeds](int node, auto done) {
               NodeFault one = fault;
               one.settings["seed"] = std::to_string(seeds->next());
               cluster.begin_fault(one, node, std::move(done));
             },
         .restore =
             [&cluster, kind = fault.kind](int node, auto done) {
               cluster.end_fault(kind, node, [&cluster, node, done](const Result<Effect>& ended) {
                 if (!ended || !ended->installed) return done(ended);
                 cluster.start(node, [ended, done](const Result<Effect>& started) { started ? done(ended) : done(started); });
               });
             },
         .tells = false,
         .strikes = Strikes::kRunningFirst});
  }

 protected:
  // Those that a store must live through where none is asked for.
  virtual std::vector<std::string_view> drawn() const { return shapes(); }
};

class PowerLossNemesis : public DiskNemesis {
 public:
  std::string_view kind() const override { return "power-loss"; }
  std::string_view summary() const override {
    return "SIGKILL, and writes that were not synced are gone; then restart";
  }
};

class DiskErrorNemesis : public DiskNemesis {
 public:
  std::string_view kind() const override { return "disk-error"; }
  std::string_view summary() const override { return "a call on the data folder fails with EIO"; }
  std::vector<NemesisOption> options() const override {
    return {{"call", "fsync", "which: fsync, write or read"}, {"nth", "1", "the how-manieth from then on"}};
  }
  Result<void> accepts(const std::map<std::string, std::string>& settings) const override {
    const auto given = options();
    const std::string call = chosen(settings, given[0]), nth = chosen(settings, given[1]);
    if (call != "fsync" && call != "write" && call != "read")
      return input_error("disk-error.call: expected fsync, write or read, found \"" + call + "\"");
    int64_t number = 0;
    const auto [end, error] = std::from_chars(nth.data(), nth.data() + nth.size(), number);
    if (error != std::errc() || end != nth.data() + nth.size() || number < 1)
      return input_error("disk-error.nth: expected a number from 1 on, found \"" + nth + "\"");
    return {};
  }

 protected:
  std::vector<std::string_view> drawn() const override { return {"one", "minority", "leader"}; }
};

class DiskFullNemesis : public DiskNemesis {
 public:
  std::string_view kind() const override { return "disk-full"; }
  std::string_view summary() const override { return "no room is left on the data folder's disk"; }
  std::vector<NemesisOption> options() const override {
    return {{"room", "0", "bytes that can still be written"}};
  }
  Result<void> accepts(const std::map<std::string, std::string>& settings) const override {
    const std::string room = chosen(settings, options()[0]);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(room.data(), room.data() + room.size(), number);
    if (error != std::errc() || end != room.data() + room.size() || number < 0)
      return input_error("disk-full.room: expected bytes from 0 on, found \"" + room + "\"");
    return {};
  }

 protected:
  std::vector<std::string_view> drawn() const override { return {"one", "minority", "leader"}; }
};

}  // namespace

const Nemesis& power_loss_nemesis() {
  static const PowerLossNemesis nemesis;
  return nemesis;
}
const Nemesis& disk_error_nemesis() {
  static const DiskErrorNemesis nemesis;
  return nemesis;
}
const Nemesis& disk_full_nemesis() {
  static const DiskFullNemesis nemesis;
  return nemesis;
}

}  // namespace assay
