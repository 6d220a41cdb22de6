#include "harness/certify/suite.h"

#include <algorithm>
#include <array>

#include "harness/plan.h"
#include "targets/target.h"

namespace assay {
namespace {

// One kind of run of a profile.
struct Scenario {
  const char* workload;
  const char* faults;
  bool in_quick = true;
  int longer = 1;  // than the profile says
  // Quick plays it with each kind of token too: these speak for V2 to V5.
  bool kinds_in_quick = false;
};
// The many short runs beat few long ones (etcd's experience): each is one workload under the faults
// that threaten what it looks at.
constexpr Scenario kScenarios[] = {
    {"register", "partition,pause,kill"},
    {"set", "partition,pause,kill"},
    {"field-ownership", "partition,pause", true, 1, true},
    {"counter", "partition,kill", true, 1, true},
    {"aba", "kill,partition", true, 1, true},
    {"bank", "partition,pause"},
    {"unique-names", "partition,pause"},
    {"controller", "partition,pause"},
    {"watch", "partition,kill", true, 2},
    {"lock-with-fencing", "partition,pause"},
    {"cas-versioned", "partition,pause,kill", false},
    {"append", "partition,kill", false},
    {"ref-update", "partition,pause", false},
    {"leader-election", "partition,pause", false},
    {"field-ownership", "none", false},
};

// The bundled store with one step left out: it must be convicted under the same spec, or the suite
// could not have found the like in the target.
struct CanaryRun {
  const char* target;
  const char* workload;
  const char* faults;
  const char* clause;
};
constexpr CanaryRun kCanaries[] = {
    {"naive-timeout-failover", "set", "partition,pause", "H3"},
    {"naive-local-reads", "register", "partition,pause", "H4"},
    {"naive-content-hash", "aba", "kill,partition", "V2"},
    {"naive-last-writer-wins", "field-ownership", "partition,pause", "V4"},
    {"naive-watch-from-now", "watch", "partition,kill", "watch"},
};

struct Profile {
  const char* name;
  int nodes;
  const char* time_limit;
  const char* fault_duration;
  const char* interval;
  const char* rate;
  int seeds;
  bool quick;
};
constexpr Profile kProfiles[] = {
    {"quick", 3, "9s", "1s", "2500ms", "400", 1, true},
    {"release", 5, "20s", "2s", "4s", "600", 4, false},
    {"nightly", 5, "30s", "3s", "6s", "800", 2, false},
};

const Profile* find_profile(const std::string& name) {
  for (const Profile& profile : kProfiles)
    if (profile.name == name) return &profile;
  return nullptr;
}

class SuiteMaker {
 public:
  SuiteMaker(const CertifyRequest& request, const Profile& profile, int round)
      : request_(request), profile_(profile), round_(round) {}

  Result<Suite> make() {
    auto info = load_target(request_.target);
    if (!info) return info.error();
    fixed_workload_ = info->workload;
    take_token_kinds(*info);
    TestSpec spec;  // what is asked wrongly is no reason to leave everything out
    spec.target = request_.target;
    spec.set = request_.settings;
    spec.nodes = request_.nodes.value_or(profile_.nodes);
    if (auto plan = make_trial_plan(spec); !plan) return plan.error();
    for (int i = 0; i < profile_.seeds; ++i) {
      seed_ = (request_.seed + static_cast<uint64_t>(round_ * profile_.seeds + i)) & INT64_MAX;
      for (const Scenario& scenario : kScenarios)
        if (scenario.in_quick || !profile_.quick)
          if (auto added = add(request_.target, scenario, ""); !added) return added.error();
      if (!fixed_workload_.empty())
        if (auto added = add(request_.target, {fixed_workload_.c_str(), "none"}, ""); !added)
          return added.error();
    }
    if (round_ == 0 && !is_naive() && request_.contract == "strong")
      if (auto added = add_canaries(); !added) return added.error();
    keep_shard();
    return std::move(suite_);
  }

