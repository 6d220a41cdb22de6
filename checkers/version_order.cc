// version-order: is the order that the store itself gives, by its revisions, one that explains each
// key? (K1)
//
// Where revisions can be ordered, nothing need be searched: the accepted writes of a key are in the
// order of their revisions, and a read belongs to the write whose revision it returned. So an old
// state is found even where its value is written again and again. Judged, per key:
//
//   values     one revision is one state: two accepted writes of one revision, or a read of another
//              value than was written there, are invalid
//   real time  nothing of an earlier revision is invoked after something of a later one returned
//   guards     between the token that a guarded write compared and its own revision no other
//              accepted write has one
//   absence    a key that is gone at some revision was deleted since its last write, or may have been
//
// A conflict that returns the current token observes it, like a read. What carries no revision
// (unknown outcomes, readers of stale copies that are not claimed to be more) is left out.
// Source: Gibbons and Korach, Testing shared memories, 1997: with the order of writes known the
// problem is linear.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

constexpr size_t kKeysTold = 5;

// One operation's place in the order of revisions.
struct Placed {
  int64_t revision;
  bool absent;  // the key is gone at that revision: after whatever was written up to it
  Position call;
  Position ret;
  size_t id;

  bool before(const Placed& other) const {
    return std::tuple(revision, absent, call) < std::tuple(other.revision, other.absent, other.call);
  }
  bool same_state(const Placed& other) const {
    return revision == other.revision && absent == other.absent;
  }
};

std::optional<int64_t> number_of(Token token) {
  if (!token.is_number()) return std::nullopt;
  return token.number();
}

bool writes(const Operation& op) { return op.f() != f::read; }

// An accepted write, a read, or a conflict that says what it found.
std::optional<Placed> place(const Operation& op, bool reads) {
  const bool ok = op.type() == OpType::kOk;
  if (!ok && op.type() != OpType::kFail) return std::nullopt;
  if (op.f() == f::read && (!ok || !reads)) return std::nullopt;
  const auto revision = number_of(ok ? op.revision() : op.error_current());
  const auto at = number_of(op.at());
  if (!revision || (*revision == 0 && !at)) return std::nullopt;
  Placed placed{.revision = *revision, .absent = *revision == 0, .call = op.invoke_position(),
                .ret = op.return_position(), .id = op.id()};
  if (placed.absent) placed.revision = *at;
  return placed;
}

// What a value is, in the words of the history: of a write its argument, of a cas its second.
Value value_of(const Operation& op) {
  if (op.f() == f::read) return op.result();
  if (op.f() == f::cas) return op.argument().as_array()[1];
  return op.f() == f::delete_ ? Value() : op.argument();
}

std::string name_of(const Operation& op) {
  return "p" + std::to_string(op.process().id) +
         (op.node().empty() ? "" : (op.f() == f::read ? " from " : " through ") +
                                       std::string(op.node().text()));
}
std::string when(const Operation& op) {
  if (op.invoke_time().count < 0)
    return "index " + std::to_string(op.invoke_index()) + " to " + std::to_string(op.return_index());
  return format_point(op.invoke_time()) + " to " + format_point(op.return_time());
}
std::string sentence_of(const Operation& op, const Placed& placed) {
  std::string did = op.f() == f::read           ? "read " + value_of(op).to_json()
                    : op.type() == OpType::kFail ? "was refused"
                    : op.f() == f::delete_      ? "deleted the key"
                                                : "wrote " + value_of(op).to_json();
  return name_of(op) + " " + did + (placed.absent ? ", the key being gone at revision " : " at revision ") +
         std::to_string(placed.revision) + " (" + when(op) + ")";
}

struct Found {
  std::string anomaly;   // "stale state", …
  std::string headline;  // the first line of the witness
  std::vector<Placed> operations;
};

class Key {
 public:
  Key(const History& history, bool reads, const std::vector<uint32_t>& ids, bool absence = true)
      : history_(history) {
    for (uint32_t id : ids) add(history[id], reads);
    if (!one_scale_ || !absence) std::erase_if(placed_, [](const Placed& p) { return p.absent; });
    std::sort(placed_.begin(), placed_.end(),
              [](const Placed& a, const Placed& b) { return a.before(b); });
  }

  size_t size() const { return placed_.size(); }
  size_t states() const {
    size_t states = 0;
    for (size_t i = 0; i < placed_.size(); ++i)
      states += i == 0 || !placed_[i].same_state(placed_[i - 1]);
    return states;
  }

  std::optional<Found> judge() const {
    for (const auto check : {&Key::check_values, &Key::check_real_time, &Key::check_guards,
                             &Key::check_absence}) {
      if (auto found = (this->*check)()) return found;
    }
    return std::nullopt;
  }

