// Observer: writes into the history what the checkers need beside the clients' operations: status
// samples of every node, exits, starts, findings in logs, and how the host itself fared.
//
// On the Loop's thread. Statuses are asked every interval from all nodes at once; a node that has
// not answered is asked again only when its answer or its failure has come.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/run/follower.h"
#include "harness/run/recorder.h"
#include "targets/target.h"

namespace assay {

class Observer {
 public:
  Observer(Loop& loop, Recorder& recorder, Target& target, const std::vector<NodeInfo>& nodes);
  ~Observer();

  void start(Nanos interval);
  void stop();

  // Of the nodes that report themselves leader the one of the highest term; where they say no term,
  // the one that began to last. -1: none does.
  int leader() const;
  int64_t term() const;  // that leader's; -1: none, or it says none
  // The last status of a node as its target gave it; null when it did not answer.
  const Value& status(int node) const;
  // All nodes answer, agree on one leader, and (for members that say it) on one applied index.
  bool converged() const;
  // Calls fn after every sample until it returns true.
  void watch(std::function<bool()> fn);

  void note_start(int node);
  void note_exit(int node, int code, int signal, bool expected);
  // By how much the clock that its daemon sees is ahead.
  void note_clock(int node, Nanos offset);
  // A line of a node's log. Kept in the history only when the target finds something in it.
  void note_log(int node, std::string_view line);
  void note_phase(std::string_view phase, std::string_view why = "");
  void note_proof(const ProvenAnomaly& proof);

  // Asks every node for its hashes over the last `count` applied entries, and records them.
  void record_chains(int64_t count, std::function<void()> done);

 private:
  struct Watched;
  void sample();
  void sampled(int node, Result<Value> status);

  Loop& loop_;
  Recorder& recorder_;
  Target& target_;
  std::vector<Watched> nodes_;
  std::vector<std::function<bool()>> watchers_;
  Nanos interval_{};
  int findings_left_;
  bool running_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay
