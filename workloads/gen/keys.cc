#include "workloads/gen/keys.h"

#include <algorithm>
#include <utility>

#include "workloads/gen/soonest.h"

namespace assay::gen {
namespace {

// Refused before it could do or see anything: it costs a checker nothing.
bool left_no_trace(const Op& completion) {
  static const Symbol conflict("conflict"), mismatch("mismatch");
  if (completion.type != OpType::kFail || !completion.error) return false;
  return completion.error->cls != conflict && completion.error->cls != mismatch;
}

}  // namespace

ConcurrentKeys::ConcurrentKeys(KeysOptions options, Rng rng, KeyGenerator make)
    : options_(std::move(options)), rng_(rng), make_(std::move(make)) {
  ASSAY_CHECK(options_.group_size > 0 && options_.processes_max >= options_.group_size,
              "groups of %d, %d processes per key", options_.group_size, options_.processes_max);
  ASSAY_CHECK(options_.ops_min > 0 && options_.ops_max >= options_.ops_min,
              "%lld to %lld operations per key", static_cast<long long>(options_.ops_min),
              static_cast<long long>(options_.ops_max));
}

void ConcurrentKeys::set_up(const Context& context) {
  const int workers = context.end - context.begin;
  ASSAY_CHECK(workers > 0 && workers % options_.group_size == 0, "%d workers in groups of %d",
              workers, options_.group_size);
  groups_.resize(static_cast<size_t>(workers / options_.group_size));
  for (Group& group : groups_) group.processes.reserve(static_cast<size_t>(std::min(options_.processes_max, 64)));
  key_number_of_worker_.resize(static_cast<size_t>(workers));
}

Next ConcurrentKeys::next(const Context& context) {
  if (groups_.empty()) set_up(context);
  // The group of the worker that has been idle the longest goes first: no group starves.
  const Worker idlest = context.idlest();
  const int first = idlest == kNoWorker ? 0 : group_of(context, idlest);
  return soonest(static_cast<int>(groups_.size()), first, Fairness::kFirstIfDue, context.now,
                 chosen_,
                 [&](int group) { return next_of(groups_[group], share_of(context, group)); });
}

Next ConcurrentKeys::next_of(Group& group, const Context& share) {
  while (!group.done) {
    const bool fresh = !group.gen;
    if (fresh && !begin_key(group)) break;
    if (group.ops_left > 0) {
      Next next = group.gen->next(share);
      if (next.kind == Next::Kind::kPending) return next;
      if (next.kind == Next::Kind::kOp && admits(group, next.op.process)) {
        if (next.op.key.empty()) next.op.key = group.key;
        return next;
      }
      // A key with nothing to do from the start: so would be the next one.
      if (fresh && next.kind == Next::Kind::kDone) break;
    }
    group.gen.reset();
  }
  group.done = true;
  group.gen.reset();
  return Next::done();
}

bool ConcurrentKeys::begin_key(Group& group) {
  if (options_.keys > 0 && keys_begun_ == options_.keys) return false;
  group.key_number = ++keys_begun_;
  group.key = Symbol(options_.prefix + std::to_string(group.key_number));
  Rng rng = rng_.stream(group.key.text());
  group.ops_left = rng.between(options_.ops_min, options_.ops_max);
  group.processes.clear();
  group.gen = make_(group.key, rng);
  return true;
}

bool ConcurrentKeys::admits(const Group& group, Process process) const {
  return group.processes.size() < static_cast<size_t>(options_.processes_max) ||
         std::find(group.processes.begin(), group.processes.end(), process) !=
             group.processes.end();
}

void ConcurrentKeys::taken(const Context& context, const Next& next) {
  Group& group = groups_[chosen_];
  --group.ops_left;
  auto& processes = group.processes;
  if (std::find(processes.begin(), processes.end(), next.op.process) == processes.end()) {
    processes.push_back(next.op.process);
  }
  group.last_key_number = group.key_number;
  group.last_key = group.key;
  key_number_of_worker_[next.worker - context.begin] = group.key_number;
  group.gen->taken(share_of(context, chosen_), next);
}

void ConcurrentKeys::update(const Context& context, Worker worker, const Op& completion) {
  if (groups_.empty() || worker < context.begin || worker >= context.end) return;
  const int index = group_of(context, worker);
  Group& group = groups_[index];
  const bool of_this_key = key_number_of_worker_[worker - context.begin] == group.key_number;
  if (group.gen && of_this_key) {
    if (left_no_trace(completion)) ++group.ops_left;
    group.gen->update(share_of(context, index), worker, completion);
  }
}

std::vector<Symbol> ConcurrentKeys::keys_in_use() const {
  std::vector<std::pair<int64_t, Symbol>> last;
  for (const Group& group : groups_) {
    if (group.last_key_number > 0) last.emplace_back(group.last_key_number, group.last_key);
  }
  std::sort(last.begin(), last.end(), [](auto& a, auto& b) { return a.first > b.first; });
  std::vector<Symbol> keys;
  for (const auto& [number, key] : last) keys.push_back(key);
  return keys;
}

Context ConcurrentKeys::share_of(const Context& context, int group) const {
  const Worker begin = context.begin + group * options_.group_size;
  return context.within(begin, begin + options_.group_size);
}

}  // namespace assay::gen
