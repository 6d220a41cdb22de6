#include "checkers/linearizable/unclaimed_reads.h"

#include <algorithm>

#include "checkers/facts.h"
#include "checkers/words.h"

namespace assay::linearizable {
namespace {

// When the values of a key were first under way.
class Makers {
 public:
  explicit Makers(const KeyHistory& key) : initial_(key.conventions.initial) {
    for (const KeyOp& op : key.ops) {
      if (op.may_produce()) calls_.emplace_back(op.produced(), op.call);
    }
    std::sort(calls_.begin(), calls_.end());
  }
  bool may_be(const Scalar& value, Position before) const {
    if (value == initial_) return true;
    const auto first = std::lower_bound(calls_.begin(), calls_.end(), std::pair(value, Position{}));
    return first != calls_.end() && first->first == value && first->second < before;
  }

 private:
  const Scalar initial_;
  std::vector<std::pair<Scalar, Position>> calls_;
};

bool says_something(const KeyOp& op, const Conventions& conventions) {
  return op.f == Call::kRead && op.type == OpType::kOk &&
         (conventions.null_read_is_value || op.value != Scalar{});
}

// The first failure that would have made the value in time, had it been none.
std::string whose_word(const History& history, const KeyHistory& key, const KeyOp& read) {
  for (const KeyOp& op : key.ops) {
    if (op.f == Call::kRead || op.type != OpType::kFail || op.produced() != read.value) continue;
    if (op.call > read.ret) break;
    return rests_on_failure(history[op.id]);
  }
  return "independent of your error mapping: no failed operation would have made the value";
}

}  // namespace

void UnclaimedReads::add(const UnclaimedReads& other) {
  judged += other.judged;
  telling += other.telling;
  thin_air += other.thin_air;
}

UnclaimedReads judge_values(const History& history, const KeyGroup& group) {
  const KeyHistory key = key_history(history, group, Reads::kAll);
  const Makers makers(key);
  UnclaimedReads reads;
  Position first_return = kOpen;
  for (const KeyOp& op : key.ops) {
    if (!says_something(op, key.conventions)) continue;
    ++reads.judged;
    reads.telling += op.value != key.conventions.initial;
    if (makers.may_be(op.value, op.ret)) continue;
    ++reads.thin_air;
    if (op.ret >= first_return) continue;
    first_return = op.ret;
    reads.first = op.id;
  }
  return reads;
}

ThinAir tell_thin_air(const History& history, const KeyGroup& group, uint32_t read,
                      const Surroundings& surroundings) {
  KeyHistory key = key_history(history, group, Reads::kAll);
  std::erase_if(key.ops, [&](const KeyOp& op) { return op.f == Call::kRead && op.id != read; });
  const auto at = std::find_if(key.ops.begin(), key.ops.end(),
                               [&](const KeyOp& op) { return op.f == Call::kRead; });
  const Core core{.ops = {static_cast<uint32_t>(at - key.ops.begin())}};
  ThinAir told{.story = tell(history, key, prepare(key), core, surroundings),
               .rests_on = whose_word(history, key, *at),
               .last = at->ret};
  told.story.witness.lines.push_back(told.rests_on);
  return told;
}

void add_claims(std::string_view claim, const UnclaimedReads& reads, Verdict& verdict) {
  const std::string number = grouped(static_cast<int64_t>(reads.judged));
  verdict.facts.emplace_back(
      fact::kNotClaimed,
      "linearizable reads are not claimed: " +
          (reads.judged == 0 ? "none was answered"
                             : number + (reads.judged == 1 ? " read is" : " reads are") +
                                   " judged only for values that nobody wrote"));
  if (claim == "sequential") {
    verdict.facts.emplace_back(
        fact::kNotTested,
        "sequential reads: whether each process sees the changes in one order is not checked");
  }
  verdict.facts.emplace_back(fact::kConvention,
                             "reads are " + std::string(claim) +
                                 ", as the target claims: only the changes must fit one order");
  if (reads.telling > 0) {
    verdict.facts.emplace_back(
        fact::kCouldHaveBeenCaught,
        "reads of values that nobody wrote: " + grouped(static_cast<int64_t>(reads.telling)) +
            " found a value other than the initial one, and were judged for that");
  }
  verdict.counts.emplace_back("reads not claimed", static_cast<int64_t>(reads.judged));
}

std::string found_sentence(const UnclaimedReads& reads) {
  if (reads.judged == 1) return "the read found the initial value or one that had been written";
  return "each of " + grouped(static_cast<int64_t>(reads.judged)) +
         " reads found the initial value or one that had been written";
}

}  // namespace assay::linearizable
