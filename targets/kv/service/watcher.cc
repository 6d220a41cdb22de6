#include "targets/kv/service/watcher.h"

#include <algorithm>
#include <utility>

namespace assay::kv {
namespace {

const std::string kZero(1, '\0');
constexpr size_t kLookedAtOnce = 1000;  // events of the log, of any key

// The version that a change replaced, or null.
KeyValuePtr version_before(const Store& store, const KeyValue& kv) {
  const Revision before{kv.mod_revision.value - 1};
  if (before.value < 1 || before < store.compacted()) return nullptr;
  auto found = store.range(kv.key, "", before, 1);
  return found.kvs.empty() ? nullptr : std::move(found.kvs[0]);
}

}  // namespace

Watcher::Watcher(WatchRequest request, const Store& store, WatchCanary canary)
    : request_(std::move(request)) {
  if (request_.key.empty()) request_.key = kZero;
  const bool now = request_.start_revision.value == 0 || canary.wrong_from_now;
  next_ = now ? store.revision() + 1 : request_.start_revision;
}

bool Watcher::is_empty_range() const {
  const std::string& end = request_.range_end;
  return !end.empty() && end != kZero && end <= request_.key;
}

bool Watcher::wants(const KeyValue& kv) const {
  if (kv.tombstone() ? request_.no_delete : request_.no_put) return false;
  if (request_.range_end.empty()) return kv.key == request_.key;
  return kv.key >= request_.key && (request_.range_end == kZero || kv.key < request_.range_end);
}

WatchEvent Watcher::event_of(const Store& store, const KeyValuePtr& kv) const {
  return {kv, request_.prev_kv ? version_before(store, *kv) : nullptr};
}

WatchResponse Watcher::answer(Revision revision) const {
  return {.revision = revision, .watch_id = request_.watch_id};
}

WatchResponse Watcher::begin(const Store& store) {
  created_ = true;
  WatchResponse response = answer(store.revision());
  response.created = true;
  if (!is_empty_range()) return response;
  response.watch_id = -1;
  response.canceled = ended_ = true;
  response.cancel_reason = "mvcc: watcher range is empty";
  return response;
}

WatchResponse Watcher::cancel_compacted(const Store& store) {
  WatchResponse response = answer({});
  response.canceled = ended_ = true;
  response.compact_revision = store.compacted().value > 0 ? store.compacted() : Revision{-1};
  return response;
}

std::optional<WatchResponse> Watcher::next(const Store& store, size_t events_max) {
  if (ended_) return std::nullopt;
  if (!created_) return begin(store);
  if (next_ < store.compacted() || next_.value < 0) return cancel_compacted(store);
  WatchResponse response = answer(store.revision());
  while (next_ <= store.revision() && response.events.size() < events_max) {
    const std::vector<KeyValuePtr> log =
        store.events(next_, std::min(kLookedAtOnce, events_max - response.events.size()));
    next_ = (log.empty() ? store.revision() : log.back()->mod_revision) + 1;
    for (const KeyValuePtr& kv : log) {
      if (wants(*kv)) response.events.push_back(event_of(store, kv));
    }
  }
  if (response.events.empty()) return std::nullopt;
  return response;
}

std::optional<WatchResponse> Watcher::progress(const Store& store) const {
  if (!created_ || ended_ || !request_.progress_notify) return std::nullopt;
  if (next_ <= store.revision() || next_ < store.compacted()) return std::nullopt;
  return answer(store.revision());
}

}  // namespace assay::kv
