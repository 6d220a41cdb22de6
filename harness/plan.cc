#include "harness/plan.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include "harness/swarm.h"
#include "nemesis/own.h"
#include "nemesis/victims.h"

namespace assay {
namespace {

constexpr int kNodes = 5;
constexpr int kGroupSize = 10;
constexpr const char* kWorkload = "register";

std::string names_of(const auto& items, auto name) {
  std::string names;
  for (const auto& item : items) {
    if (!names.empty()) names += ", ";
    names += name(item);
  }
  return names;
}

Error unknown(const std::string& what, const std::string& name, const std::string& known) {
  return input_error("unknown " + what + " \"" + name + "\": expected one of " + known);
}

// A target that has a workload of its own is run with no other.
Result<void> choose_workload(Plan& plan, const TargetInfo& info) {
  std::string& workload = plan.spec.workload;
  const std::string& only = info.workload;
  if (workload.empty()) workload = only.empty() ? kWorkload : only;
  if (only.empty() || workload == only) return {};
  return input_error("the target \"" + info.name + "\" is run with the workload \"" + only +
                     "\" alone, found \"" + workload + "\"");
}

Result<const Workload*> look_up_workload(const TestSpec& spec) {
  const Workload* workload = find_workload(spec.workload);
  if (workload) return workload;
  return unknown("workload", spec.workload, names_of(all_workloads(), [](const Workload* w) {
                   return std::string(w->name());
                 }));
}

// Every option of the target with its default, and what `--set` says over it.
Result<TargetInfo::Settings> settings_of(const TestSpec& spec, const TargetInfo& info) {
  TargetInfo::Settings settings;
  for (const TargetOption& option : info.options)
    settings.emplace_back(option.name, option.fallback);
  const std::string prefix = info.name + ".";
  for (const auto& [set, value] : spec.set) {
    const std::string& path = set;                        // clang captures no structured binding
    if (path.starts_with(spec.workload + ".")) continue;  // workload_settings_of
    if (find_nemesis(path.substr(0, path.find('.')))) continue;  // fault_settings_of
    const bool ours = path.starts_with(prefix);
    const auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
      return ours && setting.first == path.substr(prefix.size());
    });
    if (found == settings.end()) {
      return unknown("setting", path, names_of(info.options, [&](const TargetOption& o) {
                       return prefix + o.name;
                     }));
    }
    found->second = value;
  }
  return settings;
}

// What `--set workload.option=value` says.
Result<std::map<std::string, std::string>> workload_settings_of(const TestSpec& spec,
                                                                const Workload& workload) {
  std::map<std::string, std::string> settings;
  const std::string prefix = spec.workload + ".";
  const auto known = workload.options();
  for (const auto& [path, value] : spec.set) {
    if (!path.starts_with(prefix)) continue;
    const std::string name = path.substr(prefix.size());
    if (std::none_of(known.begin(), known.end(), [&](const auto& o) { return o.name == name; }))
      return unknown("setting", path,
                     known.empty() ? "those of the target: the workload has none"
                                   : names_of(known, [&](const WorkloadOption& o) {
                                       return prefix + o.name;
                                     }));
    settings[name] = value;
  }
  return settings;
}

// What `--set nemesis.option=value` says.
Result<std::map<std::string, std::string>> fault_settings_of(const TestSpec& spec,
                                                             const Nemesis& nemesis) {
  std::map<std::string, std::string> settings;
  const std::string prefix = std::string(nemesis.kind()) + ".";
  const auto known = nemesis.options();
  for (const auto& [path, value] : spec.set) {
    if (!path.starts_with(prefix)) continue;
    const std::string name = path.substr(prefix.size());
    if (std::none_of(known.begin(), known.end(), [&](const auto& o) { return o.name == name; }))
      return unknown(
          "setting", path,
          known.empty() ? "those of the target: the nemesis has none"
                        : names_of(known, [&](const NemesisOption& o) { return prefix + o.name; }));
    settings[name] = value;
  }
  if (auto accepted = nemesis.accepts(settings); !accepted) return accepted.error();
  return settings;
}

