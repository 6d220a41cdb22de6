#include "targets/memory_store.h"

#include <algorithm>

#include "checkers/history/vocabulary.h"

namespace assay {
Op MemoryStore::apply(const Op& op) {
  if (op.f == f::list) return list(op);
  if (op.f == f::compact) return compact(op);
  if (op.f == f::txn) return txn(op);
  Cell& cell = cells_[op.key];
  if (op.f == f::read) return read(op, cell);
  if (op.f == f::delete_) return remove(op, cell);
  const bool writes = op.f == f::write;
  if (writes && op.expected.none()) return change(op, cell, op.value);
  return compared(op, cell, writes ? op.value : op.value.as_array()[1]);
}

bool MemoryStore::strikes(int64_t one_in) {
  return one_in > 0 && rng_.chance(1, static_cast<uint64_t>(one_in));
}

Op MemoryStore::answer(Op op, int64_t revision) const {
  op.revision = Token(revision);
  op.at = Token(revision_);
  return op;
}

Op MemoryStore::conflict(const Op& op, const char* cls, Token current) const {
  const bool guard = std::string_view(cls) == "conflict";
  Op done =
      complete(op, OpType::kFail,
               {Symbol(cls), guard ? "the key has changed" : "the value is another", current});
  done.at = Token(revision_);
  return done;
}

Op MemoryStore::read(const Op& op, const Cell& cell) {
  const Version& version = strikes(settings_.stale_reads) ? cell.before : cell.now;
  Op done = complete(op, OpType::kOk);
  done.value = version.value;
  return answer(std::move(done), version.revision);
}

Op MemoryStore::list(const Op& op) {
  keeps_log_ = true;
  std::map<std::string_view, const Version*> live;
  for (const auto& [key, cell] : cells_) {
    if (cell.now.revision > 0 && key.text().starts_with(op.key.text()))
      live.emplace(key.text(), &cell.now);
  }
  Value::Array rows;
  for (const auto& [key, version] : live)
    rows.push_back(Value::array({Value(key), version->value, version->revision}));
  Op done = complete(op, OpType::kOk);
  done.value = Value::array(std::move(rows));
  done.at = Token(revision_);
  return done;
}

// At the revision that stands already.
void MemoryStore::set(Symbol key, Cell& cell, const Value& value, bool deletes) {
  if (keeps_log_) {
    log_.push_back({.revision = revision_,
                    .key = key,
                    .deleted = deletes,
                    .value = value,
                    .before = WatchedEvent::Before{cell.now.revision, cell.now.value}});
  }
  cell.before = std::move(cell.now);
  cell.now = {value, deletes ? 0 : revision_};
}

Op MemoryStore::change(const Op& op, Cell& cell, const Value& value) {
  ++revision_;
  if (!strikes(settings_.lost_writes)) set(op.key, cell, value, false);
  return answer(complete(op, OpType::kOk), revision_);
}

// A change that is made only where the guard, or else the old value of a cas, is the key's.
Op MemoryStore::compared(const Op& op, Cell& cell, const Value& next) {
  const bool guarded = !op.expected.none();
  const bool matches =
      guarded ? op.expected == Token(cell.now.revision) : cell.now.value == op.value.as_array()[0];
  if (matches || (op.f == f::cas && strikes(settings_.blind_cas))) return change(op, cell, next);
  return conflict(op, guarded ? "conflict" : "mismatch", Token(cell.now.revision));
}

Op MemoryStore::remove(const Op& op, Cell& cell) {
  if (!op.expected.none() && op.expected != Token(cell.now.revision))
    return conflict(op, "conflict", Token(cell.now.revision));
  const bool was_there = cell.now.revision > 0;
  if (was_there) {
    ++revision_;
    set(op.key, cell, {}, true);
  }
  Op done = answer(complete(op, OpType::kOk), 0);
  done.extra = Value::object({{Symbol("deleted"), was_there ? 1 : 0}});
  return done;
}

Op MemoryStore::txn(const Op& op) {
  if (const Value& guards = op.extra["guards"]; guards.is_array()) {
    for (const Value& guard : guards.as_array()) {
      const int64_t now = cells_[guard.as_array()[0].as_symbol()].now.revision;
      if (now != guard.as_array()[1].as_int()) return conflict(op, "conflict", Token(now));
    }
  }
  ++revision_;
  bool changed = false;
  for (const Value& write : op.value.as_array()) {
    const Value& value = write.as_array()[2];
    Cell& cell = cells_[write.as_array()[1].as_symbol()];
    if (value.is_null() && cell.now.revision == 0) continue;
    set(write.as_array()[1].as_symbol(), cell, value, value.is_null());
    changed = true;
  }
  if (!changed) --revision_;
  return answer(complete(op, OpType::kOk), revision_);
}

Op MemoryStore::compact(const Op& op) {
  const int64_t at = op.value.as_int();
  if (at <= compacted_ || at > revision_) {
    return complete(
        op, OpType::kFail,
        {Symbol("out-of-range"), at > revision_ ? "a future revision" : "compacted", {}});
  }
  compacted_ = at;
  while (!log_.empty() && log_.front().revision < at) log_.pop_front();
  Op done = complete(op, OpType::kOk);
  done.at = Token(revision_);
  return done;
}

MemoryWatch MemoryStore::begin_watch(const WatchWish& wish) {
  keeps_log_ = true;
  MemoryWatch watch{.wish = wish};
  watch.seen.next = wish.from;
  if (wish.from == 0) watch.seen.start = watch.seen.next = revision_ + 1;
  if (wish.from > 0 && strikes(settings_.watch_from_now)) watch.seen.next = revision_ + 1;
  return watch;
}

void MemoryStore::follow(MemoryWatch& watch) const {
  WatchSeen& seen = watch.seen;
  if (watch.over) return;
  if (seen.next < compacted_) {
    seen.end = WatchEnd::kCompacted;
    seen.compact_revision = compacted_;
    watch.over = true;
    return;
  }
  auto at = std::lower_bound(log_.begin(), log_.end(), seen.next,
                             [](const WatchedEvent& e, int64_t next) { return e.revision < next; });
  for (; at != log_.end(); ++at) {
    const bool new_revision = seen.events.empty() || seen.events.back().revision != at->revision;
    watch.over = seen.events.size() >= kWatchEventsMax && new_revision;
    if (watch.over) break;
    if (at->key.text().starts_with(watch.wish.prefix.text())) seen.events.push_back(*at);
    seen.next = at->revision + 1;
  }
}

}  // namespace assay
