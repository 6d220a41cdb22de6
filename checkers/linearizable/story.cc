#include "checkers/linearizable/story.h"

#include <algorithm>
#include <optional>
#include <set>

namespace assay::linearizable {
namespace {

constexpr size_t kWitnessMax = 6;  // operations shown, unless more cannot be weakened
constexpr size_t kLinesMax = 12;   // operations told one by one
constexpr size_t kActorsMax = 50;
constexpr Nanos kRecently = seconds(2);

// One operation, ready to be spoken of.
class Actor {
 public:
  Actor(const History& history, const KeyHistory& key, bool timed, uint32_t index)
      : index(index), op(key.ops[index]), operation(history[op.id]), timed_(timed) {}

  uint32_t index;
  KeyOp op;
  Operation operation;

  bool timed() const { return timed_ && operation.invoke_time().count >= 0; }
  std::string process() const { return "p" + std::to_string(operation.process().id); }
  std::string node() const { return std::string(operation.node().text()); }
  std::string at_node(const char* word) const {
    return node().empty() ? "" : std::string(" ") + word + " " + node();
  }
  bool observes() const { return op.f != Call::kWrite; }
  bool mutates() const { return op.f != Call::kRead && op.type == OpType::kOk; }
  const Scalar& produced() const { return op.produced(); }

  // The value that it read, wrote or expected; and what it changed it to.
  std::string value() const {
    if (op.f == Call::kRead) return operation.result().to_json();
    if (op.f == Call::kCas) return operation.argument().as_array()[0].to_json();
    return operation.f() == f::delete_ ? "null" : operation.argument().to_json();
  }
  std::string next() const { return operation.argument().as_array()[1].to_json(); }
  std::string produced_text() const { return op.f == Call::kCas ? next() : value(); }

  std::string did() const {
    switch (op.f) {
      case Call::kRead:
        return process() + " read " + value() + at_node("from");
      case Call::kWrite:
        if (op.type == OpType::kFail) {
          return process() + "'s write of " + value() + at_node("through") + " failed";
        }
        return process() + " wrote " + value() + at_node("through");
      case Call::kCas:
        if (op.type == OpType::kFail) {
          return process() + "'s CAS of " + value() + " to " + next() + at_node("through") +
                 " failed";
        }
        return process() + " changed " + value() + " to " + next() + at_node("through");
    }
    return "";
  }
  // As something that came before: "5 was acknowledged to p7 by n1", "p7 had read 5 from n1".
  std::string had_done() const {
    if (op.f == Call::kRead) return process() + " had read " + value() + at_node("from");
    if (op.f == Call::kCas && op.type == OpType::kFail) {
      return process() + "'s CAS from " + value() + at_node("through") + " had found another value";
    }
    return produced_text() + " was acknowledged to " + process() + at_node("by");
  }
  // When and how it ended, as one line of the story.
  std::string line() const {
    std::string text = did();
    const bool open = op.type == OpType::kInfo;
    if (open) {
      text += ", outcome unknown";
    } else if (op.f != Call::kRead && op.type == OpType::kOk) {
      text += ", acknowledged";
    } else if (op.type == OpType::kFail && op.f == Call::kCas) {
      text += ": what it compared was not there";
    }
    if (timed()) {
      const std::string from = exact_point(operation.invoke_time());
      return text + (open ? " (from " + from + " on)"
                          : " (" + from + " to " + exact_point(operation.return_time()) + ")");
    }
    const std::string from = std::to_string(operation.invoke_index());
    return text +
           (open ? " (from index " + from + " on)"
                 : " (index " + from + " to " + std::to_string(operation.return_index()) + ")");
  }
  bool returned_before(const Actor& later) const {
    return op.type != OpType::kInfo && op.ret < later.op.call;
  }

 private:
  bool timed_;
};

class Teller {
 public:
  Teller(const History& history, const KeyHistory& key, const Problem& problem, const Core& core,
         const Surroundings& surroundings)
      : history_(history), key_(key), problem_(problem), core_(core), around_(surroundings) {
    // More are there only where the budget ended before the core was small.
    untold_ = core.ops.size() - std::min(core.ops.size(), kActorsMax);
    for (size_t i = untold_; i < core.ops.size(); ++i) actors_.push_back(actor(core.ops[i]));
  }