Powers powers_of(const Plan& plan) {
  if (!plan.starts_nodes) return {};
  const bool links = plan.has_links() && plan.layout.nodes.size() > 1;
  Powers powers{
      .kill = true, .pause = true, .cut = links, .run = true, .delay = links, .faults = true};
  const std::string clock = plan.target->claims().clock;
  if (clock.starts_with("no: "))
    powers.absent["clock"] =
        "the clock of " + plan.spec.target + " cannot be skewed: " + clock.substr(4);
  if (links) powers.links = {std::begin(kLinkFaults), std::end(kLinkFaults)};
  return powers;
}

Result<PlannedFault> look_up_fault(const Plan& plan, const FaultSpec& fault) {
  std::vector<const Nemesis*> known = all_nemeses();
  for (const auto& own : plan.own_faults) known.push_back(own.get());
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Nemesis* n) { return n->kind() == fault.kind; });
  if (found == known.end()) {
    return unknown("nemesis", fault.kind, "none, " + names_of(known, [](const Nemesis* n) {
                                            return std::string(n->kind());
                                          }));
  }
  const Nemesis* nemesis = *found;
  const auto shapes = nemesis->shapes();
  for (const std::string& shape : fault.shapes) {
    if (nemesis->takes_nodes() && listed_nodes(shape, plan.layout.nodes)) continue;
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) {
      return unknown("shape or victim of " + fault.kind, shape,
                     names_of(shapes, [](std::string_view s) { return std::string(s); }));
    }
  }
  auto settings = fault_settings_of(plan.spec, *nemesis);
  if (!settings) return settings.error();
  return PlannedFault{nemesis, fault.shapes, std::move(*settings)};
}

// chosen: by the user, who is told where a fault is not possible; else it is left out.
Result<void> plan_faults(Plan& plan, bool chosen) {
  const Powers powers = powers_of(plan);
  const bool survives_kills = plan.in_process || plan.target->claims().durable != "none";
  if (!plan.spec.nemesis) plan.spec.nemesis = {{"partition", {}}, {"pause", {}}, {"kill", {}}};
  for (OwnFault& own : plan.target->faults())
    plan.own_faults.push_back(own_nemesis(std::move(own)));
  std::vector<FaultSpec> used;
  for (const FaultSpec& asked : *plan.spec.nemesis) {
    auto fault = look_up_fault(plan, asked);
    if (!fault) return fault.error();
    if (!chosen && asked.kind == "kill" && !survives_kills) {
      plan.not_tested.push_back("kill: the target " + plan.spec.target +
                                " does not claim to keep its data (with --nemesis it is tested)");
      continue;
    }
    if (fault->nemesis->available(powers)) {
      used.push_back(asked);
      plan.faults.push_back(*fault);
      continue;
    }
    const auto absent = powers.absent.find(std::string(fault->nemesis->node_fault()));
    const std::string why = absent != powers.absent.end() ? absent->second
                            : plan.in_process ? "the target " + plan.spec.target + " has no nodes"
                            : !plan.starts_nodes ? plan.spec.target + " starts no nodes"
                            : plan.layout.nodes.size() == 1
                                ? "one node has no other to be cut off from"
                                : "there is no network between the nodes with --net host";
    if (chosen) return input_error("the nemesis \"" + asked.kind + "\" is not possible: " + why);
    plan.not_tested.push_back(asked.kind + ": " + why);
  }
  plan.spec.nemesis = used;
  for (const auto& [path, value] : plan.spec.set) {
    const std::string kind = path.substr(0, path.find('.'));
    if (find_nemesis(kind) &&
        std::none_of(used.begin(), used.end(), [&](const auto& f) { return f.kind == kind; }))
      return input_error("the setting " + path + " is of no use: --nemesis does not name " + kind);
  }
  for (const auto& own : plan.own_faults) {
    const std::string kind(own->kind());
    if (std::none_of(used.begin(), used.end(), [&](const auto& f) { return f.kind == kind; }))
      plan.not_tested.push_back(kind + ", a fault of the store's own: --nemesis does not name it");
  }
  return {};
}

