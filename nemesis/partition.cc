#include "nemesis/partition.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "checkers/history/vocabulary.h"
#include "nemesis/registry.h"
#include "nemesis/schedule.h"
#include "nemesis/victims.h"

namespace assay {
namespace {

// Both directions of every link for which `connected` is false.
template <typename Connected>
std::vector<Cut> cut_unless(int n, Connected connected) {
  std::vector<Cut> cuts;
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (from != to && !connected(from, to)) cuts.push_back({from, to});
    }
  }
  return cuts;
}

std::vector<int> shuffled_ranks(int n, Rng& rng) {
  std::vector<int> rank(n);
  std::iota(rank.begin(), rank.end(), 0);
  rng.shuffle(rank);
  return rank;
}

// Neighbours on a shuffled ring, so many on each side that everyone sees a majority.
std::vector<Cut> majorities_ring(const std::vector<int>& rank) {
  const int n = static_cast<int>(rank.size());
  const int reach = (n / 2 + 1) / 2;
  return cut_unless(n, [&](int a, int b) {
    const int distance = std::abs(rank[a] - rank[b]);
    return std::min(distance, n - distance) <= reach;
  });
}

std::vector<Cut> bridge(const std::vector<int>& rank) {
  const int n = static_cast<int>(rank.size());
  const int middle = n / 2;
  return cut_unless(n, [&](int a, int b) {
    return rank[a] == middle || rank[b] == middle || (rank[a] < middle) == (rank[b] < middle);
  });
}

class PartitionRun : public NemesisRun {
 public:
  PartitionRun(Cluster& cluster, const NemesisOptions& options)
      : cluster_(cluster), options_(options), rng_(options.rng.stream("groups")) {}

  Gen schedule() override { return fault_schedule("partition", options_.shapes, options_); }

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (op.f == stop_of("partition")) {
      cluster_.heal_cuts([op, done = std::move(done)](const Result<Effect>& seen) {
        done(fault_stopped(op, seen));
      });
      return;
    }
    const std::string shape(op.value.text_or("shape", "one"));
    const int leader = cluster_.leader();
    const auto cuts =
        partition_cuts(shape, static_cast<int>(cluster_.nodes().size()), leader, rng_);
    cluster_.cut(
        cuts, [this, op, shape, leader, cuts, done = std::move(done)](const Result<Effect>& seen) {
          std::set<int> deaf;
          for (const Cut& cut : cuts) deaf.insert(cut.to);
          done(fault_started(op, cluster_, {deaf.begin(), deaf.end()}, cuts,
                             aimed(shape, leader >= 0, seen)));
        });
  }

 private:
  Cluster& cluster_;
  NemesisOptions options_;
  Rng rng_;
};

class Partition : public Nemesis {
 public:
  std::string_view kind() const override { return "partition"; }
  std::string_view summary() const override {
    return "packets between nodes are dropped, then let through again";
  }
  std::vector<std::string_view> shapes() const override {
    return {"one", "halves", "majorities-ring", "bridge", "leader", "one-way"};
  }
  bool available(const Powers& powers) const override { return powers.cut; }
  std::string_view needs() const override { return "nftables (root, or user namespaces)"; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    NemesisOptions used = options;
    const auto all = shapes();
    if (used.shapes.empty()) used.shapes = {all.begin(), all.end()};
    return std::make_unique<PartitionRun>(cluster, used);
  }
};

}  // namespace

std::vector<Cut> partition_cuts(std::string_view shape, int n, int leader, Rng& rng) {
  const std::vector<int> rank = shuffled_ranks(n, rng);
  if (shape == "halves") {
    return cut_unless(n, [&](int a, int b) { return (rank[a] < n / 2) == (rank[b] < n / 2); });
  }
  if (shape == "majorities-ring" && n >= 4) return majorities_ring(rank);
  if (shape == "majorities-ring" || shape == "bridge") return bridge(rank);
  const int alone = shape == "leader" && leader >= 0 ? leader : rank[0];
  if (shape == "one-way") {
    const bool deaf = rng.chance(1, 2);
    return cut_unless(n, [&](int from, int to) { return (deaf ? to : from) != alone; });
  }
  return cut_unless(n, [&](int a, int b) { return a != alone && b != alone; });  // one, leader
}

const Nemesis& partition_nemesis() {
  static const Partition nemesis;
  return nemesis;
}

}  // namespace assay
