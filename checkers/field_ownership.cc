// field-ownership: in an object whose fields have an owner each, does anybody undo what another
// owner set? (K13) Every write carries the whole object, and says in `sets` which field (or fields)
// its author means to change; one without `sets` is the author of all of it.
//
//   step     where tokens are ordered: from one state to the next nothing differs but the field that
//            the author of the next one set, or one that a write of unknown outcome may have set
//   carried  by real time, tokens or not: what an accepted write carries of the other fields is what
//            they may have been at some moment between its invocation and its answer
//   final    the same of what the final reads and lists find in a field: that others are stale is the
//            matter of linearizable and version-order
//
// "May have been" is regularity (attempts.h): weaker than an exact order of writes that overlap,
// which `step` gives. Values of a field should be written once; one that was written again excuses
// its loss as long as both may be meant.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkers/attempts.h"
#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::field_ownership {
namespace {

std::vector<Symbol> fields_set_by(const Operation& op) {
  const Value sets = op.invoke_extra()["sets"];
  std::vector<Symbol> fields;
  if (sets.is_string()) fields.push_back(sets.as_symbol());
  if (sets.is_array())
    for (const Value& field : sets.as_array())
      if (field.is_string()) fields.push_back(field.as_symbol());
  return fields;
}
bool contains(const std::vector<Symbol>& fields, Symbol field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}
const Value& field_of(const Value& object, Symbol field) {
  static const Value none;
  if (!object.is_object()) return none;
  for (const auto& [name, value] : object.as_object())
    if (name == field) return value;
  return none;
}
std::string shown(const Value& value) { return value.is_null() ? "absent" : value.to_json(); }

class Object {
 public:
  Object(const History& history, const KeyTrack& track) : history_(history), track_(track) {
    const Value initial = history.header().initial_of(track.key);
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kWrite) continue;
      sets_[&event] = fields_set_by(history[event.id]);
      owned_ |= !sets_[&event].empty();
      const bool placed = event.accepted() && event.revision.is_number();
      if (event.may_have_happened() && !placed) unplaced_.push_back(&event);
      for (Symbol field : sets_[&event]) add_field(field, initial);
      if (event.value.is_object())
        for (const auto& [field, value] : event.value.as_object()) add_field(field, initial);
    }
    if (!owned_) return;
    for (auto& [field, attempts] : fields_) {
      for (const auto& [event, sets] : sets_) {
        if (event->may_have_happened() && (sets.empty() || contains(sets, field)))
          attempts.add({.value = field_of(event->value, field), .call = event->call,
                        .ret = event->ok() ? event->ret : kOpen, .id = event->id, .event = event});
      }
      attempts.seal();
    }
  }

  bool owned() const { return owned_; }
  size_t fields() const { return fields_.size(); }
  int64_t judged() const { return judged_; }
  std::optional<Finding> judge() {
    if (history_.header().token_orderable) {
      if (auto found = steps()) return found;
    }
    for (const KeyEvent& event : track_.events) {
      if (event.accepted() && !event.deletes()) {
        if (auto found = carried(event)) return found;
      }
      const bool read = event.did == Did::kRead && event.ok();
      if (!read || phase_of(history_[event.id]) != "final") continue;
      if (auto found = seen(event)) return found;
    }
    return std::nullopt;
  }

 private:
  void add_field(Symbol field, const Value& initial) {
    fields_.try_emplace(field, field_of(initial, field));
  }
  bool sets(const KeyEvent& write, Symbol field) const {
    const auto at = sets_.find(&write);
    return at != sets_.end() && (at->second.empty() || contains(at->second, field));
  }

  // States in the order of their tokens: accepted writes, and states that were only read.
  std::optional<Finding> steps() {
    std::vector<const KeyEvent*> states;
    for (const KeyEvent& event : track_.events) {
      const auto token = number_of(event.revision);
      if (event.ok() && event.did != Did::kGuard && token && *token > 0 && event.value.is_object())
        states.push_back(&event);
    }
    std::sort(states.begin(), states.end(), [](const KeyEvent* a, const KeyEvent* b) {
      return std::tuple(a->revision.number(), !a->accepted(), a->call) <
             std::tuple(b->revision.number(), !b->accepted(), b->call);
    });
    const bool deleted = std::any_of(sets_.begin(), sets_.end(), [](const auto& write) {
      return write.first->deletes() && write.first->may_have_happened();
    });
    const KeyEvent* before = nullptr;
    for (const KeyEvent* state : states) {
      if (before && state->revision == before->revision) continue;
      if (before && !deleted) {
        for (const auto& [field, attempts] : fields_) {
          if (auto found = step(*before, *state, field)) return found;
        }
      }
      before = state;
    }
    return std::nullopt;
  }
  std::optional<Finding> step(const KeyEvent& before, const KeyEvent& after, Symbol field) {
    const Value &old = field_of(before.value, field), &now = field_of(after.value, field);
    ++judged_;
    if (old == now || (after.accepted() && sets(after, field))) return std::nullopt;
    if (may_be_unknown(field, now, after.ret)) return std::nullopt;
    return undone(field, after, now, nullptr, &before);
  }
  bool may_be_unknown(Symbol field, const Value& value, Position until) const {
    return std::any_of(unplaced_.begin(), unplaced_.end(), [&](const KeyEvent* event) {
      return event->call < until && sets(*event, field) && field_of(event->value, field) == value;
    });
  }

  std::optional<Finding> carried(const KeyEvent& write) {
    if (!write.value.is_object()) return std::nullopt;
    for (const auto& [field, attempts] : fields_) {
      if (sets(write, field)) continue;
      ++judged_;
      const Value& value = field_of(write.value, field);
      if (attempts.sight(value, write.call, write.ret) == Sight::kFine) continue;
      return undone(field, write, value, attempts.newest_before(write.call), nullptr);
    }
    return std::nullopt;
  }

  std::optional<Finding> seen(const KeyEvent& read) {
    for (const auto& [field, attempts] : fields_) {
      ++judged_;
      const Value& value = field_of(read.value, field);
      if (attempts.sight(value, read.call, read.ret) == Sight::kFine) continue;
      const Attempt* owner = attempts.newest_before(read.call);
      const KeyEvent* culprit = nullptr;
      for (const KeyEvent& event : track_.events) {
        if (event.call > read.ret) break;
        if (event.did == Did::kWrite && event.may_have_happened() && !sets(event, field) &&
            field_of(event.value, field) == value && (!owner || event.ret > owner->call))
          culprit = &event;
      }
      if (culprit) {
        Finding finding = undone(field, *culprit, value, owner, nullptr);
        finding.events.push_back(read);
        return finding;
      }
      Finding finding{"lost field",
                      who(history_[read.id]) + " found " + std::string(field.text()) + " to be " +
                          shown(value),
                      {read},
                      {}};
      if (owner) {
        finding.headline += ", though " + author_text(history_[owner->id]) + " had set it to " +
                            shown(owner->value);
        finding.events.push_back(*owner->event);
      } else {
        finding.headline += ", which nobody set it to";
      }
      return finding;
    }
    return std::nullopt;
  }

  // The last write of the field's owner before it was undone, in the order of tokens.
  const KeyEvent* owner_before(Symbol field, const KeyEvent& state) const {
    const KeyEvent* owner = nullptr;
    for (const KeyEvent& event : track_.events) {
      if (!event.accepted() || !sets(event, field) || !event.revision.is_number() ||
          event.revision.number() > state.revision.number())
        continue;
      if (!owner || event.revision.number() > owner->revision.number()) owner = &event;
    }
    return owner;
  }
  // What the author of a write had read of the object before.
  const KeyEvent* basis_of(const KeyEvent& write) const {
    const Value intent = intent_of(history_[write.id]);
    const KeyEvent* basis = nullptr;
    for (const KeyEvent& event : track_.events) {
      if (event.call > write.call) break;
      if (event.did != Did::kRead || !event.ok() || event.ret > write.call) continue;
      const Operation read = history_[event.id];
      const bool same = intent.is_null() ? read.process() == history_[write.id].process()
                                         : intent_of(read) == intent;
      if (same) basis = &event;
    }
    return basis;
  }
  Finding undone(Symbol field, const KeyEvent& write, const Value& back, const Attempt* owner,
                 const KeyEvent* before) {
    const KeyEvent* set = owner ? owner->event : before ? owner_before(field, *before) : nullptr;
    const KeyEvent* basis = basis_of(write);
    const std::string name(field.text());
    const Operation op = history_[write.id];
    Finding finding{"lost update", "", {write}, {}};
    if (set) {
      finding.headline = author_text(history_[set->id]) + " set " + name + " to " +
                         shown(field_of(set->value, field)) + " (" + when(history_[set->id]) + "); ";
      finding.events.push_back(*set);
    }
    const bool had_read = basis && (!set || basis->call < set->ret);
    if (write.did == Did::kRead) {
      finding.headline += "then it was " + shown(back) + " to " + who(op) +
                          ", which nobody set it to";
      return finding;
    }
    std::string own;
    for (Symbol other : sets_.at(&write)) own += (own.empty() ? "" : ", ") + std::string(other.text());
    finding.headline += author_text(op) + (had_read ? ", who had read the object before," : "") +
                        (set ? " wrote it back to " : " wrote " + name + " to ") + shown(back) +
                        (own.empty() ? "" : " while setting " + own);
    if (basis) finding.events.push_back(*basis);
    return finding;
  }

  const History& history_;
  const KeyTrack& track_;
  std::map<const KeyEvent*, std::vector<Symbol>> sets_;  // of every write, in order of invocation
  std::vector<const KeyEvent*> unplaced_;  // may have happened, at no known place in the order
  std::map<Symbol, Attempts> fields_;
  bool owned_ = false;
  int64_t judged_ = 0;
};

