// What a history holds for the checker `watch`: what each watch was told, which changes certainly
// happened at which revision, and which were ever attempted. Private to checkers/watch*.cc.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/watch_value.h"

namespace assay::watching {

// One watch that was answered.
struct Leg {
  size_t id = 0;  // of the operation
  WatchWish wish;
  WatchSeen seen;
  int64_t begin = 0;  // it is told everything from this revision on; 0: not known
  int64_t end = 0;    // … and up to, not including, this one
  size_t after = 0;   // of its session: index of the leg before + 1; 0: there is none
};

// A change that happened: somebody was told so.
struct Change {
  int64_t revision = 0;
  Symbol key;
  bool deleted = false;
  Value value;
  size_t by = 0;         // the operation that says it
  bool written = false;  // it is the operation that made it

  bool same_content(const Change& other) const {
    return deleted == other.deleted && value == other.value;
  }
};

// A write, whatever became of it.
struct Attempt {
  size_t id = 0;
  bool failed = false;
  int64_t revision = 0;  // where it is known to have happened; 0: not known
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
  std::vector<Leg> legs;        // in order of invocation
  std::vector<Change> changes;  // ascending by revision, then key; one for each
  std::vector<Contradiction> contradictions;
  std::vector<WrongStart> wrong_starts;
  bool attempts_known = false;  // somebody wrote, and all who did in words that are read here
  bool compactions_asked = false;

  // Of a put of that value, or of a deletion (null), to that key.
  const std::vector<Attempt>* attempts(Symbol key, const Value& value) const;
  // Of one key, ascending by revision: indices into changes.
  const std::vector<size_t>* changes_of(Symbol key) const;
  // The highest revision that somebody had asked to compact to before that position.
  int64_t compaction_asked(Position before) const;

  struct KeyedValue {
    Symbol key;
    Value value;
    friend bool operator==(const KeyedValue&, const KeyedValue&) = default;
  };
  struct Hash {
    size_t operator()(const KeyedValue& k) const {
      return std::hash<Symbol>()(k.key) * 31 + k.value.hash();
    }
  };
  std::unordered_map<KeyedValue, std::vector<Attempt>, Hash> attempts_by_value;
  std::unordered_map<Symbol, std::vector<size_t>> changes_by_key;
  std::vector<std::pair<Position, int64_t>> compactions;  // when asked, and the highest so far
};

// Whether a watch of the history has values that are none: says which.
std::optional<std::pair<size_t, const char*>> malformed_watch(const History& history);
// Of a history without such.
Evidence evidence_of(const History& history);

}  // namespace assay::watching