  Story tell() {
    choose_subject();
    const bool told = subject_ && (tell_unproduced() || tell_double_cas() || tell_overwritten() ||
                                   tell_outdated() || tell_failed_cas() || tell_disagreement());
    if (!told) {
      anomaly_ = "no order explains the operations";
      headline_ = actors_.size() == 1
                      ? actors_[0].did() + ", and no order of what else may have happened allows it"
                      : "no order of " + count(actors_.size(), "operation") +
                            " explains their values: they contradict each other";
    }
    add_fault(headline_);
    Story story{.anomaly = anomaly_, .witness = {}};
    std::set<uint32_t> shown;
    for (const Actor& actor : actors_) shown.insert(actor.index);
    if (proof_) shown.insert(proof_->index);
    for (uint32_t i : context_) {
      if (shown.size() < kWitnessMax) shown.insert(i);
    }
    auto& lines = story.witness.lines;
    lines.push_back(headline_);
    size_t skipped = shown.size() > kLinesMax ? shown.size() - kLinesMax : 0;
    if (skipped + untold_ > 0) {
      lines.push_back(count(skipped + untold_, "operation") + " before these " +
                      (core_.minimal ? "cannot be left out either" : "may be needed too"));
    }
    for (uint32_t i : shown) {
      story.witness.operations.push_back(key_.ops[i].id);
      if (skipped > 0) {
        --skipped;
        continue;
      }
      lines.push_back(actor(i).line());
    }
    for (std::string& line : remarks_) lines.push_back(std::move(line));
    add_roles(lines);
    add_what_counts(lines);
    return story;
  }

 private:
  Actor actor(uint32_t index) const { return {history_, key_, around_.timed, index}; }

  static std::string count(size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  }

  // What the story is about: of the observers, the one invoked last.
  void choose_subject() {
    for (const Actor& actor : actors_) {
      if (actor.observes() && (!subject_ || actor.op.call >= subject_->op.call)) subject_ = actor;
    }
  }
  // "p3 read 4 from n2, 212 ms after …"
  std::string after(const Actor& earlier) const {
    if (!earlier.timed()) return ", after ";
    return ", " +
           format_duration(subject_->operation.invoke_time() - earlier.operation.return_time()) +
           " after ";
  }

  bool tell_unproduced() {
    for (const Actor& reader : actors_) {
      if (!reader.observes() || reader.op.type != OpType::kOk) continue;
      if (reader.op.value == key_.conventions.initial) continue;
      std::optional<uint32_t> failed, later;
      bool produced = false;
      for (uint32_t i = 0; i < key_.ops.size(); ++i) {
        const KeyOp& op = key_.ops[i];
        if (op.f == Call::kRead || i == reader.index) continue;
        if ((op.f == Call::kCas ? op.next : op.value) != reader.op.value) continue;
        if (op.type == OpType::kFail) {
          failed = i;
        } else if (op.call < reader.op.ret) {
          produced = true;
        } else if (!later) {
          later = i;
        }
      }
      if (produced) continue;
      subject_ = reader;
      anomaly_ = reader.op.f == Call::kRead ? "read of a value nobody wrote"
                                            : "CAS from a value nobody wrote";
      headline_ = reader.did() + ", but nobody had written " + reader.value();
      if (later) {
        const Actor writer = actor(*later);
        headline_ += ": " + writer.process() + " began to write it only ";
        headline_ +=
            writer.timed()
                ? format_duration(writer.operation.invoke_time() - reader.operation.return_time()) +
                      " after that"
                : "afterwards";
        context_.push_back(*later);
      } else if (failed) {
        headline_ += ": an attempt by " + actor(*failed).process() + " is recorded as failed";
        context_.push_back(*failed);
      }
      return true;
    }
    return false;
  }

  bool tell_double_cas() {
    if (subject_->op.f != Call::kCas || subject_->op.type != OpType::kOk) return false;
    for (const Actor& other : actors_) {
      if (other.index == subject_->index || other.op.f != Call::kCas ||
          other.op.type != OpType::kOk || other.op.value != subject_->op.value) {
        continue;
      }
      if (makers(subject_->op.value, other.op.call, subject_->op.ret) > 0) continue;
      anomaly_ = "CAS succeeded twice from one value";
      headline_ = subject_->did();
      if (other.returned_before(*subject_)) {
        headline_ += after(other) + other.process() + " had changed " + other.value() + " to " +
                     other.next() + other.at_node("through");
      } else {
        headline_ += " while " + other.did();
      }
      headline_ += ": nothing made it " + subject_->value() + " again in between";
      add_maker(subject_->op.value, other.op.call);
      return true;
    }
    return false;
  }