Result<void> check_vocabulary(const Plan& plan) {
  const auto served = plan.target->ops();
  for (Symbol op : plan.load->ops()) {
    if (std::find(served.begin(), served.end(), op) != served.end()) continue;
    return input_error("the workload \"" + plan.spec.workload + "\" needs the operation \"" +
                       std::string(op.text()) + "\", which the target \"" + plan.spec.target +
                       "\" does not serve");
  }
  // What is claimed of reads is the checkers' affair. A guarded write could not even be sent.
  if (plan.load->guarded() && !plan.target->claims().guarded_write) {
    return input_error("the workload \"" + plan.spec.workload +
                       "\" guards its writes by a token, and the target \"" + plan.spec.target +
                       "\" does not claim guarded writes: none of them could be sent");
  }
  return {};
}

Result<void> plan_workload(Plan& plan) {
  const TestSpec& spec = plan.spec;
  WorkloadOptions options(Rng(plan.seed).stream("workload"));
  for (const NodeInfo& node : plan.layout.nodes) options.nodes.push_back(node.name);
  options.concurrency = plan.concurrency;
  options.group_size = plan.group_size;
  options.keys = spec.keys;
  if (spec.ops_per_key) options.ops_per_key_min = options.ops_per_key_max = *spec.ops_per_key;
  options.processes_per_key = std::max(options.processes_per_key, plan.group_size);
  if (!spec.script.is_null() && spec.workload != "script") {
    return input_error("the spec has a script, and the workload \"" + spec.workload +
                       "\" plays none: expected --workload script");
  }
  options.script = spec.script;
  auto settings = workload_settings_of(spec, *plan.workload);
  if (!settings) return settings.error();
  options.settings = std::move(*settings);
  auto load = plan.workload->start(options);
  if (!load) return load.error();
  plan.load = std::move(*load);
  for (const std::string& remark : plan.load->remarks()) plan.not_tested.push_back(remark);
  return check_vocabulary(plan);
}

void plan_workers(Plan& plan) {
  TestSpec& spec = plan.spec;
  const int nodes = static_cast<int>(plan.layout.nodes.size());
  plan.group_size = std::max(kGroupSize, nodes);
  int wanted = std::max(20, nodes);
  if (spec.concurrency_per_node > 0) wanted = spec.concurrency_per_node * nodes;
  if (spec.concurrency) wanted = *spec.concurrency;
  if (wanted < plan.group_size) plan.group_size = wanted;
  plan.concurrency = (wanted + plan.group_size - 1) / plan.group_size * plan.group_size;
  spec.concurrency = plan.concurrency;
  spec.concurrency_per_node = 0;
}

// Some settings speak of more workers on one key than a group has.
Result<void> widen_groups(Plan& plan, const TestSpec& asked) {
  auto settings = workload_settings_of(plan.spec, *plan.workload);
  if (!settings) return settings.error();
  plan.contends = plan.workload->contends(*settings);
  const int wanted = plan.workload->group_min(*settings);
  if (wanted <= plan.group_size) return {};
  if (asked.concurrency && *asked.concurrency < wanted)
    return input_error("the workload \"" + plan.spec.workload + "\" is to have " +
                       std::to_string(wanted) + " writers on a key, and there are " +
                       std::to_string(*asked.concurrency) + " workers: more concurrency is needed");
  plan.group_size = wanted;
  plan.concurrency = (std::max(plan.concurrency, wanted) + wanted - 1) / wanted * wanted;
  plan.spec.concurrency = plan.concurrency;
  return {};
}

void plan_times(Plan& plan) {
  TestSpec& spec = plan.spec;
  plan.lead_in = std::min(seconds(5), spec.time_limit / 10);
  plan.duration = spec.fault_duration.value_or(std::min(seconds(5), spec.time_limit / 12));
  plan.interval = spec.nemesis_interval.value_or(plan.duration * 2);
  spec.fault_duration = plan.duration;
  spec.nemesis_interval = plan.interval;
}

