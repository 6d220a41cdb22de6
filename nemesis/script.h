// ScriptNemesis: executes the faults that a script names one by one, on the nodes that it names.
//
// The operations are those of the vocabulary, with the victims in the invocation's value:
//   start-partition {"from","to"} adds one directed cut, {"sides": [[node …] …]} all links between
//   two of them; stop-partition {} heals all cuts
//   start-delay {"from","to","by","jitter","reorder","duplicate"} makes one directed link slow, as
//   the options of the nemesis delay say; stop-delay {} makes all fast
//   start-kill, stop-kill, start-pause, stop-pause {"node"}; a stop without node is for all nodes
#pragma once

#include <vector>

#include "nemesis/nemesis.h"

namespace assay {

class ScriptNemesis : public NemesisRun {
 public:
  ScriptNemesis(Cluster& cluster, Rng rng) : cluster_(cluster), rng_(rng) {}
  Gen schedule() override;  // nothing: the script has its own
  void invoke(const Op& op, std::function<void(Op)> done) override;

 private:
  int node(std::string_view name) const;  // -1: none of that name
  void cut(const Op& op, std::function<void(Op)> done);
  std::vector<Cut> asked_cuts(const Value& value) const;
  void delay(const Op& op, std::function<void(Op)> done);
  void on_process(const Op& op, bool begin, std::function<void(Op)> done);

  Cluster& cluster_;
  Rng rng_;
  std::vector<Cut> cuts_;
  std::vector<SlowLink> slow_;
};

}  // namespace assay