 private:
  // What is wrong on purpose is not asked whether it is so with each kind.
  void take_token_kinds(const TargetInfo& info) {
    if (info.token_kinds.size() < 2 || is_naive() || request_.contract != "strong") return;
    const auto set = request_.settings.find(token_option());
    suite_.token_kinds = info.token_kinds;
    auto& kinds = suite_.token_kinds;
    const auto chosen = set == request_.settings.end() ? kinds.begin() : std::find(kinds.begin(), kinds.end(), set->second);
    if (chosen != kinds.end()) std::rotate(kinds.begin(), chosen, chosen + 1);
  }
  std::string token_option() const { return request_.target + ".token"; }
  bool is_naive() const { return request_.target.starts_with("naive-"); }

  Result<void> add_canaries() {
    seed_ = request_.seed;
    for (const CanaryRun& canary : kCanaries)
      if (auto added = add(canary.target, {canary.workload, canary.faults}, canary.clause); !added)
        return added;
    return {};
  }

  TestSpec base(const std::string& target, const std::string& workload) const {
    TestSpec spec;
    spec.target = target;
    spec.workload = workload;
    spec.nodes = request_.nodes.value_or(profile_.nodes);
    const std::pair<const char*, std::string> options[] = {{"time-limit", profile_.time_limit},
                                                           {"fault-duration", profile_.fault_duration},
                                                           {"nemesis-interval", profile_.interval},
                                                           {"rate", profile_.rate},
                                                           {"contract", request_.contract},
                                                           {"deadline", "3m"}};
    for (const auto& [name, value] : options) (void)set_option(spec, name, value);
    if (!request_.net.empty()) (void)set_option(spec, "net", request_.net);
    spec.hosts = request_.hosts;
    spec.seed = seed_;
    spec.bin_dir = request_.bin_dir;
    return spec;
  }

  // One workload under the faults of the list that are possible; a lock's targets are the bundled
  // store with that workload, and are the bundled store for all others.
  Result<void> add(const std::string& target, const Scenario& scenario, const std::string& canary_of) {
    const std::string workload = scenario.workload, faults = scenario.faults;
    const bool of_lock = !fixed_workload_.empty() && canary_of.empty();
    const std::string real = of_lock && workload != fixed_workload_ ? "raft" : target;
    TestSpec spec = base(real, workload);
    spec.time_limit = spec.time_limit * scenario.longer;
    if (canary_of.empty() && real == request_.target) spec.set = request_.settings;
    spec.fail_fast = !canary_of.empty() && workload == "register";
    std::string possible;
    for (size_t at = 0; at < faults.size();) {
      const size_t end = std::min(faults.find(',', at), faults.size());
      const std::string fault = faults.substr(at, end - at);
      at = end + 1;
      if (fault != "none" && !is_possible(spec, fault)) continue;
      possible += (possible.empty() ? "" : ",") + fault;
    }
    if (auto set = set_option(spec, "nemesis", possible.empty() ? "none" : possible); !set)
      return set;
    auto plan = make_plan(spec);
    if (!plan) {
      leave_out(workload, plan.error().message);
      return {};
    }
    const std::string kind = possible.empty() ? "none" : possible;
    std::string id = (canary_of.empty() ? "" : "canary-" + target + "-") + workload + "-" + kind + "-" +
                     std::to_string(seed_);
    std::replace(id.begin(), id.end(), ',', '+');
    if (!canary_of.empty() || suite_.token_kinds.empty()) {
      suite_.cells.push_back({{std::move(id), std::move(spec)}, canary_of, ""});
      return {};
    }
    add_with_each_kind(id, spec, plan->load->guarded() && (scenario.kinds_in_quick || !profile_.quick));
    return {};
  }

