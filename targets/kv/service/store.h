// Store: the versioned map under the service. Every version of every key since the last
// compaction, and the same versions in the order in which they were made: the event log.
//
// Writes belong to the change that is being made, at revision() + 1, until seal() advances the
// revision. Deterministic. Copyable: a copy shares the versions. Not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/kv/service/kv.h"

namespace assay::kv {

class Store {
 public:
  explicit Store(TokenKind tokens = TokenKind::kRevision) : tokens_(tokens) {}
  TokenKind tokens() const { return tokens_; }
  // Of the change that is being made; for TokenKind::kWallClock.
  void set_time(int64_t wall_ms) { wall_ms_ = wall_ms; }

  // The store's revision, and the oldest one that can still be read (0 before any compaction).
  Revision revision() const { return revision_; }
  Revision compacted() const { return compacted_; }

  // What reads see: revision(), or one more once the change being made has written something.
  Revision visible() const { return changed_ ? revision_ + 1 : revision_; }

  struct Found {
    std::vector<KeyValuePtr> kvs;
    int64_t count = 0;
  };
  // Live keys of the range as of `at`, ascending, at most `limit` of them (0: all); all counted.
  // `at` must lie in [compacted(), visible()].
  Found range(std::string_view key, std::string_view range_end, Revision at, size_t limit) const;
  // The live version of one key, or null.
  KeyValuePtr get(std::string_view key) const;

  // Both return what was there before: null or empty when nothing was.
  KeyValuePtr put(std::string key, std::string value);
  std::vector<KeyValuePtr> remove(std::string_view key, std::string_view range_end);
  // Ends the change: the revision advances if anything was written.
  void seal();

  // Drops versions that no read at `at` or later can see, and events before `at`.
  void compact(Revision at);

  // All that a store is made of, sharing the versions: copies pointers alone.
  struct Frozen {
    Revision revision;
    Revision compacted;
    std::vector<KeyValuePtr> kept;   // made before `compacted` and still seen there; by key
    std::deque<KeyValuePtr> events;  // all later versions, tombstones too, in order
  };
  // Not in the middle of a change.
  Frozen freeze() const;
  // An empty store is made equal to a frozen one: begin, then all that was kept, then all events,
  // in their order. False: that cannot be a part of it.
  void begin_restore(Revision revision, Revision compacted);
  bool restore_kept(KeyValuePtr version);
  bool restore_event(KeyValuePtr version);
  // Takes the other's contents; the kind of tokens given from now on stays.
  void become(Store other);

  // Events (puts and tombstones) with mod_revision >= from, in order; those of one change are
  // never split: `limit` is exceeded rather.
  std::vector<KeyValuePtr> events(Revision from, size_t limit) const;

  // Of the live keys with their revisions, versions and values, and of the revision. Equal states
  // have equal hashes, however they came about.
  uint64_t state_hash() const;
  size_t live_keys() const { return live_keys_; }

 private:
  struct History {
    std::vector<KeyValuePtr> versions;  // ascending by mod_revision; never empty
    uint64_t live_hash = 0;             // of the newest version; 0 for a tombstone
  };
  using Keys = std::map<std::string, History, std::less<>>;

  std::pair<Keys::const_iterator, Keys::const_iterator> bounds(std::string_view key,
                                                               std::string_view range_end) const;
  void write(History& history, KeyValuePtr version);
  void place(History& history, KeyValuePtr version);
  void set_live_hash(History& history, uint64_t hash);
  int64_t token_of(const KeyValue& version) const;

  TokenKind tokens_;
  int64_t wall_ms_ = 0;
  Keys keys_;
  std::deque<KeyValuePtr> events_;
  Revision revision_{1};
  Revision compacted_;
  bool changed_ = false;
  uint64_t live_hash_sum_ = 0;
  size_t live_keys_ = 0;
};

}  // namespace assay::kv
