// reachable-group: whoever can be reached decides. A node counts the members that it has heard in
// the last 300 ms; of these and itself the first by name coordinates. A change is answered when all
// that the coordinator can reach have it. When groups meet, the longer history survives (of two
// equally long ones, that with the greater hash), and the others take it over.
//
// What it lacks: nobody asks whether the group is more than half. Each side of a split goes on by
// itself, and when it heals, what the shorter side has answered is thrown away.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "targets/kv/http/error_table.h"
#include "targets/naive/ordered.h"

namespace assay::naive {
namespace {

constexpr int64_t kReachMs = 300;

class ReachableGroup : public Ordered {
 public:
  ReachableGroup(const DesignOptions& options, Env& env)
      : Ordered(options, env), started_ms_(env.now_ms()) {}

  void restore(std::string_view record) override {
    Ordered::restore(record);
    if (log_.length() > 0) seen_epoch_ = std::max(seen_epoch_, log_.at(log_.length()).epoch);
  }

  void on_tick() override {
    choose_coordinator();
    answer_what_all_have();
    Ordered::on_tick();
  }

 protected:
  NodeId leader() const override { return coordinator_; }
  uint64_t epoch() const override { return epoch_; }

  void lead(kv::Request request, Done done) override {
    kv::Result result;
    if (!log_.perform(std::move(request), epoch_, result)) return done(std::move(result));
    pending_.push_back({log_.length(), std::move(result), std::move(done)});
    send_to_others(newest());
    answer_what_all_have();
  }

  void heard(NodeId from) override { peers_[from].heard_ms = env_.now_ms(); }
  void on_beat(NodeId from, const Beat& beat) override {
    Peer& peer = peers_[from];
    peer.length = beat.length;
    peer.chain = beat.chain;
    seen_epoch_ = std::max(seen_epoch_, beat.epoch);
    choose_coordinator();
    if (from == coordinator_ && beat.leads) epoch_ = beat.epoch;
    if (survives(beat.length, beat.chain)) ask(from);
    answer_what_all_have();
  }

  bool believes(NodeId from, const NewEntry&) const override { return from == coordinator_; }
  bool believes(NodeId, const Entries& entries) const override {
    // Of an equally long one only the beat has said that its hash is the greater.
    return entries.length >= log_.length();
  }

  void on_cut(uint64_t length) override {
    while (!pending_.empty() && pending_.back().index > length) {
      auto lost = std::move(pending_.back());
      pending_.pop_back();
      lost.done(kv::kLeaderChanged);
    }
  }

 private:
  struct Peer {
    int64_t heard_ms = -kReachMs;
    uint64_t length = 0;
    uint64_t chain = 0;
  };
  struct Pending {
    uint64_t index;
    kv::Result result;
    Done done;
  };

  bool reaches(NodeId member) const {
    if (member == options_.self) return true;
    const auto peer = peers_.find(member);
    return peer != peers_.end() && env_.now_ms() - peer->second.heard_ms < kReachMs;
  }

  void choose_coordinator() {
    // Whom a node reaches it knows only when it has listened for so long.
    if (env_.now_ms() - started_ms_ < kReachMs) return;
    const auto& all = options_.members;
    const NodeId first =
        *std::find_if(all.begin(), all.end(), [this](NodeId member) { return reaches(member); });
    const bool takes_over =
        first == options_.self && (first != coordinator_ || seen_epoch_ > epoch_);
    if (takes_over) epoch_ = seen_epoch_ = epoch_of_my_own();
    if (first == coordinator_) return;
    coordinator_ = first;
    give_forwards_up();
    if (first != options_.self) on_cut(0);  // it cannot say any more who has what
  }

  // The next number that no other node would take.
  uint64_t epoch_of_my_own() const {
    const uint64_t count = options_.members.size();
    return (seen_epoch_ / count + 1) * count + options_.self.value;
  }

  bool survives(uint64_t length, uint64_t chain) const {
    if (length != log_.length()) return length > log_.length();
    return chain > log_.chain();
  }

  void answer_what_all_have() {
    while (!pending_.empty() && all_have(pending_.front().index)) {
      Pending next = std::move(pending_.front());
      pending_.erase(pending_.begin());
      next.done(std::move(next.result));
    }
  }
  bool all_have(uint64_t index) const {
    return std::all_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
      const auto& [member, peer] = entry;
      return !reaches(member) || (peer.length >= index && log_.has(peer.length, peer.chain));
    });
  }

  const int64_t started_ms_;
  std::map<NodeId, Peer> peers_;
  NodeId coordinator_ = kNobody;
  uint64_t epoch_ = 0;
  uint64_t seen_epoch_ = 0;
  std::vector<Pending> pending_;  // by index
};

}  // namespace

std::unique_ptr<Design> reachable_group(const DesignOptions& options, Env& env) {
  return std::make_unique<ReachableGroup>(options, env);
}

}  // namespace assay::naive