  // The others where tokens are compared: the same but for that.
  void add_with_each_kind(const std::string& id, const TestSpec& spec, bool compared) {
    for (const std::string& kind : suite_.token_kinds) {
      const bool usual = kind == suite_.token_kinds.front();
      if (!usual && !compared) continue;
      SuiteCell cell{{usual ? id : id + "-" + kind, spec}, "", kind};
      if (!usual) cell.cell.spec.set[token_option()] = kind;
      suite_.cells.push_back(std::move(cell));
    }
  }

  bool is_possible(TestSpec spec, const std::string& fault) {
    spec.workload = fixed_workload_.empty() || spec.target != request_.target ? "register" : fixed_workload_;
    (void)set_option(spec, "nemesis", "none");
    if (!make_plan(spec)) spec.workload = "field-ownership";
    (void)set_option(spec, "nemesis", fault);
    auto plan = make_plan(spec);
    if (plan) return true;
    auto& excluded = suite_.excluded_faults;
    if (std::find(excluded.begin(), excluded.end(), fault) == excluded.end()) {
      excluded.push_back(fault);
      suite_.exclusions.push_back(fault + ": " + plan.error().message);
    }
    return false;
  }

  void leave_out(const std::string& workload, const std::string& why) {
    const std::string line = "workload " + workload + ": " + why;
    auto& lines = suite_.exclusions;
    if (std::find(lines.begin(), lines.end(), line) != lines.end()) return;
    lines.push_back(line);
    if (workload == "watch") suite_.not_claimed.push_back("watch");
  }

  void keep_shard() {
    std::vector<SuiteCell> kept;
    for (size_t i = 0; i < suite_.cells.size(); ++i)
      if (static_cast<int>(i) % request_.shards == request_.shard - 1)
        kept.push_back(std::move(suite_.cells[i]));
    suite_.cells = std::move(kept);
  }

  const CertifyRequest& request_;
  const Profile& profile_;
  const int round_;
  uint64_t seed_ = 0;
  std::string fixed_workload_;
  Suite suite_;
};

// Rows: N1 … N9. F, p, B and - as contracts.md has them; "?" where it depends (p/F, p*, F*).
struct ExpectedRow {
  const char* target;
  const char* marks;  // V1 V2 V3 V4 V5 watch H1 H2 H3 H4 H5
};
constexpr std::array kColumns = {"V1", "V2", "V3", "V4", "V5", "watch", "H1", "H2", "H3", "H4", "H5"};
constexpr ExpectedRow kExpected[] = {
    {"naive-broadcast-copies", "FFFF-FFFFFF"},
    {"naive-both-sides-accept", "FFFF-FF?FFF"},
    {"naive-timeout-failover", "FFFF-FF?FFF"},
    {"naive-reachable-group", "FFFF-FF?FFF"},
    {"naive-last-writer-wins", "ppFFFpppppp"},
    {"naive-lock-without-timeout", "pp-pBpppppp"},
    {"naive-lock-with-timeout", "pp-F-ppppFp"},
    {"naive-local-reads", "ppppp?p?pFp"},
    {"naive-unversioned", "pFFFFFppppp"},
};

}  // namespace

Result<Suite> make_suite(const CertifyRequest& request, int round) {
  const Profile* profile = find_profile(request.profile);
  if (!profile)
    return input_error("unknown profile \"" + request.profile + "\": expected quick, release or nightly");
  return SuiteMaker(request, *profile, round).make();
}

std::string expected_of(std::string_view target, std::string_view clause) {
  for (const ExpectedRow& row : kExpected) {
    if (row.target != target) continue;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      if (kColumns[i] != clause) continue;
      switch (row.marks[i]) {
        case 'F': return "invalid";
        case 'p': return "valid";
        case 'B': return "blocked";
        default: return "";
      }
    }
  }
  return "";
}

const std::vector<std::string>& naive_designs() {
  static const std::vector<std::string> designs = [] {
    std::vector<std::string> names;
    for (const ExpectedRow& row : kExpected) names.emplace_back(row.target);
    return names;
  }();
  return designs;
}

}  // namespace assay
