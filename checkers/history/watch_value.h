// The values of a `watch` operation, typed: clients write them, workloads resume by them, checkers
// read them.
//
//   invocation  {"prefix": "w/", "from": 17, "for": 1500000000}   from: the revision of the first
//               change wanted, 0: the next one; for: ns, or a duration such as "2s"
//   completion  {"events": [[revision, key, kind, value, prev, created] …], "progress":
//               [[revision, n] …], "next": 31, "end": "done|cut|compacted", …}
//     kind      "put" or "delete" (its value is null)
//     prev      what the store says was there before: [revision, value], or null: nothing. An event
//               without it says nothing about that. created: the revision of the creation that
//               the key descends from, of a put
//     progress  the store said, after n events, that it has told all up to that revision
//     start     the revision it began at, where it was to begin "now" and the store said so
//     split     revisions whose events came in several messages
//     next      where whoever resumes begins: behind all that was told; 0: not known
//     end       done: the time was over, or there were a thousand events; cut: the connection
//     broke;
//               compacted: the store said that changes from `next` on are forgotten, those before
//               "compact_revision"
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "checkers/history/time.h"
#include "checkers/history/value.h"

namespace assay {

inline constexpr size_t kWatchEventsMax = 1000;  // of one operation, but a revision is never split

struct WatchWish {
  Symbol prefix;
  int64_t from = 0;
  Nanos span;
};
Value to_value(const WatchWish& wish);
std::optional<WatchWish> watch_wish(const Value& value);

struct WatchedEvent {
  struct Before {
    int64_t revision = 0;  // 0: there was nothing
    Value value;
    friend bool operator==(const Before&, const Before&) = default;
  };

  int64_t revision = 0;
  Symbol key;
  bool deleted = false;
  Value value;                   // null of a deletion
  std::optional<Before> before;  // as far as the store said it
  int64_t created = 0;           // 0: not said
};

struct WatchMark {
  int64_t revision = 0;
  size_t events = 0;  // that had come before it
};

enum class WatchEnd : uint8_t { kDone, kCut, kCompacted };

struct WatchSeen {
  std::vector<WatchedEvent> events;
  std::vector<WatchMark> progress;
  std::vector<int64_t> split;
  int64_t start = 0;  // 0: not said
  int64_t next = 0;
  WatchEnd end = WatchEnd::kDone;
  int64_t compact_revision = 0;
};
Value to_value(const WatchSeen& seen);
std::optional<WatchSeen> watch_seen(const Value& value);
// `next` alone, quickly; 0 where it is not known.
int64_t watch_next(const Value& value);
std::string_view to_string(WatchEnd end);

}  // namespace assay
