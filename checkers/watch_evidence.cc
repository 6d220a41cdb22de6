#include "checkers/watch_evidence.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"

namespace assay::watching {
namespace {

const Symbol kSession{"session"};

int64_t number_or_0(Token token) { return token.is_number() ? token.number() : 0; }

uint64_t hash_of(Symbol key, const Value& value) {
  return (std::hash<Symbol>()(key) ^ value.hash()) * 0x9e3779b97f4a7c15;
}

// By revision, then key.
int order_of(const Change& change, int64_t revision, Symbol key) {
  if (change.revision != revision) return change.revision < revision ? -1 : 1;
  return change.key == key ? 0 : change.key.text().compare(key.text());
}

class Collector {
 public:
  explicit Collector(const History& history) : history_(history) { out_.history = &history; }

  Evidence collect() {
    size_t most = 0;
    for (size_t id = 0; id < history_.size(); ++id) most += most_changes(history_[id]);
    out_.changes.reserve(most);
    for (size_t id = 0; id < history_.size(); ++id) add(history_[id]);
    settle_changes();
    link_changes();
    std::sort(out_.attempts.begin(), out_.attempts.end(), [](const auto& a, const auto& b) {
      return std::pair(a.hash, a.id) < std::pair(b.hash, b.id);
    });
    out_.attempts_known = out_.attempts_known && !changes_in_other_words(history_);
    return std::move(out_);
  }

 private:
  static size_t most_changes(const Operation& op) {
    const auto size = [](const Value& list) { return list.is_array() ? list.as_array().size() : 0; };
    const Symbol f = op.f();
    if (f == f::txn) return size(op.argument());
    if (op.type() != OpType::kOk) return 0;
    if (f == f::watch) return size(op.result()["events"]);
    return f == f::list ? size(op.result()) : 1;
  }
  void add(const Operation& op) {
    const Symbol f = op.f();
    if (f == f::watch) return add_watch(op);
    if (f == f::compact) return add_compaction(op);
    if (op.type() == OpType::kOk && f == f::list) add_list(op);
    if (op.type() == OpType::kOk && f == f::read) add_read(op);
    each_write(op, [&](Symbol key, const Value& value, uint32_t item) {
      add_write(op, key, value, item);
    });
  }
  void add_change(const Operation& op, int64_t revision, Symbol key, size_t item, bool deleted,
                  bool written = false) {
    Change change{.revision = revision, .key = key, .by = static_cast<uint32_t>(op.id())};
    change.item = static_cast<uint32_t>(item);
    change.deleted = deleted;
    change.written = written;
    out_.changes.push_back(change);
  }

  // --- Watches, and how they follow each other

  void add_watch(const Operation& op) {
    const auto wish = watch_wish(op.argument());
    Thread* thread = thread_of(op);
    if (thread != nullptr && thread->due > 0 && wish->from != thread->due)
      out_.wrong_starts.push_back({thread->said_by, op.id(), thread->due});
    if (op.type() != OpType::kOk) return;
    const WatchSeen seen = *watch_seen(op.result());
    const auto& events = seen.events;
    Leg leg{.id = op.id(), .wish = *wish, .begin = wish->from > 0 ? wish->from : seen.start};
    if (leg.begin == 0 && !events.empty()) leg.begin = events.front().revision;
    leg.end = std::max(leg.begin, seen.next);
    if (!events.empty()) leg.end = std::max(leg.end, events.back().revision + 1);
    for (const WatchMark& mark : seen.progress) leg.end = std::max(leg.end, mark.revision + 1);
    for (size_t i = 0; i < events.size(); ++i)
      add_change(op, events[i].revision, events[i].key, i, events[i].deleted);
    if (thread != nullptr) {
      leg.after = thread->last_leg;
      thread->last_leg = out_.legs.size() + 1;
      if (seen.next > 0) {
        thread->due = seen.next;
        thread->said_by = op.id();
      }
    }
    out_.legs.push_back(leg);
  }

  // One reader's way through the changes, over all operations that carry its name.
  struct Thread {
    int64_t due = 0;  // where its next watch has to begin; 0: anywhere
    size_t said_by = 0;
    size_t last_leg = 0;
  };
  Thread* thread_of(const Operation& op) {
    const Value& name = op.invoke_extra()[kSession.text()];
    return name.is_null() ? nullptr : &threads_[name.to_json()];
  }

  // --- What happened

  void add_compaction(const Operation& op) {
    out_.compactions_asked = true;
    if (op.type() == OpType::kFail || !op.argument().is_int()) return;
    int64_t highest = op.argument().as_int();
    if (!out_.compactions.empty()) highest = std::max(highest, out_.compactions.back().second);
    out_.compactions.emplace_back(op.invoke_position(), highest);
  }

  void add_list(const Operation& op) {
    if (Thread* thread = thread_of(op); thread != nullptr && op.at().is_number()) {
      *thread = {.due = op.at().number() + 1, .said_by = op.id()};
    }
    const Value result = op.result();
    if (!result.is_array()) return;
    for (const Value& row : result.as_array()) {
      if (!row.is_array() || row.as_array().size() != 3) continue;
      const auto& items = row.as_array();
      if (!items[0].is_string() || !items[2].is_int()) continue;
      const auto item = static_cast<size_t>(&row - result.as_array().data());
      add_change(op, items[2].as_int(), items[0].as_symbol(), item, false);
    }
  }

  void add_read(const Operation& op) {
    const int64_t revision = number_or_0(op.revision());
    if (revision == 0 || op.result().is_null()) return;
    add_change(op, revision, op.key(), 0, false);
  }