// As many of the hosts as --nodes asks for, in the file's order.
Result<void> plan_hosts(Plan& plan) {
  if (plan.spec.net == NetMode::kHost)
    return input_error("--net host and --hosts: expected one of the two");
  if (!plan.target->has_daemons())
    return input_error("--hosts: " + plan.spec.target + " starts no nodes");
  auto hosts = read_hosts(plan.spec.hosts);
  if (!hosts) return hosts.error();
  const int known = static_cast<int>(hosts->size());
  const int wanted = plan.spec.nodes.value_or(known);
  if (wanted > known)
    return input_error("--nodes: " + plan.spec.hosts + " names " + std::to_string(known) +
                       " hosts, found " + std::to_string(wanted));
  hosts->resize(wanted);
  plan.hosts = std::move(*hosts);
  plan.spec.nodes = wanted;
  for (int i = 0; i < wanted; ++i) {
    const Host& host = plan.hosts[i];
    plan.layout.nodes.push_back({.index = i, .name = host.name, .address = host.address});
  }
  return plan.target->fits(wanted);
}

Result<void> plan_nodes(Plan& plan) {
  plan.layout.nodes = plan.target->running_nodes();
  plan.starts_nodes = plan.target->has_daemons();
  plan.in_process = !plan.starts_nodes && plan.layout.nodes.empty();
  plan.layout.bin_dir = plan.spec.bin_dir;
  if (!plan.spec.hosts.empty()) return plan_hosts(plan);
  if (const int running = static_cast<int>(plan.layout.nodes.size()); running > 0) {
    if (plan.spec.nodes.value_or(running) != running) {
      return input_error("--nodes: expected " + std::to_string(running) + ", as many as " +
                         plan.spec.target + " is given, found " + std::to_string(*plan.spec.nodes));
    }
    plan.spec.nodes = running;
    plan.spec.net = NetMode::kHost;  // they are not in a network of ours
    return {};
  }
  plan.spec.nodes = plan.spec.nodes.value_or(kNodes);
  for (int i = 0; i < *plan.spec.nodes; ++i) {
    plan.layout.nodes.push_back({.index = i, .name = "n" + std::to_string(i + 1)});
  }
  return plan.target->fits(*plan.spec.nodes);
}

