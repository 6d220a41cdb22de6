#include "targets/kv/service/store.h"

#include <algorithm>
#include <limits>

#include "targets/kv/service/hash.h"

namespace assay::kv {
namespace {

uint64_t hash_of(const KeyValue& kv) {
  return Hasher()
      .add(kv.key)
      .add(static_cast<uint64_t>(kv.create_revision.value))
      .add(static_cast<uint64_t>(kv.mod_revision.value))
      .add(static_cast<uint64_t>(kv.version))
      .add(kv.value)
      .value();
}

// The version that a read at `at` sees, or null.
const KeyValuePtr* seen_at(const std::vector<KeyValuePtr>& versions, Revision at) {
  auto after = versions.end();
  if (versions.back()->mod_revision > at) {
    after = std::upper_bound(
        versions.begin(), versions.end(), at,
        [](Revision revision, const KeyValuePtr& kv) { return revision < kv->mod_revision; });
  }
  if (after == versions.begin()) return nullptr;
  const KeyValuePtr& seen = *std::prev(after);
  return seen->tombstone() ? nullptr : &seen;
}

}  // namespace

std::pair<Store::Keys::const_iterator, Store::Keys::const_iterator> Store::bounds(
    std::string_view key, std::string_view range_end) const {
  if (range_end.empty()) {
    const auto found = keys_.find(key);
    return {found, found == keys_.end() ? found : std::next(found)};
  }
  const auto first = keys_.lower_bound(key);
  if (range_end.size() == 1 && range_end[0] == '\0') return {first, keys_.end()};
  if (range_end <= key) return {first, first};
  return {first, keys_.lower_bound(range_end)};
}

Store::Found Store::range(std::string_view key, std::string_view range_end, Revision at,
                          size_t limit) const {
  if (limit == 0) limit = std::numeric_limits<size_t>::max();
  Found found;
  const auto [first, last] = bounds(key, range_end);
  for (auto it = first; it != last; ++it) {
    const KeyValuePtr* seen = seen_at(it->second.versions, at);
    if (seen == nullptr) continue;
    ++found.count;
    if (found.kvs.size() < limit) found.kvs.push_back(*seen);
  }
  return found;
}

KeyValuePtr Store::get(std::string_view key) const {
  const auto it = keys_.find(key);
  if (it == keys_.end() || it->second.versions.back()->tombstone()) return nullptr;
  return it->second.versions.back();
}

void Store::set_live_hash(History& history, uint64_t hash) {
  live_hash_sum_ += hash - history.live_hash;
  live_keys_ += (hash != 0 ? 1 : 0);
  live_keys_ -= (history.live_hash != 0 ? 1 : 0);
  history.live_hash = hash;
}

void Store::place(History& history, KeyValuePtr version) {
  set_live_hash(history, version->tombstone() ? 0 : hash_of(*version) | 1);
  history.versions.push_back(std::move(version));
}

void Store::write(History& history, KeyValuePtr version) {
  events_.push_back(version);
  place(history, std::move(version));
  changed_ = true;
}

int64_t Store::token_of(const KeyValue& version) const {
  switch (tokens_) {
    case TokenKind::kContentHash:
      return static_cast<int64_t>(Hasher().add(version.value).value() >> 1 | 1);
    case TokenKind::kKeyCounter:
      return version.version;
    case TokenKind::kWallClock:
      return wall_ms_;
    case TokenKind::kRevision:
      break;
  }
  return 0;
}

KeyValuePtr Store::put(std::string key, std::string value) {
  History& history = keys_[key];
  KeyValuePtr before;
  if (!history.versions.empty() && !history.versions.back()->tombstone()) {
    before = history.versions.back();
  }
  auto version = std::make_shared<KeyValue>();
  version->key = std::move(key);
  version->value = std::move(value);
  version->mod_revision = revision_ + 1;
  version->create_revision = before ? before->create_revision : version->mod_revision;
  version->version = before ? before->version + 1 : 1;
  version->token = token_of(*version);
  write(history, std::move(version));
  return before;
}

std::vector<KeyValuePtr> Store::remove(std::string_view key, std::string_view range_end) {
  std::vector<KeyValuePtr> removed;
  const auto [first, last] = bounds(key, range_end);
  for (auto it = first; it != last; ++it) {
    if (it->second.versions.back()->tombstone()) continue;
    removed.push_back(it->second.versions.back());
  }
  for (const KeyValuePtr& kv : removed) {
    auto tombstone = std::make_shared<KeyValue>();
    tombstone->key = kv->key;
    tombstone->mod_revision = revision_ + 1;
    write(keys_.find(kv->key)->second, std::move(tombstone));
  }
  return removed;
}

void Store::seal() {
  revision_ = visible();
  changed_ = false;
}

void Store::compact(Revision at) {
  compacted_ = at;
  for (auto it = keys_.begin(); it != keys_.end();) {
    std::vector<KeyValuePtr>& versions = it->second.versions;
    auto first_after = std::upper_bound(
        versions.begin(), versions.end(), at,
        [](Revision revision, const KeyValuePtr& kv) { return revision < kv->mod_revision; });
    // The newest version at or before `at` stays, unless it says that there is none.
    if (first_after != versions.begin() && !(*std::prev(first_after))->tombstone()) --first_after;
    versions.erase(versions.begin(), first_after);
    it = versions.empty() ? keys_.erase(it) : std::next(it);
  }
  while (!events_.empty() && events_.front()->mod_revision < at) events_.pop_front();
}

Store::Frozen Store::freeze() const {
  Frozen frozen{revision_, compacted_, {}, events_};
  if (compacted_.value == 0) return frozen;
  for (const auto& [key, history] : keys_) {
    const KeyValuePtr& oldest = history.versions.front();
    if (oldest->mod_revision < compacted_) frozen.kept.push_back(oldest);
  }
  return frozen;
}

void Store::begin_restore(Revision revision, Revision compacted) {
  revision_ = revision;
  compacted_ = compacted;
}

bool Store::restore_kept(KeyValuePtr version) {
  if (version->tombstone() || version->mod_revision >= compacted_) return false;
  if (!keys_.empty() && keys_.rbegin()->first >= version->key) return false;
  History& history = keys_[version->key];
  place(history, std::move(version));
  return true;
}

bool Store::restore_event(KeyValuePtr version) {
  const Revision at = version->mod_revision;
  if (at < compacted_ || at > revision_) return false;
  if (!events_.empty() && at < events_.back()->mod_revision) return false;
  events_.push_back(version);
  if (at == compacted_) {
    // The compaction left no older version than this, and none at all of a tombstone.
    if (const auto found = keys_.find(version->key); found != keys_.end()) {
      if (found->second.versions.front()->mod_revision < at) return false;
      set_live_hash(found->second, 0);
      keys_.erase(found);
    }
    if (version->tombstone()) return true;
  }
  History& history = keys_[version->key];
  place(history, std::move(version));
  return true;
}

void Store::become(Store other) {
  const TokenKind tokens = tokens_;
  *this = std::move(other);
  tokens_ = tokens;
}

std::vector<KeyValuePtr> Store::events(Revision from, size_t limit) const {
  auto it = std::lower_bound(
      events_.begin(), events_.end(), from,
      [](const KeyValuePtr& kv, Revision revision) { return kv->mod_revision < revision; });
  std::vector<KeyValuePtr> out;
  for (; it != events_.end(); ++it) {
    if (out.size() >= limit && out.back()->mod_revision != (*it)->mod_revision) break;
    out.push_back(*it);
  }
  return out;
}

uint64_t Store::state_hash() const {
  return Hasher().add(live_hash_sum_).add(static_cast<uint64_t>(revision_.value)).value();
}

}  // namespace assay::kv
