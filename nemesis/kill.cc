// SIGKILL of whole process groups, and restart. What the kernel holds for them survives: power
// loss is another fault.
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
  std::vector<std::string_view> shapes() const override {
    return {"one", "minority", "majority", "leader", "all"};
  }
  bool available(const Powers& powers) const override { return powers.kill; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    const auto all = shapes();
    return run_process_fault(
        cluster, options, {all.begin(), all.end()},
        {.kind = std::string(kind()),
         .strike = [&cluster](int node, auto done) { cluster.kill(node, std::move(done)); },
         .restore = [&cluster](int node, auto done) { cluster.start(node, std::move(done)); }});
  }
};

}  // namespace

const Nemesis& kill_nemesis() {
  static const Kill nemesis;
  return nemesis;
}

}  // namespace assay