bool asks(const WorkloadRun& load, Symbol op) {
  const auto ops = load.ops();
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// The reads are not among it: the checker that leaves them out says so, with their number.
void note_what_is_not_claimed(Plan& plan) {
  const Claims claims = plan.target->claims();
  if (!claims.guarded_write)
    plan.not_claimed.push_back(
        "guarded writes are not claimed: workloads that need them are not run");
  if (!claims.orderable && !claims.token_kind.empty())
    plan.not_claimed.push_back(
        "an order of tokens (" + claims.token_kind +
        "): they are compared for equality only, and no watch begins at one");
  if (plan.starts_nodes && claims.durable != "sync")
    plan.not_claimed.push_back("acknowledged writes are not claimed to survive power loss");
  if (claims.watch && !asks(*plan.load, f::watch))
    plan.not_tested.push_back("watches: the workload \"watch\" asks for them");
}

void note_what_is_not_tested(Plan& plan) {
  if (plan.in_process) return;
  if (!plan.starts_nodes) {
    for (const char* what : {"power loss", "clocks", "disks", "membership", "exits and logs"})
      plan.not_tested.push_back(std::string(what) + ": " + plan.spec.target + " starts no nodes");
    return;
  }
  const auto& used = *plan.spec.nemesis;
  const auto names = [&](const char* kind) {
    return std::any_of(used.begin(), used.end(), [&](const auto& f) { return f.kind == kind; });
  };
  if (!names("power-loss"))
    plan.not_tested.push_back(
        "power loss: SIGKILL keeps what the kernel has, so a missing fsync is not seen "
        "(--nemesis power-loss)");
  if (plan.spec.script.is_null() &&
      std::none_of(used.begin(), used.end(), [](const auto& f) { return f.kind == "delay"; }))
    plan.not_tested.push_back("slow links: --nemesis does not name delay");
  if (!names("clock")) plan.not_tested.push_back("clocks: the nodes share one clock");
  if (!names("disk-full") && !names("disk-error"))
    plan.not_tested.push_back("disks: no full or failing disk (--nemesis disk-full,disk-error)");
  plan.not_tested.push_back("membership: the members do not change");
}

Value list_of(const auto& items) {
  Value::Array array;
  for (const auto& item : items) array.emplace_back(item);
  return Value::array(std::move(array));
}

// What the target serves and nothing would ask for. A script may delete.
void note_what_nobody_asks_for(Plan& plan) {
  for (Symbol op : plan.target->ops()) {
    const auto asks = [op](const Workload* workload) {
      const auto ops = workload->ops();
      return std::find(ops.begin(), ops.end(), op) != ops.end();
    };
    if (op == f::delete_ || std::any_of(all_workloads().begin(), all_workloads().end(), asks))
      continue;
    plan.not_tested.push_back(std::string(op.text()) + ": no workload asks for it");
  }
}

// The target and its nodes.
Result<Plan> plan_target(const TestSpec& spec) {
  Plan plan;
  plan.spec = spec;
  if (spec.nodes && (*spec.nodes < 1 || *spec.nodes > 64)) {
    return input_error("--nodes: expected 1 to 64, found " + std::to_string(*spec.nodes));
  }
  plan.seed = spec.seed ? *spec.seed : std::random_device{}();
  plan.spec.seed = plan.seed;

  // A description is found again from another folder.
  if (spec.target.find('/') != std::string::npos || spec.target.ends_with(".json"))
    plan.spec.target = std::filesystem::absolute(spec.target).lexically_normal().string();
  auto info = load_target(spec.target);
  if (!info) return info.error();
  if (spec.swarm) plan.spec = draw_swarm(plan.spec, plan.seed, *info);
  if (auto chosen = choose_workload(plan, *info); !chosen) return chosen.error();
  auto settings = settings_of(plan.spec, *info);
  if (!settings) return settings.error();
  plan.settings = std::move(*settings);
  for (const TargetOption& option : info->options) {
    if (!option.canary) continue;
    for (const auto& [name, value] : plan.settings) {
      if (name == option.name && value != option.fallback) plan.canaries.push_back(name);
    }
  }
  auto target = info->make(plan.settings, plan.seed);
  if (!target) return target.error();
  plan.target = std::move(*target);
  for (const auto& [option, value] : plan.target->drawn())
    plan.spec.set[spec.target + "." + option] = value;

  if (auto planned = plan_nodes(plan); !planned) return planned.error();
  plan_workers(plan);
  note_what_nobody_asks_for(plan);
  return plan;
}

}  // namespace

Result<Plan> make_trial_plan(const TestSpec& spec) {
  auto plan = plan_target(spec);
  if (!plan) return plan;
  for (const auto& [path, value] : spec.set)
    if (path.starts_with(plan->spec.workload + "."))
      return unknown("setting", path, "those of the target: no workload is run");
  plan->spec.nemesis = std::vector<FaultSpec>{};
  return plan;
}

Result<Plan> make_plan(const TestSpec& spec) {
  auto planned = plan_target(spec);
  if (!planned) return planned.error();
  Plan plan = std::move(*planned);
  auto workload = look_up_workload(plan.spec);
  if (!workload) return workload.error();
  plan.workload = *workload;
  if (auto widened = widen_groups(plan, spec); !widened) return widened.error();
  if (auto faults = plan_faults(plan, spec.nemesis.has_value()); !faults) return faults.error();
  plan_times(plan);
  if (auto planned = plan_workload(plan); !planned) return planned.error();
  note_what_is_not_claimed(plan);
  note_what_is_not_tested(plan);
  return plan;
}