  // Two operations are a proof by themselves: an acknowledged change to another value, and later an
  // observation of a value that nothing can have made since. The last such change says most.
  bool tell_overwritten() {
    for (auto at = actors_.rbegin(); at != actors_.rend(); ++at) {
      if (!at->observes() || at->op.type != OpType::kOk) continue;
      const auto change = last_change_against(*at);
      if (!change) continue;
      subject_ = *at;
      tell_outdated_by(actor(*change));
      if (std::find(core_.ops.begin(), core_.ops.end(), *change) == core_.ops.end()) {
        context_.insert(context_.begin(), *change);
        proof_ = actor(*change);
      }
      return true;
    }
    return false;
  }
  std::optional<uint32_t> last_change_against(const Actor& observer) const {
    const Scalar& v = observer.op.value;
    Position made_last = 0;
    for (const KeyOp& op : key_.ops) {
      if (op.call > observer.op.ret) break;
      if (op.id == observer.op.id || op.f == Call::kRead || op.type == OpType::kFail ||
          (op.f == Call::kCas ? op.next : op.value) != v) {
        continue;
      }
      if (op.type == OpType::kInfo || op.ret > observer.op.call) return std::nullopt;
      made_last = std::max(made_last, op.ret);
    }
    std::optional<uint32_t> last;
    for (uint32_t i = 0; i < key_.ops.size() && key_.ops[i].call < observer.op.call; ++i) {
      const KeyOp& op = key_.ops[i];
      if (op.f == Call::kRead || op.type != OpType::kOk || op.call < made_last ||
          op.ret > observer.op.call || (op.f == Call::kCas ? op.next : op.value) == v) {
        continue;
      }
      if (!last || op.ret > key_.ops[*last].ret) last = i;
    }
    return last;
  }

  // A value was observed after another one had been.
  bool tell_outdated() {
    if (subject_->op.type != OpType::kOk) return false;
    std::optional<Actor> newer;
    for (const Actor& other : actors_) {
      if (!other.returned_before(*subject_) || !shows_other_than(other, subject_->op.value)) {
        continue;
      }
      if (!newer || other.op.ret > newer->op.ret) newer = other;
    }
    if (newer) tell_outdated_by(*newer);
    return newer.has_value();
  }
  void tell_outdated_by(const Actor& newer) {
    headline_ = subject_->did() + after(newer) + newer.had_done();
    if (subject_->op.f == Call::kCas) {
      anomaly_ = "CAS from an old value";
    } else {
      const std::string lost = newer.mutates() ? how_lost(newer) : "";
      anomaly_ = lost.empty() ? "stale read" : "lost write";
      headline_ += lost;
    }
    if (makers(subject_->op.value, newer.op.call, subject_->op.ret) == 0) {
      remarks_.push_back("nothing that makes it " + subject_->value() +
                         ", and did not fail, was under way from index " +
                         std::to_string(newer.operation.invoke_index()) + " to " +
                         std::to_string(subject_->operation.return_index()));
    }
    add_maker(subject_->op.value, newer.op.call);
    if (newer.op.f == Call::kRead) add_maker(newer.op.value, newer.op.ret);
  }

  // Once it has happened, the value is or was another than v.
  static bool shows_other_than(const Actor& actor, const Scalar& v) {
    if (actor.op.type == OpType::kFail) return actor.op.value == v;
    return actor.op.type == OpType::kOk && actor.produced() != v;
  }

  // Two at one time saw different values, and nothing made the one into the other.
  bool tell_disagreement() {
    if (subject_->op.type != OpType::kOk) return false;
    for (const Actor& other : actors_) {
      if (other.index == subject_->index || !other.observes() ||
          !shows_other_than(other, subject_->op.value)) {
        continue;
      }
      const Position from = std::min(other.op.call, subject_->op.call);
      const Position to = std::max(other.op.ret, subject_->op.ret);
      const bool failed = other.op.type == OpType::kFail;
      if (makers(subject_->op.value, from, to) > 0) continue;
      if (!failed && makers(other.op.value, from, to) > 0) continue;
      anomaly_ = "contradicting reads";
      headline_ = subject_->did() + " while " +
                  (failed ? other.process() + "'s CAS from " + other.value() +
                                other.at_node("through") + " found another value"
                          : other.did()) +
                  ", and nothing that would change the one into the other was under way";
      add_maker(subject_->op.value, from);
      if (!failed) add_maker(other.op.value, from);
      return true;
    }
    return false;
  }

  bool tell_failed_cas() {
    if (subject_->op.type != OpType::kFail) return false;
    anomaly_ = "CAS failed although its value was there";
    headline_ = subject_->did() + ", although the value was " + subject_->value() +
                " all the time that it took";
    add_maker(subject_->op.value, subject_->op.call);
    return true;
  }

