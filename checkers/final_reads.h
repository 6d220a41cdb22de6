// FinalReads: what each node said of each key last, in the final phase of a run: reads, and lists, in
// which a key that is missing is absent.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "checkers/key_events.h"

namespace assay {

// Whether there are reads or lists of the phase "final", however they ended.
bool has_final_reads(const History& history);

class FinalReads {
 public:
  FinalReads(const History& history, const KeyEvents& events);
  // The last one of each node; empty where nobody read the key.
  const std::vector<KeyEvent>& of(Symbol key) const;
  const std::set<Symbol>& nodes() const { return nodes_; }

 private:
  void put(Symbol key, const KeyEvent& read);
  const History& history_;
  std::unordered_map<Symbol, std::vector<KeyEvent>> last_;
  std::set<Symbol> nodes_;
};

}  // namespace assay
