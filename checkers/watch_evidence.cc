#include "checkers/watch_evidence.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"

namespace assay::watching {
namespace {

const Symbol kSession{"session"};

int64_t number_or_0(Token token) { return token.is_number() ? token.number() : 0; }

class Collector {
 public:
  explicit Collector(const History& history) : history_(history) {}

  Evidence collect() {
    for (size_t id = 0; id < history_.size(); ++id) add(history_[id]);
    settle_changes();
    for (size_t i = 0; i < out_.changes.size(); ++i)
      out_.changes_by_key[out_.changes[i].key].push_back(i);
    out_.attempts_known = out_.attempts_known && !changes_in_other_words(history_);
    return std::move(out_);
  }

 private:
  void add(const Operation& op) {
    const Symbol f = op.f();
    if (f == f::watch) return add_watch(op);
    if (f == f::compact) return add_compaction(op);
    if (op.type() == OpType::kOk && f == f::list) add_list(op);
    if (op.type() == OpType::kOk && f == f::read) add_read(op);
    if (f == f::write) add_write(op, op.key(), op.argument(), number_or_0(op.revision()));
    if (f == f::delete_) add_write(op, op.key(), Value(), 0);
    if (f == f::cas && op.argument().is_array() && op.argument().as_array().size() == 2)
      add_write(op, op.key(), op.argument().as_array()[1], number_or_0(op.revision()));
    if (f == f::txn) add_txn(op);
  }

  // --- Watches, and how they follow each other

  void add_watch(const Operation& op) {
    const auto wish = watch_wish(op.argument());
    Thread* thread = thread_of(op);
    if (thread != nullptr && thread->due > 0 && wish->from != thread->due)
      out_.wrong_starts.push_back({thread->said_by, op.id(), thread->due});
    if (op.type() != OpType::kOk) return;
    Leg leg{.id = op.id(), .wish = *wish, .seen = std::move(*watch_seen(op.result()))};
    leg.begin = wish->from > 0 ? wish->from : leg.seen.start;
    const auto& events = leg.seen.events;
    if (leg.begin == 0 && !events.empty()) leg.begin = events.front().revision;
    leg.end = std::max(leg.begin, leg.seen.next);
    if (!events.empty()) leg.end = std::max(leg.end, events.back().revision + 1);
    for (const WatchMark& mark : leg.seen.progress) leg.end = std::max(leg.end, mark.revision + 1);
    for (const WatchedEvent& event : events) {
      out_.changes.push_back({.revision = event.revision,
                              .key = event.key,
                              .deleted = event.deleted,
                              .value = event.value,
                              .by = op.id()});
    }
    if (thread != nullptr) {
      leg.after = thread->last_leg;
      thread->last_leg = out_.legs.size() + 1;
      if (leg.seen.next > 0) {
        thread->due = leg.seen.next;
        thread->said_by = op.id();
      }
    }
    out_.legs.push_back(std::move(leg));
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
    if (!op.result().is_array()) return;
    for (const Value& row : op.result().as_array()) {
      if (!row.is_array() || row.as_array().size() != 3) continue;
      const auto& items = row.as_array();
      if (!items[0].is_string() || !items[2].is_int()) continue;
      out_.changes.push_back({.revision = items[2].as_int(),
                              .key = items[0].as_symbol(),
                              .value = items[1],
                              .by = op.id()});
    }
  }

  void add_read(const Operation& op) {
    const int64_t revision = number_or_0(op.revision());
    if (revision == 0 || op.result().is_null()) return;
    out_.changes.push_back(
        {.revision = revision, .key = op.key(), .value = op.result(), .by = op.id()});
  }

  // A deletion has happened where a key was there: where it says so, or where it was guarded by the
  // key's version.
  static int64_t deleted_at(const Operation& op) {
    const bool was_there = op.return_extra().int_or("deleted", 0) > 0 ||
                           (op.expected().is_number() && op.expected().number() > 0);
    return was_there ? number_or_0(op.at()) : 0;
  }

  void add_write(const Operation& op, Symbol key, const Value& value, int64_t revision) {
    const bool ok = op.type() == OpType::kOk;
    if (!ok) revision = 0;
    if (ok && value.is_null()) revision = deleted_at(op);
    out_.attempts_known = true;
    out_.attempts_by_value[{key, value}].push_back({op.id(), op.type() == OpType::kFail, revision});
    if (revision == 0) return;
    out_.changes.push_back({.revision = revision,
                            .key = key,
                            .deleted = value.is_null(),
                            .value = value,
                            .by = op.id(),
                            .written = true});
  }

  void add_txn(const Operation& op) {
    for (const auto& [key, value] : writes_of_txn(op.argument()))
      add_write(op, key, value, number_or_0(op.revision()));
  }

  // Sorts, keeps one of each (the write itself where it is there), and notes who disagrees.
  void settle_changes() {
    auto& all = out_.changes;
    const auto place = [](const Change& c) { return std::tuple(c.revision, c.key.text()); };
    std::sort(all.begin(), all.end(), [&](const Change& a, const Change& b) {
      return std::tuple(place(a), !a.written, a.by) < std::tuple(place(b), !b.written, b.by);
    });
    size_t kept = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (kept > 0 && place(all[kept - 1]) == place(all[i])) {
        if (!all[kept - 1].same_content(all[i]))
          out_.contradictions.push_back({all[kept - 1], all[i]});
        continue;
      }
      if (kept != i) all[kept] = std::move(all[i]);
      ++kept;
    }
    all.resize(kept);
  }

  const History& history_;
  Evidence out_;
  std::map<std::string, Thread> threads_;
};

}  // namespace

const std::vector<Attempt>* Evidence::attempts(Symbol key, const Value& value) const {
  const auto found = attempts_by_value.find({key, value});
  return found == attempts_by_value.end() ? nullptr : &found->second;
}

const std::vector<size_t>* Evidence::changes_of(Symbol key) const {
  const auto found = changes_by_key.find(key);
  return found == changes_by_key.end() ? nullptr : &found->second;
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
