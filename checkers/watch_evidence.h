// What a history holds for the checker `watch`: what each watch was told, which changes certainly
// happened at which revision, and which were ever attempted. Private to checkers/watch*.cc.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/watch_value.h"

namespace assay::watching {

// One watch that was answered. What it was told is read from its operation where it is needed.
struct Leg {
  size_t id = 0;  // of the operation
  WatchWish wish;
  int64_t begin = 0;  // it is told everything from this revision on; 0: not known
  int64_t end = 0;    // … and up to, not including, this one
  size_t after = 0;   // of its session: index of the leg before + 1; 0: there is none
};

// A change that happened: somebody was told so. Its value is where it was said: Evidence::value_of.
struct Change {
  int64_t revision = 0;
  Symbol key;
  uint32_t by = 0;            // the operation that says it
  uint32_t item : 30 = 0;     // of its events, rows or writes
  bool deleted : 1 = false;
  bool written : 1 = false;   // it is the operation that made it
  uint32_t before = 0;        // of its key: index of the change before + 1; 0: none is known
};

struct Contradiction {
  Change one, other;  // of one key at one revision
};

// A session's watch that does not go on where it has to.
struct WrongStart {
  size_t before = 0;  // the operation that says where
  size_t id = 0;
  int64_t due = 0;
};

struct Evidence {
  const History* history = nullptr;
  std::vector<Leg> legs;        // in order of invocation
  std::vector<Change> changes;  // ascending by revision, then key; one for each
  std::vector<Contradiction> contradictions;
  std::vector<WrongStart> wrong_starts;
  bool attempts_known = false;  // somebody wrote, and all who did in words that are read here
  bool compactions_asked = false;

  // Null of a deletion.
  Value value_of(const Change& change) const;
  // What an event that some watch was told says; there is one for each.
  size_t change_of(const WatchedEvent& event) const;
  // Whether what an event says may be one of `attempts` that was invoked before that position.
  bool attempted(const WatchedEvent& event, Position before) const;
  // The highest revision that somebody had asked to compact to before that position.
  int64_t compaction_asked(Position before) const;

  // A write that is none of the changes: nobody knows whether or where it happened, or another has
  // its place.
  struct Attempt {
    uint64_t hash;  // of key and value
    uint32_t id;
    uint32_t item;     // of a txn's writes
    int64_t revision;  // 0: not known
  };
  std::vector<Attempt> attempts;  // by hash, then in order of invocation
  std::vector<std::pair<Position, int64_t>> compactions;  // when asked, and the highest so far
};

// Calls fn(key, value, item) for each key that it writes or tries to: null deletes.
void each_write(const Operation& op,
                const std::function<void(Symbol key, const Value& value, uint32_t item)>& fn);
// Where it is known to have happened; 0: not known.
int64_t happened_at(const Operation& op, const Value& written);

// Whether a watch of the history has values that are none: says which.
std::optional<std::pair<size_t, const char*>> malformed_watch(const History& history);
// Of a history without such.
Evidence evidence_of(const History& history);

}  // namespace assay::watching