  // How many operations that may make v run at some time between two positions.
  size_t makers(const Scalar& v, Position from, Position to) const {
    return static_cast<size_t>(std::count_if(key_.ops.begin(), key_.ops.end(), [&](const auto& op) {
      if (op.f == Call::kRead || op.type == OpType::kFail) return false;
      if ((op.f == Call::kCas ? op.next : op.value) != v || op.call > to) return false;
      return op.type == OpType::kInfo || op.ret > from;
    }));
  }
  // The last operation before a position that made v belongs to the picture.
  void add_maker(const Scalar& v, Position before) {
    std::optional<uint32_t> last;
    for (uint32_t i = 0; i < key_.ops.size() && key_.ops[i].call < before; ++i) {
      const KeyOp& op = key_.ops[i];
      if (op.f == Call::kRead || op.type != OpType::kOk) continue;
      if ((op.f == Call::kCas ? op.next : op.value) == v) last = i;
    }
    if (last) context_.push_back(*last);
  }
  // How an acknowledged change was lost: ", which nobody ever saw" or ", which nobody saw again";
  // empty when it need not have been. Lost: of those who looked after it and before any further
  // change began, all missed it from some moment on: several, and not all on one node, which might
  // just lag behind.
  std::string how_lost(const Actor& change) const {
    size_t missed = 0;
    bool ever_seen = false;
    std::set<std::string> nodes;
    for (uint32_t i = 0; i < key_.ops.size(); ++i) {
      const KeyOp& op = key_.ops[i];
      if (i == change.index) continue;
      const bool after = op.call > change.op.ret;
      if (after && op.f != Call::kRead && op.type != OpType::kFail) break;
      if (op.f == Call::kWrite || op.type != OpType::kOk) continue;
      if (op.value == change.produced()) {
        if (after && missed > 0) return "";
        ever_seen |= op.ret > change.op.call;
      } else if (after) {
        ++missed;
        nodes.insert(actor(i).node());
      }
    }
    if (missed < 2 || (nodes.size() < 2 && !nodes.contains(""))) return "";
    return ever_seen ? ", which nobody saw again" : ", which nobody ever saw";
  }

  // "; n2 had been cut off since 13.9 s"
  void add_fault(std::string& text) const {
    if (!subject_ || !subject_->timed()) return;
    const Symbol node = subject_->operation.node();
    const Nanos at = subject_->operation.invoke_time();
    const FaultInterval* best = nullptr;
    for (const FaultInterval& fault : around_.faults) {
      if (!fault.completed || fault.begin > at || !touches(fault, node)) continue;
      const Nanos healed = fault.healed_at_of(node);
      if (healed != kNever && at - healed > kRecently) continue;
      if (best == nullptr || healed > best->healed_at_of(node)) best = &fault;
    }
    if (best == nullptr) return;
    text += "; " + std::string(node.text()) + " had been " + state_of(*best, node);
    const Nanos healed = best->healed_at_of(node);
    text += healed > at ? " since " + format_point(best->begin)
                        : " from " + format_point(best->begin) + " to " + format_point(healed);
  }
  static bool touches(const FaultInterval& fault, Symbol node) {
    if (node.empty()) return false;
    if (std::find(fault.victims.begin(), fault.victims.end(), node) != fault.victims.end()) {
      return true;
    }
    const auto ends = [&](const auto& link) { return link.first == node || link.second == node; };
    return std::any_of(fault.cut.begin(), fault.cut.end(), ends) ||
           std::any_of(fault.delayed.begin(), fault.delayed.end(), ends) ||
           std::any_of(fault.faulty.begin(), fault.faulty.end(), ends);
  }
  std::string state_of(const FaultInterval& fault, Symbol node) const {
    if (fault.kind == "pause") return "paused";
    if (fault.kind == "kill") return "down";
    if (!fault.of_links()) return "under " + fault.kind;
    const bool cut = !fault.cut.empty();
    std::set<std::string_view> others;
    for (const auto& [from, to] : cut                    ? fault.cut
                                  : fault.faulty.empty() ? fault.delayed
                                                         : fault.faulty) {
      if (from == node) others.insert(to.text());
      if (to == node) others.insert(from.text());
    }
    const size_t all = history_.header().nodes.size();
    if (cut && others.size() + 1 >= all && all > 0) return "cut off";
    std::string text = cut                    ? "cut off from"
                       : fault.faulty.empty() ? "on slow links with"
                                              : "on faulty links (" + fault.kind + ") with";
    for (std::string_view other : others) {
      text += (other == *others.begin() ? " " : ", ") + std::string(other);
    }
    return text;
  }

