// Watcher: the changes of a range of keys, from a revision on, in order and without a gap: etcd
// v3's watch service as plain data. It keeps a revision, nothing of the store: it may be asked with
// another store each time (a member whose state was replaced by a snapshot), and goes on from
// where it was if that store still has the changes, or says that they are gone.
//
// Deterministic, not thread-safe. Names, defaults and order of answers are those of etcd 3.4.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/kv/service/store.h"

namespace assay::kv {

struct WatchRequest {
  std::string key;  // empty: as one zero byte, the first key of all
  std::string range_end;
  Revision
      start_revision;  // of the first change wanted; 0: the next one; one to come is waited for
  bool progress_notify = false;  // is told now and then how far the changes were looked through
  bool prev_kv = false;          // each change comes with the version before, while that is kept
  bool no_put = false;
  bool no_delete = false;
  int64_t watch_id = 0;  // comes back in every answer
};

struct WatchEvent {
  KeyValuePtr kv;       // a tombstone: the key was deleted
  KeyValuePtr prev_kv;  // null: not asked for, there was none, or it was compacted
};

// The first answer has `created`, and the last, if the store ends the watch, `canceled`. One with
// neither and without events is progress: every change up to `revision` has been told.
struct WatchResponse {
  Revision revision;  // the store's; 0 (absent) of one that is canceled because of a compaction
  int64_t watch_id = 0;
  bool created = false;
  bool canceled = false;
  Revision compact_revision;  // the wanted changes before it are forgotten; as etcd, -1 of nonsense
  std::string_view cancel_reason;  // static text
  std::vector<WatchEvent> events;  // ascending by revision; all of one change are in one answer
};

// Each leaves out exactly one step. Off by default.
struct WatchCanary {
  // Leaves out: the start revision. Every watch begins with the next change.
  bool wrong_from_now = false;
};

class Watcher {
 public:
  Watcher(WatchRequest request, const Store& store, WatchCanary canary = {});

  // What has happened since the last call, starting with `created`; nothing: ask again when
  // something has. An answer holds about so many events; one change is never split.
  std::optional<WatchResponse> next(const Store& store, size_t events_max = 1000);
  // Progress, where it was asked for and nothing is left to tell.
  std::optional<WatchResponse> progress(const Store& store) const;
  bool ended() const { return ended_; }
  Revision next_revision() const { return next_; }

 private:
  bool is_empty_range() const;
  bool wants(const KeyValue& kv) const;
  WatchEvent event_of(const Store& store, const KeyValuePtr& kv) const;
  WatchResponse answer(Revision revision) const;
  WatchResponse begin(const Store& store);
  WatchResponse cancel_compacted(const Store& store);

  WatchRequest request_;
  Revision next_;  // the first one that was not looked at yet
  bool created_ = false;
  bool ended_ = false;
};

}  // namespace assay::kv
