#include "nemesis/script.h"

#include <numeric>
#include <set>

#include "checkers/history/vocabulary.h"
#include "nemesis/delay.h"
#include "nemesis/victims.h"

namespace assay {
namespace {

class Nothing : public Generator {
 public:
  Next next(const Context&) override { return Next::done(); }
  void taken(const Context&, const Next&) override {}
};

}  // namespace

Gen ScriptNemesis::schedule() { return std::make_unique<Nothing>(); }

int ScriptNemesis::node(std::string_view name) const {
  for (const NodeInfo& node : cluster_.nodes()) {
    if (node.name == name) return node.index;
  }
  return -1;
}

void ScriptNemesis::invoke(const Op& op, std::function<void(Op)> done) {
  const std::string_view started = started_fault(op.f);
  if (started == "partition") return cut(op, std::move(done));
  if (op.f == stop_of("partition")) {
    cuts_.clear();
    cluster_.heal_cuts([op, done = std::move(done)](const Result<Effect>& seen) {
      done(fault_stopped(op, seen));
    });
    return;
  }
  if (started == "delay") return delay(op, std::move(done));
  if (op.f == stop_of("delay")) {
    slow_.clear();
    cluster_.heal_delays([op, done = std::move(done)](const Result<Effect>& seen) {
      done(fault_stopped(op, seen));
    });
    return;
  }
  on_process(op, !started.empty(), std::move(done));
}

void ScriptNemesis::cut(const Op& op, std::function<void(Op)> done) {
  const std::vector<Cut> added = asked_cuts(op.value);
  std::set<int> deaf;
  for (const Cut& cut : added) {
    ASSAY_CHECK(cut.from >= 0 && cut.to >= 0, "the plan checks a script's nodes");
    deaf.insert(cut.to);
    cuts_.push_back(cut);
  }
  cluster_.cut(cuts_, [this, op, added, deaf, done = std::move(done)](const Result<Effect>& seen) {
    done(fault_started(op, cluster_, {deaf.begin(), deaf.end()}, added, seen));
  });
}

std::vector<Cut> ScriptNemesis::asked_cuts(const Value& value) const {
  const Value& sides = value["sides"];
  if (!sides.is_array()) return {{node(value.text_or("from", "")), node(value.text_or("to", ""))}};
  std::vector<Cut> cuts;
  for (const Value& side : sides.as_array()) {
    for (const Value& other : sides.as_array()) {
      if (&side == &other) continue;
      for (const Value& from : side.as_array())
        for (const Value& to : other.as_array())
          cuts.push_back({node(from.as_text()), node(to.as_text())});
    }
  }
  return cuts;
}

// Absent options are off, but for "by", which the script's reader asks for.
void ScriptNemesis::delay(const Op& op, std::function<void(Op)> done) {
  std::map<std::string, std::string> settings{{"jitter", "0ms"}};
  for (const auto& [name, value] : op.value.as_object()) {
    if (name != Symbol("from") && name != Symbol("to"))
      settings[std::string(name.text())] =
          value.is_string() ? std::string(value.as_text()) : value.to_json();
  }
  const auto how = read_delay(settings);
  SlowLink added{node(op.value.text_or("from", "")), node(op.value.text_or("to", ""))};
  ASSAY_CHECK(how && added.from >= 0 && added.to >= 0, "the plan checks a script's steps");
  added.how = *how;
  added.how.seed = rng_.next();
  std::erase_if(slow_, [&](const SlowLink& link) {
    return link.from == added.from && link.to == added.to;
  });
  slow_.push_back(added);
  cluster_.delay(slow_, [this, op, added, done = std::move(done)](const Result<Effect>& seen) {
    done(fault_started(op, cluster_, {added.to}, {{added.from, added.to}}, seen, "delayed"));
  });
}

void ScriptNemesis::on_process(const Op& op, bool begin, std::function<void(Op)> done) {
  const bool kill = op.f == start_of("kill") || op.f == stop_of("kill");
  const Power power = [this, kill, begin](int node, Callback<Effect> seen) {
    if (kill)
      return begin ? cluster_.kill(node, std::move(seen)) : cluster_.start(node, std::move(seen));
    begin ? cluster_.pause(node, std::move(seen)) : cluster_.resume(node, std::move(seen));
  };
  std::vector<int> nodes{node(op.value.text_or("node", ""))};
  if (nodes[0] < 0) {
    nodes.resize(cluster_.nodes().size());
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  on_each(
      nodes, power, begin ? Bite::kEverywhere : Bite::kAnywhere,
      [this, op, kill, begin, nodes, done = std::move(done)](const Result<Effect>& seen) {
        done(begin ? fault_started(op, cluster_, nodes, {}, seen) : fault_stopped(op, seen, !kill));
      });
}

}  // namespace assay