 private:
  void add(const Operation& op, bool reads) {
    if (auto placed = place(op, reads)) placed_.push_back(*placed);
    const auto revision = number_of(op.revision()), at = number_of(op.at());
    one_scale_ &= !revision || !at || *revision <= *at;
    const bool unknown = op.type() == OpType::kInfo;
    const bool deletes = writes(op) && op.f() != f::cas && value_of(op).is_null();
    unplaced_delete_ |= deletes && (unknown || (op.type() == OpType::kOk && !place(op, reads)));
    if (op.f() == f::cas && op.type() != OpType::kFail && value_of(op).is_null())
      unplaced_delete_ = true;
  }
  Operation op(const Placed& placed) const { return history_[placed.id]; }
  bool accepted(const Placed& placed) const {
    return writes(op(placed)) && op(placed).type() == OpType::kOk;
  }
  // The accepted writes that made a state of their own.
  bool makes(const Placed& placed) const { return accepted(placed) && !placed.absent; }

  std::optional<Found> check_values() const {
    const Placed* first = nullptr;  // of the same revision: its write, or else any that saw a value
    for (const Placed& p : placed_) {
      if (p.absent || op(p).type() != OpType::kOk) continue;
      if (!first || !first->same_state(p)) {
        first = &p;
        continue;
      }
      if (makes(p) && makes(*first))
        return Found{"one revision for two writes",
                     "revision " + std::to_string(p.revision) + " was given to two accepted writes",
                     {*first, p}};
      if (value_of(op(p)) != value_of(op(*first)))
        return Found{"one revision with two values",
                     "revision " + std::to_string(p.revision) + " is " +
                         value_of(op(*first)).to_json() + " to one, and " +
                         value_of(op(p)).to_json() + " to another",
                     {*first, p}};
      if (makes(p)) first = &p;
    }
    return std::nullopt;
  }

  std::optional<Found> check_real_time() const {
    const Placed* last = nullptr;     // of earlier states, the one invoked last
    const Placed* pending = nullptr;  // … of this state
    for (size_t i = 0; i < placed_.size(); ++i) {
      const Placed& p = placed_[i];
      if (i > 0 && !p.same_state(placed_[i - 1]) && pending &&
          (!last || pending->call > last->call))
        last = pending;
      if (last && p.ret < last->call) return late(*last, p);
      if (!pending || p.call > pending->call) pending = &p;
    }
    // A read that returned before the write that it saw was invoked.
    for (size_t i = 0; i < placed_.size();) {
      size_t end = i;
      const Placed* write = nullptr;
      for (; end < placed_.size() && placed_[end].same_state(placed_[i]); ++end)
        if (makes(placed_[end])) write = &placed_[end];
      for (; i < end; ++i) {
        if (write && placed_[i].ret < write->call)
          return Found{"read from the future",
                       sentence_of(op(placed_[i]), placed_[i]) +
                           ", before the write of that revision was invoked",
                       {placed_[i], *write}};
      }
    }
    return std::nullopt;
  }
  Found late(const Placed& old, const Placed& newer) const {
    const std::string gap =
        op(old).invoke_time().count < 0
            ? ""
            : ", " + format_duration(op(old).invoke_time() - op(newer).return_time());
    return {op(old).f() == f::read ? "stale state" : "revisions against real time",
            sentence_of(op(old), old) + gap + " after revision " + std::to_string(newer.revision) +
                (accepted(newer) ? " was acknowledged to " : " had been seen by ") +
                name_of(op(newer)),
            {newer, old}};
  }

  std::optional<Found> check_guards() const {
    std::vector<const Placed*> made;
    for (const Placed& p : placed_)
      if (makes(p)) made.push_back(&p);
    for (size_t i = 0; i < made.size(); ++i) {
      const auto expected = number_of(op(*made[i]).expected());
      if (!expected || *expected == 0) continue;
      const bool skipped = i > 0 && made[i - 1]->revision > *expected;
      if (!skipped && *expected < made[i]->revision) continue;
      std::vector<Placed> shown{*made[i]};
      if (skipped) shown.insert(shown.begin(), *made[i - 1]);
      return Found{"lost update",
                   sentence_of(op(*made[i]), *made[i]) + " on condition that revision " +
                       std::to_string(*expected) + " was current" +
                       (skipped ? ", over revision " + std::to_string(made[i - 1]->revision)
                                : ", which is not older than its own"),
                   shown};
    }
    return std::nullopt;
  }

  std::optional<Found> check_absence() const {
    if (unplaced_delete_) return std::nullopt;  // it may be why
    const Placed* live = nullptr;
    for (const Placed& p : placed_) {
      if (makes(p)) {
        live = value_of(op(p)).is_null() ? nullptr : &p;
      } else if (p.absent && live && !accepted(p)) {
        return Found{"lost write",
                     sentence_of(op(p), p) + ", though " + sentence_of(op(*live), *live) +
                         " and nobody deleted it",
                     {*live, p}};
      } else if (p.absent && accepted(p)) {
        live = nullptr;
      }
    }
    return std::nullopt;
  }

