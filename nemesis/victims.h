// Whom a fault strikes, and how what was observed becomes a completion. Shared by the faults that
// act on processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "checkers/history/rng.h"
#include "targets/cluster.h"

namespace assay {

// Node indexes for "one", "minority", "majority", "all", "leader" (one at random while no leader is
// known), "followers" (all but that one) or a list of nodes ("n1+n3"), drawn from rng, in ascending
// order.
std::vector<int> choose_victims(std::string_view shape, const Cluster& cluster, Rng& rng);

// The nodes of a list such as "n1+n3", each once; absent where one is unknown.
std::optional<std::vector<int>> listed_nodes(std::string_view list,
                                             const std::vector<NodeInfo>& nodes);

// Says of a fault that was aimed at the leader or its followers while none was known that it was
// not.
Result<Effect> aimed(std::string_view shape, bool leader_known, Result<Effect> effect);

// Runs a power on each of the nodes at once and gathers what was seen: installed only when it was
// on every one, bit when it was on every one (of a start) or on any (of a stop, which goes to nodes
// that nothing had struck as well); an error of any as the error.
using Power = std::function<void(int node, Callback<Effect> done)>;
enum class Bite : uint8_t { kEverywhere, kAnywhere };
void on_each(const std::vector<int>& nodes, const Power& power, Bite bite, Callback<Effect> done);

// The completion of a start or a stop. links: those that are struck, under the name that the
// vocabulary has for it. tells: the effect of the stop says whether the fault had
// bit.
Op fault_started(const Op& op, const Cluster& cluster, const std::vector<int>& victims,
                 const std::vector<Cut>& links, const Result<Effect>& effect,
                 const char* links_name = "cut");
Op fault_stopped(const Op& op, const Result<Effect>& effect, bool tells = true);

}  // namespace assay
