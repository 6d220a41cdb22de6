#include "checkers/linearizable/weaker.h"

#include <algorithm>

#include "checkers/words.h"

namespace assay::linearizable {
namespace {

constexpr uint64_t kWorkMax = 4'000'000;    // operations judged for the ages of reads, in all
constexpr size_t kSessionsMax = 5'000'000;  // operations looked at for the sessions

// What was found of several keys: one that is broken decides, then one that is not decided.
struct OfKeys {
  Kept kept = Kept::kYes;
  size_t pairs = 0;
  std::optional<std::pair<uint32_t, uint32_t>> by;

  void add(const SessionPromise& promise) {
    pairs += promise.pairs;
    if (!by) by = promise.by;
    if (promise.kept == Kept::kNo || (promise.kept == Kept::kUnknown && kept == Kept::kYes)) {
      kept = promise.kept;
    }
  }
};

struct AllAges {
  Kept bounded = Kept::kYes;
  bool timed = true;
  Nanos more_than{0}, at_most{0};

  void add(const Staleness& found) {
    if (found.bounded == Kept::kNo || (found.bounded == Kept::kUnknown && bounded == Kept::kYes)) {
      bounded = found.bounded;
    }
    timed &= found.timed;
    more_than = std::max(more_than, found.more_than);
    at_most = std::max(at_most, found.at_most);
  }
};

// Rounded up or down, so that "at most" and "more than" stay true.
std::string duration_text(Nanos time, bool up) {
  auto in = [&](int64_t unit) { return (time.count + (up ? unit - 1 : 0)) / unit; };
  auto fraction = [](int64_t whole, int64_t parts) {
    std::string digits = std::to_string(parts + whole % parts).substr(1);
    return std::to_string(whole / parts) + "." + digits;
  };
  if (time < milliseconds(1)) return std::to_string(in(1'000)) + " us";
  if (time < milliseconds(10)) return fraction(in(10'000), 100) + " ms";
  if (time < seconds(10)) return std::to_string(in(1'000'000)) + " ms";
  return fraction(in(100'000'000), 10) + " s";
}

std::string process_of(const Operation& operation) {
  return "p" + std::to_string(operation.process().id);
}
std::string seen(const Operation& operation) {
  const std::string at = " (index " + std::to_string(operation.invoke_index()) + ")";
  if (operation.f() == f::read) return "read " + operation.result().to_json() + at;
  if (operation.f() == f::delete_) return "deleted it" + at;
  if (operation.f() == f::write) return "wrote " + operation.argument().to_json() + at;
  const Value change = operation.argument();
  return "changed " + change.as_array()[0].to_json() + " to " + change.as_array()[1].to_json() + at;
}

std::string undecided_sentence(const std::string& promise, size_t undecided) {
  return promise + " not decided: " +
         (undecided > 0 ? counted(undecided, "key was", "keys were") + " not decided either"
                        : "values are written more than once");
}

std::string session_sentence(const History& history, const std::string& promise,
                             const std::string& broken_by_none, const OfKeys& found,
                             size_t undecided) {
  if (found.by) {
    const Operation first = history[found.by->first], then = history[found.by->second];
    return promise + " broken: " + process_of(first) + " " + seen(first) + ", and then " +
           seen(then) + ", which was older";
  }
  if (found.kept == Kept::kNo) {
    return promise + " broken: processes saw the values in orders that contradict each other";
  }
  if (found.kept == Kept::kUnknown || undecided > 0) return undecided_sentence(promise, undecided);
  return promise + " kept: " + broken_by_none;
}

std::string age_sentence(const AllAges& found, size_t undecided) {
  const std::string promise = "bounded staleness:";
  const bool some = found.more_than.count > 0;
  const std::string more = "some read is more than " +
                           duration_text(found.more_than, false) + " stale";
  if (found.bounded == Kept::kNo) {
    return promise + " broken: however old what the reads found may be, no order explains all";
  }
  if (found.bounded == Kept::kUnknown) return promise + (some ? " no bound found; " + more : " not decided");
  const std::string most = "reads are at most " +
                           duration_text(found.at_most, true) + " stale";
  return promise + " kept: " + most + (undecided > 0 ? " on the keys that were decided" : "") +
         (some ? ", and " + more : "");
}

size_t operations_of(const std::vector<const KeyGroup*>& groups) {
  size_t all = 0;
  for (const KeyGroup* group : groups) all += group->ids.size();
  return all;
}

}  // namespace

std::vector<std::string> weaker_promises(const History& history,
                                         const std::vector<const KeyGroup*>& invalid,
                                         size_t undecided, const std::function<bool()>& exhausted) {
  if (operations_of(invalid) > kSessionsMax) return {};
  OfKeys reads, writes;
  AllAges ages;
  uint64_t work = kWorkMax;
  for (const KeyGroup* group : invalid) {
    const KeyHistory key = key_history(history, *group);
    const Staleness aged = staleness(history, key, work, exhausted);
    const auto follows = [&](SessionPromise promise, bool own_writes) {
      if (promise.kept == Kept::kUnknown && follows_sessions(history, key, aged.order, own_writes)) {
        promise.kept = Kept::kYes;
      }
      return promise;
    };
    reads.add(follows(monotonic_reads(history, key), false));
    writes.add(follows(read_your_writes(history, key), true));
    ages.add(aged);
  }
  std::vector<std::string> sentences = {
      session_sentence(history, "monotonic reads:",
                       "no process read an older value after a newer one", reads, undecided),
      session_sentence(history, "read your writes:",
                       "no process read a value older than one that it had written", writes,
                       undecided)};
  if (ages.timed) sentences.push_back(age_sentence(ages, undecided));
  return sentences;
}

}  // namespace assay::linearizable
