#include "nemesis/victims.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

namespace assay {

std::vector<int> choose_victims(std::string_view shape, const Cluster& cluster, Rng& rng) {
  const int n = static_cast<int>(cluster.nodes().size());
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(order);
  if (const auto listed = listed_nodes(shape, cluster.nodes())) return *listed;
  if (shape == "leader" && cluster.leader() >= 0) return {cluster.leader()};
  if (shape == "followers") {
    const int spared = cluster.leader() >= 0 ? cluster.leader() : order[0];
    std::erase(order, spared);
    if (order.empty()) order = {spared};
    std::sort(order.begin(), order.end());
    return order;
  }
  int count = 1;  // "one", and "leader" while there is none
  if (shape == "minority") count = std::max(1, (n - 1) / 2);
  if (shape == "majority") count = n / 2 + 1;
  if (shape == "all") count = n;
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

std::optional<std::vector<int>> listed_nodes(std::string_view list,
                                             const std::vector<NodeInfo>& nodes) {
  std::set<int> indexes;
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find('+', start), list.size());
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const NodeInfo& info) {
      return info.name == list.substr(start, end - start);
    });
    if (node == nodes.end()) return std::nullopt;
    indexes.insert(node->index);
    start = end + 1;
  }
  return std::vector<int>(indexes.begin(), indexes.end());
}

Result<Effect> aimed(std::string_view shape, bool leader_known, Result<Effect> effect) {
  if (effect && (shape == "leader" || shape == "followers") && !leader_known)
    effect->evidence =
        "no leader was known" + (effect->evidence.empty() ? "" : "; " + effect->evidence);
  return effect;
}

void on_each(const std::vector<int>& nodes, const Power& power, Bite bite, Callback<Effect> done) {
  struct Gathered {
    Effect effect;
    std::optional<Error> error;
    size_t left;
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->left = nodes.size();
  gathered->effect = {.installed = true, .bit = bite == Bite::kEverywhere};
  for (int node : nodes) {
    power(node, [gathered, bite, done](Result<Effect> seen) {
      if (seen) {
        gathered->effect.installed &= seen->installed;
        bool& bit = gathered->effect.bit;
        bit = bite == Bite::kEverywhere ? bit && seen->bit : bit || seen->bit;
        if (!seen->evidence.empty()) {
          gathered->effect.evidence +=
              (gathered->effect.evidence.empty() ? "" : "; ") + seen->evidence;
        }
      } else if (!gathered->error) {
        gathered->error = seen.error();
      }
      if (--gathered->left > 0) return;
      if (gathered->error) return done(*gathered->error);
      done(gathered->effect);
    });
  }
}

static void put(Value::Object& members, const char* name, Value value) {
  members.emplace_back(Symbol(name), std::move(value));
}

Op fault_started(const Op& op, const Cluster& cluster, const std::vector<int>& victims,
                 const std::vector<Cut>& links, const Result<Effect>& effect,
                 const char* links_name) {
  const auto name = [&](int node) { return Value(cluster.nodes()[node].name); };
  Value::Object members;
  put(members, "shape", op.value["shape"]);
  Value::Array names;
  for (int victim : victims) names.push_back(name(victim));
  put(members, "victims", Value::array(std::move(names)));
  if (!links.empty()) {
    Value::Array pairs;
    for (const Cut& link : links) pairs.push_back(Value::pair(name(link.from), name(link.to)));
    put(members, links_name, Value::array(std::move(pairs)));
  }
  put(members, "installed", effect && effect->installed);
  put(members, "bit", effect && effect->bit);
  if (effect) put(members, "evidence", effect->evidence);
  if (!effect) put(members, "error", effect.error().message);
  Op done = complete(op, OpType::kInfo);
  done.value = Value::object(std::move(members));
  return done;
}

Op fault_stopped(const Op& op, const Result<Effect>& effect, bool tells) {
  Value::Object members;
  put(members, "healed", effect && effect->installed);
  if (effect && tells) put(members, "bit", effect->bit);
  if (effect) put(members, "evidence", effect->evidence);
  if (!effect) put(members, "error", effect.error().message);
  Op done = complete(op, OpType::kInfo);
  done.value = Value::object(std::move(members));
  return done;
}

}  // namespace assay
