// SIGSTOP of whole process groups, and SIGCONT. Tests leases and leaders that do not know that time
// has passed, which a kill does not.
#include "nemesis/process_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

class Pause : public Nemesis {
 public:
  std::string_view kind() const override { return "pause"; }
  std::string_view summary() const override {
    return "SIGSTOP of the store's processes, then SIGCONT";
  }
  std::vector<std::string_view> shapes() const override { return process_victims(); }
  std::vector<std::string_view> deck() const override {
    return {"one", "minority", "majority", "leader"};
  }
  bool takes_nodes() const override { return true; }
  bool available(const Powers& powers) const override { return powers.pause; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    return run_process_fault(
        cluster, options, deck(),
        {.kind = std::string(kind()),
         .strike = [&cluster](int node, auto done) { cluster.pause(node, std::move(done)); },
         .restore = [&cluster](int node, auto done) { cluster.resume(node, std::move(done)); },
         .tells = true,
         .strikes = Strikes::kRunningFirst});
  }
};

}  // namespace

const Nemesis& pause_nemesis() {
  static const Pause nemesis;
  return nemesis;
}

}  // namespace assay