class FieldOwnership : public Checker {
 public:
  std::string_view name() const override { return "field-ownership"; }
  std::string_view summary() const override {
    return "each field of an object keeps what its owner set last";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (op.f() == f::write && !op.invoke_extra()["sets"].is_null()) return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "field-ownership"};
    Findings findings(history, verdict);
    int64_t objects = 0, fields = 0, judged = 0;
    each_key(KeyEvents(history), budget, verdict, [&](const KeyTrack& track) {
      Object object(history, track);
      if (!object.owned()) return;
      ++objects;
      fields += static_cast<int64_t>(object.fields());
      if (auto found = object.judge()) findings.add(track.key, std::move(*found));
      judged += object.judged();
    });
    findings.conclude();
    verdict.counts = {{"objects", objects}, {"fields", fields}, {"fields compared", judged}};
    if (judged == 0)
      nothing_judged("no write of an object was accepted, and none was read",
                     "accepted writes of objects", "longer: `--time-limit 60s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = "every field of " + counted(static_cast<size_t>(objects), "object", "objects") +
                       " has what its owner set last";
    return verdict;
  }
};

}  // namespace
}  // namespace assay::field_ownership

namespace assay {

const Checker& field_ownership_checker() {
  static const field_ownership::FieldOwnership checker;
  return checker;
}

}  // namespace assay