std::string Plan::faults_name() const {
  std::string name;
  for (const PlannedFault& fault : faults) {
    if (!name.empty()) name += "+";
    name += fault.nemesis->kind();
  }
  return name.empty() ? "none" : name;
}

bool of_weak_contract(std::string_view checker) {
  static const std::vector<std::string_view> asked = {
      "snapshot-reads", "convergence",  "dirty-reads", "stats",
      "non-vacuity",    "availability", "node-exits"};
  return std::find(asked.begin(), asked.end(), checker) != asked.end();
}

std::vector<std::string> Plan::checkers() const {
  std::vector<std::string> all = workload->checkers();
  if (!spec.weak_contract) return all;
  std::erase_if(all, [](const std::string& checker) { return !of_weak_contract(checker); });
  if (std::find(all.begin(), all.end(), "snapshot-reads") == all.end())
    all.insert(all.begin(), "snapshot-reads");
  return all;
}

Value Plan::header() const {
  Value::Object members;
  const auto put = [&](const char* name, Value value) {
    members.emplace_back(Symbol(name), std::move(value));
  };
  put("target", target->name());
  put("workload", spec.workload);
  put("checkers", list_of(checkers()));
  const Value conventions = workload->header();
  std::map<std::string, Value> thresholds;  // the user's before the workload's
  if (conventions.is_object()) {
    for (const auto& [name, value] : conventions.as_object()) {
      if (name != Symbol("thresholds")) {
        members.emplace_back(name, value);
        continue;
      }
      for (const auto& [counter, number] : value.as_object())
        thresholds[std::string(counter.text())] = number;
    }
  }
  if (!contends) thresholds["conflicts_percent"] = Value(0);
  for (const auto& [name, number] : spec.thresholds) thresholds[name] = Value(number);
  const Claims claims = target->claims();
  put("token", claims.orderable ? "orderable" : "opaque");
  if (!claims.token_kind.empty()) put("token_kind", claims.token_kind);
  Value::Object claimed;
  claimed.emplace_back(Symbol("read"), Value(spec.weak_contract ? "stale" : claims.read));
  if (spec.weak_contract) {
    claimed.emplace_back(Symbol("converges"), Value(true));
    claimed.emplace_back(Symbol("own-revisions"), Value(true));
  }
  claimed.emplace_back(Symbol("guarded-write"), Value(claims.guarded_write));
  claimed.emplace_back(Symbol("durable"), Value(claims.durable));
  if (claims.watch) claimed.emplace_back(Symbol("compacts"), Value(claims.compacts));
  put("claims", Value::object(std::move(claimed)));
  Value::Array nodes;
  for (const NodeInfo& node : layout.nodes) nodes.emplace_back(node.name);
  put("nodes", Value::array(std::move(nodes)));
  Value::Array kinds;
  for (const PlannedFault& fault : faults) kinds.emplace_back(fault.nemesis->kind());
  put("faults", Value::array(std::move(kinds)));
  if (!own_faults.empty()) {
    Value::Array own;
    for (const auto& fault : own_faults) own.emplace_back(fault->kind());
    put("own_faults", Value::array(std::move(own)));
  }
  put("seed", Value(static_cast<int64_t>(seed)));
  Value::Object timing;
  const auto time = [&](const char* name, Nanos value) {
    timing.emplace_back(Symbol(name), Value(value.count));
  };
  time("election_timeout_min", claims.election_timeout_min);
  time("op_timeout", spec.op_timeout);
  time("lead_in", lead_in);
  time("load", spec.time_limit);
  put("timing", Value::object(std::move(timing)));
  Value::Object needed;
  for (auto& [name, number] : thresholds) needed.emplace_back(Symbol(name), std::move(number));
  if (!needed.empty()) put("thresholds", Value::object(std::move(needed)));
  put("spec", spec_to_value(spec));
  return Value::object(std::move(members));
}

}  // namespace assay
