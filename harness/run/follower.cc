#include "harness/run/follower.h"

#include <algorithm>

namespace assay {

Follower::Follower(HistoryHeader header, std::function<Nanos()> clock,
                   std::function<bool()> stopping, FollowerOptions options)
    : header_(std::move(header)),
      clock_(std::move(clock)),
      stopping_(std::move(stopping)),
      options_(options) {}

void Follower::take(Op line) {
  now_ = std::max(now_, line.time);
  (line.key.empty() ? some_not_ : some_keyed_) = true;
  if (left_out_.contains(line.key)) return;
  Key& key = keys_[line.key];
  // Only an answer can show more than there was.
  if (!key.changed && (line.type == OpType::kOk || line.type == OpType::kFail)) {
    key.changed = true;
    changed_.push_back(line.key);
  }
  key.lines.push_back(std::move(line));
  ++lines_;
}

void Follower::lose(Symbol key) {
  (key.empty() ? some_not_ : some_keyed_) = true;
  leave_out(key);
}

void Follower::leave_out(Symbol key) {
  left_out_.insert(key);
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  lines_ -= found->second.lines.size();
  keys_.erase(found);
}

// The longest idle first, where there are too many lines.
void Follower::forget_idle() {
  std::vector<std::pair<Nanos, Symbol>> keys;
  for (const auto& [key, kept] : keys_) keys.emplace_back(kept.lines.back().time, key);
  std::sort(keys.begin(), keys.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [last, key] : keys) {
    if (now_ - last < options_.idle_max && lines_ <= options_.lines_max) return;
    leave_out(key);
  }
}

std::optional<ProvenAnomaly> Follower::look() {
  const std::vector<Symbol> changed = std::move(changed_);
  changed_.clear();
  // Operations without a key may concern any: there are no keys to be judged apart.
  const bool apart = !(some_keyed_ && some_not_);
  for (Symbol key : changed) {
    if (!apart || stopping_()) break;
    const auto found = keys_.find(key);
    if (found == keys_.end()) continue;
    found->second.changed = false;
    if (auto proof = look_at(key)) return proof;
  }
  forget_idle();
  return std::nullopt;
}

std::optional<ProvenAnomaly> Follower::look_at(Symbol key) {
  const std::vector<Op>& lines = keys_[key].lines;
  const Checker* checker = refuting(lines, lines.size());
  if (checker == nullptr) {
    if (too_long_) leave_out(key);
    return std::nullopt;
  }
  // The shortest prefix that is invalid: all longer ones are.
  size_t valid = 0, invalid = lines.size();
  while (invalid - valid > 1) {
    const size_t middle = valid + (invalid - valid) / 2;
    const Checker* sooner = refuting(lines, middle);
    (sooner == nullptr ? valid : invalid) = middle;
    if (sooner != nullptr) checker = sooner;
  }
  const Op& last = lines[invalid - 1];
  return ProvenAnomaly{std::string(checker->name()), key, last.index, last.time};
}

const Checker* Follower::refuting(const std::vector<Op>& lines, size_t count) {
  too_long_ = false;
  HistoryBuilder builder;
  builder.set_header(header_);
  for (size_t i = 0; i < count; ++i) {
    if (!builder.add(lines[i])) return nullptr;  // it is for the check of the whole to say so
  }
  Budget budget;
  budget.exhausted = [this, until = clock_() + options_.key_max] {
    if (clock_() > until) too_long_ = true;
    return too_long_ || stopping_();
  };
  budget.memory_bytes = 1ull << 28;
  return refuting_checker(builder.build(), budget);
}

}  // namespace assay
