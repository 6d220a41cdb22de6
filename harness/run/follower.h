// Follower: keeps up with a history while it is written, and asks the checkers of its header
// whether what there is of it is proven invalid already.
//
// Keys are looked at one by one, and again whenever an operation on them has completed. A key is
// judged with every line that it ever had, or not at all: one that has been idle for long, that
// takes too long, or of which a line was lost is left out for good, since of a part of its lines
// its last reads would seem to come out of thin air. So memory stays bounded, however long the run.
// Single-threaded.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checkers/checker.h"

namespace assay {

struct ProvenAnomaly {
  std::string checker;
  Symbol key;
  int64_t index = 0;  // of the completion with which it was proven
  Nanos time;         // … its time in the history
};

struct FollowerOptions {
  Nanos idle_max = seconds(30);       // of a key, in the history's time
  size_t lines_max = 200'000;         // of all keys; some 250 bytes each
  Nanos key_max = milliseconds(100);  // for one look at one key
};

class Follower {
 public:
  // clock: what a look may take is measured by it. stopping: polled by a look, from its thread.
  Follower(
      HistoryHeader header, std::function<Nanos()> clock,
      std::function<bool()> stopping = [] { return false; }, FollowerOptions options = {});

  // The next line of a client.
  void take(Op line);
  // There was a line of this key that take() does not get.
  void lose(Symbol key);
  // Looks at the keys with new completions. The first proof; nothing more is of use then.
  std::optional<ProvenAnomaly> look();

  size_t lines() const { return lines_; }               // kept
  size_t left_out() const { return left_out_.size(); }  // keys

 private:
  struct Key {
    std::vector<Op> lines;
    bool changed = false;  // since the last look
  };

  void leave_out(Symbol key);
  void forget_idle();
  std::optional<ProvenAnomaly> look_at(Symbol key);
  const Checker* refuting(const std::vector<Op>& lines, size_t count);

  const HistoryHeader header_;
  const std::function<Nanos()> clock_;
  const std::function<bool()> stopping_;
  const FollowerOptions options_;
  std::unordered_map<Symbol, Key> keys_;
  std::vector<Symbol> changed_;  // in the order in which they changed
  std::unordered_set<Symbol> left_out_;
  size_t lines_ = 0;
  Nanos now_;              // of the history
  bool too_long_ = false;  // the last look at a key was
  bool some_keyed_ = false, some_not_ = false;
};

}  // namespace assay
