// revisions: can accepted states be told apart, and does the store's count never go back? (K4)
//
//   tokens           one token is one state: no two accepted writes of a key have one (not the same
//                    value again, not after a delete either), all who saw it with a value saw the
//                    same. Where tokens are ordered, a write that was invoked after another had
//                    returned has the higher one. Where the revisions of keys are those of the store,
//                    no two accepted changes have one, whatever their keys (a txn is one change).
//                    A store that claims guarded writes and gives no tokens cannot tell states
//                    apart: invalid where the clients need it (they compare tokens, or act on what
//                    they have read), else there is nothing to judge
//   header-revision  the revision of the store in the answers, where it is ordered: of changes, refusals
//                    and reads of the latest state it never goes back, over all clients, nodes and
//                    restarts; of other reads not on one node, within one life of its process
//
// Tokens that are not ordered are compared for equality only. A state that was made by a write of
// unknown outcome counts as far as somebody saw it.
// Reads of the latest state that go back are found stale by header-revision, not by tokens: that
// the map from states to tokens is sound does not rest on what is read late.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::revisions {
namespace {

const Symbol kKill{"kill"};

bool tells_state(const KeyEvent& event) {
  return event.ok() && event.did != Did::kGuard && !event.revision.none() &&
         event.revision != Token(int64_t{0});
}

std::optional<Finding> repeated_token(const History& history, const KeyTrack& track) {
  std::unordered_map<Token, const KeyEvent*, TokenHasher> first;
  for (const KeyEvent& event : track.events) {
    if (!tells_state(event)) continue;
    const auto [at, fresh] = first.try_emplace(event.revision, &event);
    if (fresh) continue;
    const KeyEvent& other = *at->second;
    if (event.accepted() && other.accepted() && event.id != other.id) {
      const bool deleted = std::any_of(
          track.events.begin(), track.events.end(), [&](const KeyEvent& between) {
            return between.accepted() && between.deletes() && between.call > other.call &&
                   between.call < event.ret;
          });
      return Finding{event.value == other.value ? "a state that came back has its old token"
                                                : "one token for two states",
                     "revision " + token_text(event.revision) + " was given to two accepted writes" +
                         (deleted ? ", the key having been deleted between them" : "") + ", of " +
                         author_text(history[other.id]) + " and " + author_text(history[event.id]),
                     {other, event},
                     {}};
    }
    if (event.value != other.value)
      return Finding{"one token with two values",
                     "revision " + token_text(event.revision) + " is " + other.value.to_json() +
                         " to one, and " + event.value.to_json() + " to another",
                     {other, event},
                     {}};
    if (event.accepted()) at->second = &event;
  }
  return std::nullopt;
}

std::optional<Finding> falling_token(const History& history, const KeyTrack& track) {
  std::vector<const KeyEvent*> writes;
  for (const KeyEvent& event : track.events)
    if (event.accepted() && tells_state(event) && event.revision.is_number())
      writes.push_back(&event);
  std::sort(writes.begin(), writes.end(), [](const KeyEvent* a, const KeyEvent* b) {
    return a->revision.number() < b->revision.number();
  });
  const KeyEvent* last = nullptr;  // of lower tokens, the one invoked last
  for (const KeyEvent* write : writes) {
    if (last && write->ret < last->call)
      return Finding{"a later state has a lower token",
                     author_text(history[last->id]) + " was given revision " +
                         token_text(last->revision) + " after " + author_text(history[write->id]) +
                         " had been given " + token_text(write->revision),
                     {*write, *last},
                     {}};
    if (!last || write->call > last->call) last = write;
  }
  return std::nullopt;
}

// One number, two changes of the store.
std::optional<std::pair<Symbol, Finding>> shared_by_keys(const History& history,
                                                         const KeyEvents& events) {
  struct Change {
    int64_t revision;
    const KeyEvent* event;
    Symbol key;
  };
  std::vector<Change> changes;
  for (const KeyTrack& track : events.keys()) {
    for (const KeyEvent& event : track.events)
      if (event.accepted() && tells_state(event) && event.revision.is_number())
        changes.push_back({event.revision.number(), &event, track.key});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.revision, a.event->id) < std::pair(b.revision, b.event->id);
  });
  for (size_t i = 1; i < changes.size(); ++i) {
    const Change &a = changes[i - 1], &b = changes[i];
    if (a.revision != b.revision || a.event->id == b.event->id) continue;
    return std::pair(b.key, Finding{"one revision for two changes",
                                    "revision " + std::to_string(a.revision) +
                                        " of the store was given to two accepted changes, of " +
                                        std::string(a.key.text()) + " by " +
                                        author_text(history[a.event->id]) + " and of " +
                                        std::string(b.key.text()) + " by " +
                                        author_text(history[b.event->id]),
                                    {*a.event, *b.event},
                                    {}});
  }
  return std::nullopt;
}

