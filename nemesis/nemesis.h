// Nemesis: a kind of fault: when it strikes (a generator) and how (against a Cluster).
//
// Its operations are start-KIND and stop-KIND (checkers/history/vocabulary.h). Victims and shapes
// are chosen when the start executes and stand in its completion, with what was observed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/rng.h"
#include "targets/cluster.h"
#include "workloads/gen/generator.h"

namespace assay {

// An option, set by `--set nemesis.name=value`.
struct NemesisOption {
  std::string name;
  std::string fallback;  // its default
  std::string summary;
};

struct NemesisOptions {
  explicit NemesisOptions(Rng rng) : rng(rng) {}
  Rng rng;                                      // this fault's own stream
  std::vector<std::string> shapes;              // empty: all of the kind, by a shuffled deck
  std::map<std::string, std::string> settings;  // its options; absent: the default
  Nanos lead_in;                                // no fault before
  Nanos interval;                               // start to start
  Nanos duration;                               // of each
  Nanos end;  // of the load: a fault that would end in the last interval
              // before it is not started
};

// One fault kind in one run. On the Loop's thread.
class NemesisRun {
 public:
  virtual ~NemesisRun() = default;
  // Over one nemesis lane: sleeps, starts and stops; done when no further fault fits.
  virtual Gen schedule() = 0;
  // Executes a start or stop; the completion carries what was observed.
  virtual void invoke(const Op& op, std::function<void(Op)> done) = 0;
};

class Nemesis {
 public:
  virtual ~Nemesis() = default;
  virtual std::string_view kind() const = 0;  // "partition"
  virtual std::string_view summary() const = 0;
  virtual std::vector<std::string_view> shapes() const = 0;
  // Those that are drawn where none is asked for.
  virtual std::vector<std::string_view> deck() const { return shapes(); }
  // Whether a list of nodes may stand for a shape: "n1+n3".
  virtual bool takes_nodes() const { return false; }
  virtual std::vector<NemesisOption> options() const { return {}; }
  // Whether the values of its options are right: else an input error.
  virtual Result<void> accepts(const std::map<std::string, std::string>&) const { return {}; }
  virtual bool available(const Powers& powers) const = 0;
  // The kind of fault that the nodes' agents must know for it; empty: none.
  virtual std::string_view node_fault() const { return {}; }
  // What the nodes must have, in a few words for people; empty: nothing in particular.
  virtual std::string_view needs() const { return {}; }
  // What is made ready on every node before its daemon starts (Node::prepare_fault).
  virtual std::vector<NodeFault> prepared(const std::map<std::string, std::string>& /*settings*/,
                                          const Claims& /*target*/) const {
    return {};
  }
  virtual std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                            const NemesisOptions& options) const = 0;
};

// The nemeses, in the order in which they are shown (nemesis/registry.cc).
const std::vector<const Nemesis*>& all_nemeses();
const Nemesis* find_nemesis(std::string_view kind);  // nullptr when there is none

}  // namespace assay