  const History& history_;
  std::vector<Placed> placed_;
  bool unplaced_delete_ = false;
  bool one_scale_ = true;  // the key's revisions and the store's can be compared
};

std::vector<std::pair<Symbol, std::vector<uint32_t>>> by_key(const History& history) {
  std::vector<std::pair<Symbol, std::vector<uint32_t>>> keys;
  std::unordered_map<Symbol, size_t> index;
  for (uint32_t id = 0; id < history.size(); ++id) {
    const auto [at, fresh] = index.try_emplace(history[id].key(), keys.size());
    if (fresh) keys.push_back({history[id].key(), {}});
    keys[at->second].second.push_back(id);
  }
  return keys;
}

Verdict tell(const History& history, Symbol key, Found found) {
  Verdict verdict{.name = key.empty() ? "register" : std::string(key.text()),
                  .safety = Safety::kInvalid};
  verdict.reason = found.anomaly + (key.empty() ? "" : " of " + std::string(key.text()));
  Witness witness;
  witness.lines.push_back(found.headline);
  std::sort(found.operations.begin(), found.operations.end(),
            [](const Placed& a, const Placed& b) { return a.call < b.call; });
  for (const Placed& p : found.operations) {
    witness.operations.push_back(p.id);
    witness.lines.push_back(sentence_of(history[p.id], p));
  }
  verdict.facts.emplace_back(fact::kRestsOn,
                             "independent of your error mapping: it rests on what was acknowledged "
                             "and read, and on the revisions given with it");
  verdict.witness = std::move(witness);
  return verdict;
}

class VersionOrder : public Checker {
 public:
  std::string_view name() const override { return "version-order"; }
  std::string_view summary() const override {
    return "the order of the store's own revisions explains each key and respects real time";
  }
  bool applies(const History& history) const override {
    if (!history.header().token_orderable) return false;
    for (size_t id = 0; id < history.size(); ++id)
      if (place(history[id], true)) return true;
    return false;
  }
  Result<void> accepts(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Symbol f = history[id].f();
      if (f == f::read || f == f::write || f == f::cas || f == f::delete_) continue;
      return history.error_at(
          history[id],
          "revisions are judged of read, write, cas and delete, not of " + std::string(f.text()));
    }
    return {};
  }
  // Without absence: whether the revisions of a key and of the store can be compared may still show.
  bool refutes(const History& prefix, const Budget& budget) const override {
    const bool reads = read_claim(prefix.header()) == "linearizable";
    for (const auto& [name, ids] : by_key(prefix)) {
      if (budget.exhausted()) return false;
      if (Key(prefix, reads, ids, false).judge()) return true;
    }
    return false;
  }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "version-order"};
    const bool reads = read_claim(history.header()) == "linearizable";
    int64_t placed = 0, states = 0, invalid = 0;
    for (const auto& [name, ids] : by_key(history)) {
      if (budget.exhausted()) {
        verdict.safety = Safety::kUnknown;
        verdict.reason = "not decided within its budget";
        break;
      }
      const Key key(history, reads, ids);
      placed += static_cast<int64_t>(key.size());
      states += static_cast<int64_t>(key.states());
      auto found = key.judge();
      if (!found) continue;
      if (++invalid <= static_cast<int64_t>(kKeysTold))
        verdict.add(tell(history, name, std::move(*found)));
    }
    verdict.counts = {{"operations with a revision", placed}, {"states", states}};
    if (invalid > 1) verdict.facts.emplace_back("invalid keys", std::to_string(invalid));
    if (!reads)
      verdict.facts.emplace_back(fact::kNotClaimed,
                                 "reads of the latest state: the revisions of reads are not judged");
    conclude(states, verdict);
    return verdict;
  }

 private:
  static void conclude(int64_t states, Verdict& verdict) {
    if (verdict.safety != Safety::kValid) return;
    if (states == 0) {
      verdict.safety = Safety::kVacuous;
      verdict.reason = "no answer has a revision: there is no order to judge";
      verdict.facts.emplace_back(fact::kMissing, "answers with the revision of the key's state");
      verdict.facts.emplace_back(fact::kRemedy, "a longer run: `--time-limit 60s`");
      return;
    }
    verdict.reason = "the order of " + counted(static_cast<size_t>(states), "state", "states") +
                     " by revision explains every answer and respects real time";
  }
};

}  // namespace

const Checker& version_order_checker() {
  static const VersionOrder checker;
  return checker;
}

}  // namespace assay