bool clients_need_tokens(const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if (!op.expected().none()) return true;
    const Value extra = op.invoke_extra();
    if (!extra.is_null() && (!extra["intent"].is_null() || !extra["guards"].is_null())) return true;
  }
  return false;
}

// Of a history without any token.
Verdict judge_absence(const History& history, int64_t accepted) {
  Verdict verdict{.name = "tokens"};
  const bool claims = history.header().raw["claims"].bool_or("guarded-write", false);
  if (claims && accepted > 0 && clients_need_tokens(history)) {
    verdict.safety = Safety::kInvalid;
    verdict.reason = "no version token: accepted states cannot be told apart";
    verdict.witness = Witness{
        .operations = {},
        .lines = {"no version token: accepted states cannot be told apart",
                  counted(static_cast<size_t>(accepted), "write was", "writes were") +
                      " acknowledged, and no answer carried a revision"}};
    verdict.facts.emplace_back(fact::kRestsOn,
                               "independent of your error mapping: no answer has a revision");
    return verdict;
  }
  nothing_judged("no answer has a revision: there are no tokens to judge",
                 "answers with the revision of the key's state", "longer: `--time-limit 60s`",
                 verdict);
  if (!claims)
    verdict.facts.emplace_back(fact::kNotClaimed, "guarded writes, and so tokens to compare");
  return verdict;
}

Verdict judge_tokens(const History& history, const Budget& budget) {
  Verdict verdict{.name = "tokens"};
  const KeyEvents events(history);
  const bool orderable = history.header().token_orderable;
  int64_t states = 0, accepted = 0, without = 0;
  Findings findings(history, verdict);
  each_key(events, budget, verdict, [&](const KeyTrack& track) {
    for (const KeyEvent& event : track.events) {
      states += tells_state(event);
      accepted += event.accepted();
      without += event.accepted() && !event.deletes() && event.revision.none();
    }
    auto found = repeated_token(history, track);
    if (!found && orderable) found = falling_token(history, track);
    if (found) findings.add(track.key, std::move(*found));
  });
  if (findings.size() == 0 && orderable && one_scale(history)) {
    if (auto found = shared_by_keys(history, events))
      findings.add(found->first, std::move(found->second));
  }
  findings.conclude();
  if (states == 0 && verdict.safety == Safety::kValid) return judge_absence(history, accepted);
  verdict.counts = {{"answers with a token", states}, {"writes accepted", accepted}};
  if (without > 0)
    verdict.facts.emplace_back(fact::kNotTested,
                               counted(static_cast<size_t>(without), "accepted write", "accepted writes") +
                                   " came without a token");
  if (verdict.reason.empty())
    verdict.reason = "each of " + counted(static_cast<size_t>(states), "token", "tokens") +
                     " seen stands for one state";
  return verdict;
}

// --- The revision in the header of answers.

struct Answer {
  int64_t at;
  Position call;
  Position ret;
  uint32_t id;
};

// Where a node began a new life.
using Lives = std::unordered_map<Symbol, std::vector<Position>>;
Lives lives_of(const History& history) {
  Lives lives;
  for (const Observation& observation : history.observations()) {
    if (observation.op.f != f::exit && observation.op.f != f::start) continue;
    const Value& node = observation.op.value["node"];
    lives[node.is_string() ? node.as_symbol() : observation.op.node].push_back(observation.position);
  }
  for (const NemesisOp& op : history.nemesis()) {
    if (started_fault(op.invocation.f) != kKill.text() && stopped_fault(op.invocation.f) != kKill.text())
      continue;
    for (const std::string& node : history.header().nodes) {
      lives[Symbol(node)].push_back(op.invoke_position);
      if (op.return_position != kOpen) lives[Symbol(node)].push_back(op.return_position);
    }
  }
  for (auto& [node, positions] : lives) std::sort(positions.begin(), positions.end());
  return lives;
}
size_t life_at(const Lives& lives, Symbol node, Position position) {
  const auto of = lives.find(node);
  if (of == lives.end()) return 0;
  return static_cast<size_t>(std::upper_bound(of->second.begin(), of->second.end(), position) -
                             of->second.begin());
}

