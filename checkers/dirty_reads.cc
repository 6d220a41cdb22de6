// dirty-reads: does anybody see what never happened? (K16)
//
//   aborted   an ok read, list, or event of a watch shows a value of which every write had definitely
//             failed; or a guarded write is accepted on the token of such a state
//   nobody's  … shows a value that nobody tried to write to that key, nor was there initially
//   too early … had the value before anybody tried to write it
//
// Exact for values that are written once; of one that several writes carry, one that may have
// happened excuses all. Where keys are changed by operations that this checker does not read (add,
// append, …) it does not apply. Source: Adya's G1a, Weak Consistency, 1999.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::dirty_reads {
namespace {

// Of a value of a key.
struct Origin {
  const KeyEvent* happened = nullptr;  // of the writes that may have happened, the first invoked
  const KeyEvent* failed = nullptr;
};
using Origins = std::unordered_map<Value, Origin, ValueHasher>;

struct Seen {
  Value value;
  Position ret;
  KeyEvent event;  // as shown
};

Origins origins_of(const KeyTrack& track) {
  Origins origins;
  for (const KeyEvent& event : track.events) {
    if (event.did != Did::kWrite) continue;
    Origin& origin = origins[event.value];
    const KeyEvent*& first = event.may_have_happened() ? origin.happened : origin.failed;
    if (!first) first = &event;
  }
  return origins;
}

class Key {
 public:
  Key(const History& history, const KeyTrack& track)
      : history_(history),
        track_(track),
        initial_(history.header().initial_of(track.key)),
        origins_(origins_of(track)) {}

  std::optional<Finding> judge(const KeyEvent& read) const {
    const Value& value = read.value;
    if (value.is_null()) return std::nullopt;
    const auto origin = origins_.find(value);
    const bool known = origin != origins_.end();
    if (known && origin->second.happened && origin->second.happened->call < read.ret)
      return std::nullopt;
    if (value == initial_) return std::nullopt;
    const std::string reader = who(history_[read.id]) + " found " + value.to_json();
    if (known && origin->second.happened)
      return Finding{"read of a value before it was written",
                     reader + " before anybody tried to write it",
                     {read, *origin->second.happened},
                     {}};
    if (known)
      return Finding{"read of an aborted write",
                     reader + ", which " + author_text(history_[origin->second.failed->id]) +
                         " had been refused to write",
                     {*origin->second.failed, read},
                     {}};
    return Finding{"read of a value that nobody wrote", reader + ", which nobody tried to write",
                   {read}, {}};
  }

  // Tokens that a refusal carried, and states that were aborted, are none to build on.
  std::optional<Finding> judge_tokens() const {
    std::unordered_map<Token, const KeyEvent*, TokenHasher> refused;
    for (const KeyEvent& event : track_.events) {
      if (event.did != Did::kWrite || event.type != OpType::kFail || event.conflict) continue;
      if (!event.revision.none()) refused.emplace(event.revision, &event);
    }
    if (refused.empty()) return std::nullopt;
    for (const KeyEvent& event : track_.events)
      if (event.accepted()) refused.erase(event.revision);
    for (const KeyEvent& event : track_.events) {
      if (!event.accepted() || !event.guarded()) continue;
      const auto at = refused.find(event.expected);
      if (at == refused.end()) continue;
      return Finding{"guard on an aborted write",
                     author_text(history_[event.id]) + " had a write accepted on condition that " +
                         "revision " + token_text(event.expected) +
                         " was current, which was that of a write that failed",
                     {*at->second, event},
                     {}};
    }
    return std::nullopt;
  }

 private:
  const History& history_;
  const KeyTrack& track_;
  const Value initial_;
  const Origins origins_;
};

// What the watches showed of each key, as reads.
std::unordered_map<Symbol, std::vector<KeyEvent>> shown_by_watches(const History& history) {
  std::unordered_map<Symbol, std::vector<KeyEvent>> shown;
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if (op.f() != f::watch || op.type() != OpType::kOk) continue;
    const Value result = op.result();
    if (!result["events"].is_array()) continue;
    for (const Value& item : result["events"].as_array()) {
      if (!item.is_array() || item.as_array().size() < 4 || !item.as_array()[1].is_string()) continue;
      KeyEvent event{.id = static_cast<uint32_t>(id), .call = op.invoke_position(),
                     .ret = op.return_position(), .type = OpType::kOk};
      event.revision = token_of(item.as_array()[0]);
      event.value = item.as_array()[3];
      if (item.as_array()[2] == Value("put")) shown[item.as_array()[1].as_symbol()].push_back(event);
    }
  }
  return shown;
}

class DirtyReads : public Checker {
 public:
  std::string_view name() const override { return "dirty-reads"; }
  std::string_view summary() const override {
    return "nobody sees a value whose write failed, or that nobody wrote";
  }
  bool applies(const History& history) const override {
    if (changes_in_other_words(history)) return false;
    bool writes = false, reads = false;
    for (size_t id = 0; id < history.size() && !(writes && reads); ++id) {
      const Symbol f = history[id].f();
      const bool looks = f == f::read || f == f::list || f == f::watch;
      writes |= !looks;
      reads |= looks && history[id].type() == OpType::kOk;
    }
    return writes && reads;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "dirty-reads"};
    Findings findings(history, verdict);
    int64_t seen = 0, failed = 0;
    auto shown = shown_by_watches(history);
    each_key(KeyEvents(history), budget, verdict, [&](const KeyTrack& track) {
      const Key key(history, track);
      std::optional<Finding> found;
      const auto look = [&](const KeyEvent& event) {
        if (event.did != Did::kRead || !event.ok() || event.value.is_null()) return;
        ++seen;
        if (!found) found = key.judge(event);
      };
      for (const KeyEvent& event : track.events) {
        look(event);
        failed += event.did == Did::kWrite && event.type == OpType::kFail;
      }
      if (const auto at = shown.find(track.key); at != shown.end())
        for (const KeyEvent& event : at->second) look(event);
      if (!found) found = key.judge_tokens();
      if (found) findings.add(track.key, std::move(*found));
      shown.erase(track.key);
    });
    // Keys that nobody but the watches speaks of.
    for (const auto& [name, events] : shown) {
      if (verdict.safety == Safety::kUnknown) break;
      const KeyTrack none{.key = name, .events = {}};
      seen += static_cast<int64_t>(events.size());
      if (auto found = Key(history, none).judge(events[0])) findings.add(name, std::move(*found));
    }
    findings.conclude();
    verdict.counts = {{"values seen", seen}, {"failed writes", failed}};
    if (seen == 0)
      nothing_judged("nobody saw a value: there is no read to judge", "reads of values",
                     "longer: `--time-limit 60s`", verdict);
    if (failed == 0)
      verdict.facts.emplace_back(fact::kNotTested, "reads of aborted writes: no write failed");
    if (verdict.reason.empty())
      verdict.reason = "each of " + counted(static_cast<size_t>(seen), "value", "values") +
                       " seen is of a write that may have happened";
    return verdict;
  }
};

}  // namespace
}  // namespace assay::dirty_reads

namespace assay {

const Checker& dirty_reads_checker() {
  static const dirty_reads::DirtyReads checker;
  return checker;
}

}  // namespace assay