  // Who thought to lead when the subject was invoked.
  void add_roles(std::vector<std::string>& lines) const {
    if (!subject_ || !subject_->timed()) return;
    const Symbol node = subject_->operation.node();
    const Nanos at = subject_->operation.invoke_time();
    const StatusSample* own = nullptr;
    const StatusSample* leader = nullptr;
    for (const StatusSample& sample : around_.samples) {
      if (sample.time > at) break;
      if (sample.time + kRecently < at) continue;
      if (sample.role.empty()) continue;
      if (sample.node == node) own = &sample;
      if (sample.role == "leader" && (leader == nullptr || sample.term >= leader->term)) {
        leader = &sample;
      }
    }
    if (own == nullptr) return;
    std::string line =
        std::string(node.text()) + " was " + role_text(*own) + " at " + format_point(own->time);
    if (leader != nullptr && leader->node != node) {
      line += "; " + std::string(leader->node.text()) + " was " + role_text(*leader) + " at " +
              format_point(leader->time);
    }
    lines.push_back(line);
  }
  static std::string role_text(const StatusSample& sample) {
    if (!sample.reachable()) return "not answering";
    std::string text(sample.role);
    if (sample.term >= 0) text += " of term " + std::to_string(sample.term);
    return text;
  }

  void add_what_counts(std::vector<std::string>& lines) const {
    if (proof_) {
      lines.push_back("whatever the value was before " +
                      (proof_->timed()
                           ? exact_point(proof_->operation.invoke_time())
                           : "index " + std::to_string(proof_->operation.invoke_index())) +
                      " makes no difference");
    } else if (core_.start > 0) {
      const uint32_t event = problem_.events[core_.start];
      const Actor first = actor(problem_.ops[event / 2].source);
      const bool is_return = event & 1;
      std::string when = "index " + std::to_string(is_return ? first.operation.return_index()
                                                             : first.operation.invoke_index());
      if (first.timed()) {
        when =
            exact_point(is_return ? first.operation.return_time() : first.operation.invoke_time());
      }
      lines.push_back("whatever the value was before " + when + " makes no difference");
    }
    size_t unknown = 0;
    std::string which;
    for (uint32_t i = 0; i < key_.ops.size(); ++i) {
      const KeyOp& op = key_.ops[i];
      if (op.type != OpType::kInfo || op.f == Call::kRead || !subject_) continue;
      if (op.call > subject_->op.ret) break;
      if ((op.f == Call::kCas ? op.next : op.value) != subject_->op.value) continue;
      if (++unknown == 1) which = actor(i).line();
    }
    if (unknown > 0) {
      lines.push_back(count(unknown, "operation") + " of unknown outcome would make it " +
                      subject_->value() + " (" + (unknown == 1 ? "" : "the first: ") + which +
                      "): taken as happening at any time after its start, or never");
    }
    if (!core_.minimal) lines.push_back("the budget ended before the smallest set was found");
  }

  const History& history_;
  const KeyHistory& key_;
  const Problem& problem_;
  const Core& core_;
  size_t untold_ = 0;  // operations of the core
  const Surroundings& around_;
  std::vector<Actor> actors_;
  std::optional<Actor> subject_;
  std::optional<Actor> proof_;  // with the subject a proof, though not of the core
  std::string anomaly_;
  std::string headline_;
  std::vector<uint32_t> context_;  // operations to show if there is room
  std::vector<std::string> remarks_;
};

}  // namespace

Story tell(const History& history, const KeyHistory& key, const Problem& problem, const Core& core,
           const Surroundings& surroundings) {
  return Teller(history, key, problem, core, surroundings).tell();
}

std::string exact_point(Nanos t) {
  const int64_t ms = (t.count + 500'000) / 1'000'000;
  std::string digits = std::to_string(ms % 1'000);
  digits.insert(0, 3 - digits.size(), '0');
  return std::to_string(ms / 1'000) + "." + digits + " s";
}

std::string rests_on_comparison(const Operation& operation) {
  return "rests on operation " + std::to_string(operation.invoke_index()) +
         " having found another value: a CAS that failed without comparing says so by its "
         "\"error\", or --failed-cas ignore by the history";
}

std::string rests_on_failure(const Operation& operation) {
  std::string error(operation.error_class().text());
  if (!operation.error_text().empty()) error += ": " + std::string(operation.error_text());
  return "rests on operation " + std::to_string(operation.invoke_index()) +
         " being a definite failure" + (error.empty() ? "" : " (error: " + error + ")") +
         ": if it may have happened, all is explained; look there first";
}

}  // namespace assay::linearizable
