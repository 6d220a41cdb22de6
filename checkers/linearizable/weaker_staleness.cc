#include <algorithm>

#include "checkers/linearizable/unique.h"
#include "checkers/linearizable/weaker.h"

namespace assay::linearizable {
namespace {

struct Moment {
  int64_t time;
  bool is_shifted = false;  // earlier by the age that is tried
  uint32_t op;
  bool is_return;
};

class Ages {
 public:
  Ages(const History& history, const KeyHistory& key) : key_(key) {
    for (uint32_t i = 0; i < key.ops.size(); ++i) {
      const KeyOp& op = key.ops[i];
      if (op.f == Call::kRead && op.type != OpType::kOk) continue;
      const Operation operation = history[op.id];
      lines_.emplace_back(op.call, Moment{operation.invoke_time().count, op.is_read(), i, false});
      if (op.ret == kOpen) continue;
      lines_.emplace_back(op.ret, Moment{operation.return_time().count, false, i, true});
    }
    std::sort(lines_.begin(), lines_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    timed_ = history.end_time().count > static_cast<int64_t>(history.events()) &&
             std::is_sorted(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) {
               return a.second.time < b.second.time;
             });
    if (timed_) return;
    for (auto& [position, moment] : lines_) moment.time = position;
  }

  bool empty() const { return lines_.empty(); }
  bool timed() const { return timed_; }
  int64_t length() const { return lines_.back().second.time - lines_.front().second.time; }

  // The key with each read begun so much earlier, and before all else of that moment.
  KeyHistory with(int64_t age) const {
    std::vector<Moment> moments;
    for (const auto& [position, moment] : lines_) {
      moments.push_back(moment);
      if (moment.is_shifted) moments.back().time -= age;
    }
    std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
      return std::pair(a.time, !a.is_shifted) < std::pair(b.time, !b.is_shifted);
    });
    KeyHistory shifted{.key = key_.key, .conventions = key_.conventions, .ops = {}};
    std::vector<uint32_t> at(key_.ops.size());
    for (Position p = 0; p < moments.size(); ++p) {
      const Moment& moment = moments[p];
      if (moment.is_return) {
        shifted.ops[at[moment.op]].ret = p;
        continue;
      }
      at[moment.op] = static_cast<uint32_t>(shifted.ops.size());
      shifted.ops.push_back(key_.ops[moment.op]);
      shifted.ops.back().call = p;
      shifted.ops.back().ret = kOpen;
    }
    return shifted;
  }

 private:
  const KeyHistory& key_;
  std::vector<std::pair<Position, Moment>> lines_;
  bool timed_ = false;
};

// Keys that need no search are quick, however long.
bool is_quick(const KeyHistory& key) {
  constexpr size_t kSearchedMax = 5'000;  // operations
  Unique unique(key.conventions, key.ops.size());
  return key.ops.size() <= kSearchedMax ||
         std::all_of(key.ops.begin(), key.ops.end(),
                     [&](const KeyOp& op) { return unique.add(op); });
}

}  // namespace

Staleness staleness(const History& history, const KeyHistory& key, uint64_t& work_max,
                    const std::function<bool()>& exhausted) {
  constexpr uint64_t kWorkOnce = 1'000'000;  // of a search
  constexpr int64_t kParts = 1'000;          // the bound is exact to one of so many
  const Ages ages(history, key);
  Staleness found{.timed = ages.timed(), .order = {}};
  if (ages.empty() || !is_quick(key)) return found;
  auto judge = [&](int64_t age, bool want_order = false) {
    if (work_max < key.ops.size()) return Outcome::kUnknown;
    const KeyHistory aged = ages.with(age);
    JudgeOptions options{.search = {}, .want_order = want_order};
    options.search.work_max = kWorkOnce;
    options.search.exhausted = exhausted;
    const KeyResult result = judge_key(aged, options);
    work_max -= std::min(work_max, key.ops.size() + result.found.counters.work);
    if (result.found.outcome == Outcome::kInvalid) found.more_than = Nanos{age};
    for (uint32_t op : result.order) found.order.push_back(aged.ops[op].id);
    return result.found.outcome;
  };
  // Long ages are hard where values repeat: upwards, until one explains the key.
  int64_t tried = 0, explained = ages.timed() ? 1'000'000 : 4;
  for (;; tried = explained, explained *= 4) {
    explained = std::min(explained, ages.length() + 1);
    const Outcome outcome = judge(explained);
    if (outcome == Outcome::kValid) break;
    if (explained <= ages.length()) continue;
    found.bounded = outcome == Outcome::kInvalid ? Kept::kNo : Kept::kUnknown;
    return found;
  }
  const int64_t exact = ages.timed() ? 1'000 : 1;
  while (explained - tried > std::max(exact, explained / kParts)) {
    const int64_t age = tried + (explained - tried) / 2;
    (judge(age) == Outcome::kValid ? explained : tried) = age;
  }
  found.bounded = Kept::kYes;
  found.at_most = Nanos{explained};
  judge(explained, true);
  return found;
}

}  // namespace assay::linearizable
