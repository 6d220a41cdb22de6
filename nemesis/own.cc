#include "nemesis/own.h"

#include <utility>

#include "nemesis/process_fault.h"

namespace assay {
namespace {

class Own : public Nemesis {
 public:
  explicit Own(OwnFault fault) : fault_(std::move(fault)) {}

  std::string_view kind() const override { return fault_.kind; }
  std::string_view summary() const override { return fault_.summary; }
  std::vector<std::string_view> shapes() const override { return process_victims(); }
  std::vector<std::string_view> deck() const override {
    return {"one", "minority", "majority", "leader", "all"};
  }
  bool takes_nodes() const override { return true; }
  bool available(const Powers& powers) const override { return powers.run; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    NemesisOptions used = options;
    if (!fault_.lasts) used.duration = Nanos{};
    return run_process_fault(
        cluster, used, deck(),
        {.kind = fault_.kind,
         .strike = [&cluster, kind = fault_.kind](
                       int node, auto done) { cluster.begin_own(kind, node, std::move(done)); },
         .restore = [&cluster, kind = fault_.kind](
                        int node, auto done) { cluster.end_own(kind, node, std::move(done)); },
         .tells = fault_.lasts,
         .strikes = Strikes::kRunningOnly});
  }

 private:
  const OwnFault fault_;
};

}  // namespace

std::unique_ptr<Nemesis> own_nemesis(OwnFault fault) {
  return std::make_unique<Own>(std::move(fault));
}

}  // namespace assay