  void add_write(const Operation& op, Symbol key, const Value& value, uint32_t item) {
    out_.attempts_known = true;
    const int64_t revision = happened_at(op, value);
    if (revision > 0)
      add_change(op, revision, key, item, value.is_null(), /*written=*/true);
    else if (op.type() != OpType::kFail)
      add_attempt(op.id(), key, value, item, 0);
  }
  void add_attempt(size_t id, Symbol key, const Value& value, uint32_t item, int64_t revision) {
    out_.attempts.push_back({hash_of(key, value), static_cast<uint32_t>(id), item, revision});
  }

  // Sorts, keeps one of each (the write itself where it is there), and notes who disagrees.
  void settle_changes() {
    auto& all = out_.changes;
    std::sort(all.begin(), all.end(), [&](const Change& a, const Change& b) {
      const int order = order_of(a, b.revision, b.key);
      if (order != 0) return order < 0;
      return std::tuple(!a.written, a.by, a.item) < std::tuple(!b.written, b.by, b.item);
    });
    size_t kept = 0;
    for (const Change& change : all) {
      if (kept == 0 || order_of(all[kept - 1], change.revision, change.key) != 0) {
        all[kept++] = change;
      } else if (const Value value = out_.value_of(change);
                 all[kept - 1].deleted != change.deleted || out_.value_of(all[kept - 1]) != value) {
        out_.contradictions.push_back({all[kept - 1], change});
        if (change.written) add_attempt(change.by, change.key, value, change.item, change.revision);
      }
    }
    all.resize(kept);
  }
  void link_changes() {
    std::unordered_map<Symbol, uint32_t> last;
    for (uint32_t i = 0; i < out_.changes.size(); ++i)
      out_.changes[i].before = std::exchange(last[out_.changes[i].key], i + 1);
  }

  const History& history_;
  Evidence out_;
  std::map<std::string, Thread> threads_;
};

}  // namespace

void each_write(const Operation& op,
                const std::function<void(Symbol key, const Value& value, uint32_t item)>& fn) {
  const Symbol f = op.f();
  if (f == f::write) return fn(op.key(), op.argument(), 0);
  if (f == f::delete_) return fn(op.key(), Value(), 0);
  if (f == f::cas) {
    const Value pair = op.argument();
    if (pair.is_array() && pair.as_array().size() == 2) fn(op.key(), pair.as_array()[1], 0);
  } else if (f == f::txn) {
    const auto writes = writes_of_txn(op.argument());
    for (uint32_t i = 0; i < writes.size(); ++i) fn(writes[i].first, writes[i].second, i);
  }
}

// A deletion has happened where a key was there: where it says so, or where it was guarded by the
// key's version.
int64_t happened_at(const Operation& op, const Value& written) {
  if (op.type() != OpType::kOk) return 0;
  if (!written.is_null()) return number_or_0(op.revision());
  const bool was_there = op.return_extra().int_or("deleted", 0) > 0 ||
                         (op.expected().is_number() && op.expected().number() > 0);
  return was_there ? number_or_0(op.at()) : 0;
}

Value Evidence::value_of(const Change& change) const {
  if (change.deleted) return Value();
  const Operation op = (*history)[change.by];
  const Symbol f = op.f();
  if (f == f::watch) return op.result()["events"].as_array()[change.item].as_array()[3];
  if (f == f::list) return op.result().as_array()[change.item].as_array()[1];
  if (f == f::read) return op.result();
  if (f == f::write) return op.argument();
  if (f == f::cas) return op.argument().as_array()[1];
  return writes_of_txn(op.argument())[change.item].second;
}

size_t Evidence::change_of(const WatchedEvent& event) const {
  const auto at = std::lower_bound(
      changes.begin(), changes.end(), event, [](const Change& change, const WatchedEvent& e) {
        return order_of(change, e.revision, e.key) < 0;
      });
  return static_cast<size_t>(at - changes.begin());
}

bool Evidence::attempted(const WatchedEvent& event, Position before) const {
  const uint64_t hash = hash_of(event.key, event.value);
  auto at = std::lower_bound(attempts.begin(), attempts.end(), hash,
                             [](const Attempt& a, uint64_t b) { return a.hash < b; });
  for (; at != attempts.end() && at->hash == hash; ++at) {
    const Operation op = (*history)[at->id];
    if (op.invoke_position() > before) return false;
    if (at->revision != 0 && at->revision != event.revision) continue;
    bool same = false;
    each_write(op, [&](Symbol key, const Value& value, uint32_t item) {
      same |= item == at->item && key == event.key && value == event.value;
    });
    if (same) return true;
  }
  return false;
}

int64_t Evidence::compaction_asked(Position before) const {
  const auto after =
      std::lower_bound(compactions.begin(), compactions.end(), before,
                       [](const auto& asked, Position position) { return asked.first < position; });
  return after == compactions.begin() ? 0 : std::prev(after)->second;
}

std::optional<std::pair<size_t, const char*>> malformed_watch(const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if (op.f() != f::watch) continue;
    if (!watch_wish(op.argument())) return std::pair(id, R"(expected {"prefix", "from", "for"})");
    if (op.type() == OpType::kOk && !watch_seen(op.result()))
      return std::pair(id, R"(expected {"events", "progress", "next", "end"})");
  }
  return std::nullopt;
}

Evidence evidence_of(const History& history) { return Collector(history).collect(); }

}  // namespace assay::watching
