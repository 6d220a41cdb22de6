// SIGKILL of whole process groups, and restart. What the kernel holds for them survives: power
// loss is another fault.
#include "nemesis/node_fault.h"
#include "nemesis/process_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

class Kill : public Nemesis {
 public:
  std::string_view kind() const override { return "kill"; }
  std::string_view summary() const override {
    return "SIGKILL of the store's processes, then restart";
  }
  std::vector<std::string_view> shapes() const override { return process_victims(); }
  std::vector<std::string_view> deck() const override {
    return {"one", "minority", "majority", "leader", "all"};
  }
  bool takes_nodes() const override { return true; }
  std::vector<NemesisOption> options() const override {
    return {{"tree", "false", "also what the store started in sessions of its own"},
            {"restart_after", "", "down so long, where not as long as the other faults last"}};
  }
  Result<void> accepts(const std::map<std::string, std::string>& settings) const override {
    for (const auto& [name, value] : settings) {
      if (name == "tree" && value != "true" && value != "false")
        return wrong_option(kind(), name, "true or false", value);
      const auto span = parse_duration(value);
      if (name == "restart_after" && (!span || *span <= Nanos{}))
        return wrong_option(kind(), name, "a duration such as 10s", value);
    }
    return {};
  }
  bool available(const Powers& powers) const override { return powers.kill; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    const auto set = [&](const char* name) {
      const auto it = options.settings.find(name);
      return it == options.settings.end() ? std::string() : it->second;
    };
    NemesisOptions used = options;
    if (const auto down = parse_duration(set("restart_after"))) used.duration = *down;
    const bool tree = set("tree") == "true";
    return run_process_fault(
        cluster, used, deck(),
        {.kind = std::string(kind()),
         .strike =
             [&cluster, tree](int node, auto done) {
               if (!tree) return cluster.kill(node, std::move(done));
               // It is over when it has struck: what ends it is the restart.
               cluster.begin_fault({.kind = "kill-tree"}, node, std::move(done));
             },
         .restore =
             [&cluster](int node, auto done) {
               cluster.end_fault("kill-tree", node, [&cluster, node, done](const auto& ended) {
                 ended ? cluster.start(node, done) : done(ended);
               });
             },
         .strikes = tree ? Strikes::kRunningFirst : Strikes::kAny});
  }
};

}  // namespace

const Nemesis& kill_nemesis() {
  static const Kill nemesis;
  return nemesis;
}

}  // namespace assay
