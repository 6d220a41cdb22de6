#include "targets/exec/exec_target.h"
#include "targets/memory.h"
#include "targets/naive_policies.h"
#include "targets/naive_target.h"
#include "targets/raft_target.h"
#include "targets/target.h"
#include "targets/third_party/etcd.h"
#include "targets/third_party/etcd_endpoints.h"
#include "targets/third_party/redis.h"

// One line per target, in the order in which they are shown; the naive ones, which are there to be
// convicted, come after them.
#define ASSAY_TARGETS(X)   \
  X(raft_target)           \
  X(etcd_target)           \
  X(etcd_endpoints_target) \
  X(redis_target)          \
  X(memory_target)

namespace assay {

const std::vector<TargetInfo>& all_targets() {
#define ASSAY_ENTRY(make) make(),
  static const std::vector<TargetInfo> targets = [] {
    std::vector<TargetInfo> all = {ASSAY_TARGETS(ASSAY_ENTRY)};
    for (TargetInfo& target : naive_targets()) all.push_back(std::move(target));
    for (TargetInfo& target : naive_policies()) all.push_back(std::move(target));
    return all;
  }();
#undef ASSAY_ENTRY
  return targets;
}

const TargetInfo* find_target(std::string_view name) {
  for (const TargetInfo& target : all_targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

Result<TargetInfo> load_target(const std::string& name) {
  if (const TargetInfo* target = find_target(name)) return *target;
  if (name.find('/') != name.npos || name.ends_with(".json")) {
    auto description = exec::read_description(name);
    if (!description) return description.error();
    return exec::exec_target(std::move(*description));
  }
  std::string known;
  for (const TargetInfo& target : all_targets()) known += target.name + ", ";
  return input_error("unknown target \"" + name + "\": expected one of " + known +
                     "or the description of one such as ./mystore.json");
}

}  // namespace assay