std::optional<std::pair<Answer, Answer>> going_back(std::vector<Answer> answers) {
  std::vector<Answer> by_return = answers;
  std::sort(by_return.begin(), by_return.end(),
            [](const Answer& a, const Answer& b) { return a.ret < b.ret; });
  std::sort(answers.begin(), answers.end(),
            [](const Answer& a, const Answer& b) { return a.call < b.call; });
  const Answer* highest = nullptr;
  size_t next = 0;
  for (const Answer& answer : answers) {
    for (; next < by_return.size() && by_return[next].ret < answer.call; ++next)
      if (!highest || by_return[next].at > highest->at) highest = &by_return[next];
    if (highest && highest->at > answer.at) return std::pair(*highest, answer);
  }
  return std::nullopt;
}

std::string answered(const Operation& op) {
  return who(op) + " was answered to " + std::string(op.f().text()) + " " +
         std::string(op.key().text()) + " at revision " + token_text(op.at()) + " of the store (" +
         when(op) + ")";
}

// Nothing where no two answers carry it: a part that judged nothing speaks for no clause.
std::optional<Verdict> judge_header(const History& history) {
  Verdict verdict{.name = "header-revision"};
  const bool reads_latest = read_claim(history.header()) == "linearizable";
  std::vector<Answer> latest;
  std::unordered_map<uint64_t, std::vector<Answer>> local;  // by node and life
  const Lives lives = lives_of(history);
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    const bool refused = op.type() == OpType::kFail && !op.error_current().none();
    if (!op.at().is_number() || op.f() == f::watch || (op.type() != OpType::kOk && !refused)) continue;
    const Answer answer{op.at().number(), op.invoke_position(), op.return_position(),
                        static_cast<uint32_t>(id)};
    const bool reads = op.f() == f::read || op.f() == f::list;
    if (!reads || (reads_latest && !op.invoke_extra().bool_or("stale", false))) {
      latest.push_back(answer);
    } else if (!op.node().empty()) {
      const size_t life = life_at(lives, op.node(), answer.call);
      if (life == life_at(lives, op.node(), answer.ret))
        local[uint64_t{op.node().id()} << 32 | life].push_back(answer);
    }
  }
  size_t judged = latest.size();
  auto found = going_back(std::move(latest));
  for (auto& [node, answers] : local) {
    judged += answers.size();
    if (!found) found = going_back(std::move(answers));
  }
  if (judged < 2) return std::nullopt;
  verdict.counts = {{"answers with the store's revision", static_cast<int64_t>(judged)}};
  if (found) {
    const Operation before = history[found->first.id], after = history[found->second.id];
    verdict.safety = Safety::kInvalid;
    verdict.reason = "the store's revision goes back from " + token_text(before.at()) + " to " +
                     token_text(after.at());
    verdict.witness =
        Witness{.operations = {found->first.id, found->second.id},
                .lines = {answered(after) + ", after revision " + token_text(before.at()) +
                              " had been answered to " + author_text(before),
                          answered(before), answered(after)}};
    verdict.facts.emplace_back(fact::kRestsOn,
                               "independent of your error mapping: it rests on the revisions in "
                               "answers");
  } else {
    verdict.reason = "the store's revision never goes back over " + grouped(static_cast<int64_t>(judged)) +
                     " answers";
  }
  return verdict;
}

class Revisions : public Checker {
 public:
  std::string_view name() const override { return "revisions"; }
  std::string_view summary() const override {
    return "one token is one accepted state, never used again, and the store's revision never goes "
           "back";
  }
  // Where no token is claimed and none is given, none is missing.
  bool applies(const History& history) const override {
    if (history.header().raw["claims"].bool_or("guarded-write", false) &&
        clients_need_tokens(history))
      return true;
    for (size_t id = 0; id < history.size(); ++id)
      if (!history[id].revision().none() || !history[id].at().none()) return true;
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "revisions"};
    verdict.add(judge_tokens(history, budget));
    if (history.header().token_orderable) {
      if (auto header = judge_header(history)) {
        verdict.add(std::move(*header));
      } else {
        verdict.facts.emplace_back(fact::kNotTested, "no two answers carry the store's revision");
      }
    }
    if (verdict.reason.empty()) verdict.reason = verdict.children[0].reason;
    return verdict;
  }
};

}  // namespace
}  // namespace assay::revisions

namespace assay {

const Checker& revisions_checker() {
  static const revisions::Revisions checker;
  return checker;
}

}  // namespace assay
