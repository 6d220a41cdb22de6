// timeout-failover: one primary; it does every request, answers, and copies the change to the
// others, which hand their clients' requests to it. When it has been silent for a while, the next
// node in the order of the names takes over, without asking anybody; the one after that waits
// twice as long, and so on. A primary that hears of a later one steps down and takes over its
// history: what only the former one had is thrown away.
//
// What it lacks: silence is no proof of death. A primary that is paused or cut off goes on serving
// its clients while another has taken over; what it answers then is lost. And a change is answered
// before any other node has it.
#include <algorithm>
#include <map>
#include <utility>

#include "targets/naive/ordered.h"

namespace assay::naive {
namespace {

constexpr uint8_t kEpoch = 'p';

// So often a node looks at the signs of life that have come.
constexpr int64_t kLookMs = 100;

class TimeoutFailover : public Ordered {
 public:
  TimeoutFailover(const DesignOptions& options, Env& env)
      : Ordered(options, env), primary_(options.members.front()), heard_ms_(env.now_ms()) {}

  void restore(std::string_view record) override {
    if (log_.restore(record)) return;
    kv::ByteReader reader(record);
    reader.u8();
    epoch_ = reader.varint();
    primary_.value = reader.varint();
  }

  void on_tick() override {
    if (env_.now_ms() >= next_look_ms_) look();
    Ordered::on_tick();
  }

 protected:
  NodeId leader() const override { return primary_; }
  uint64_t epoch() const override { return epoch_; }

  void lead(kv::Request request, Done done) override {
    kv::Result result;
    const bool changed = log_.perform(std::move(request), epoch_, result);
    done(std::move(result));
    if (changed) send_to_others(newest());
  }

  void on_beat(NodeId from, const Beat& beat) override {
    if (beat.leads) beats_[from] = beat;
  }

  bool believes(NodeId from, const NewEntry& entry) const override {
    return from == primary_ && entry.epoch == epoch_;
  }
  bool believes(NodeId from, const Entries& entries) const override {
    return from == primary_ && entries.epoch == epoch_;
  }
  void on_copied() override { heard_ms_ = env_.now_ms(); }

 private:
  // The place of a member in the order, or of this node behind the primary.
  size_t place(NodeId member) const {
    const auto& all = options_.members;
    return std::find(all.begin(), all.end(), member) - all.begin();
  }
  int64_t patience_ms() const {
    const size_t count = options_.members.size();
    const size_t behind = (place(options_.self) + count - place(primary_)) % count;
    return options_.failover_ms * static_cast<int64_t>(behind);
  }

  void look() {
    next_look_ms_ = env_.now_ms() + kLookMs;
    for (const auto& [from, beat] : std::exchange(beats_, {})) believe(from, beat);
    if (!leads() && env_.now_ms() - heard_ms_ >= patience_ms()) follow(options_.self, epoch_ + 1);
  }

  void believe(NodeId from, const Beat& beat) {
    // Two that took over at one moment: the one whose name comes first.
    const bool later = beat.epoch > epoch_ || (beat.epoch == epoch_ && from < primary_);
    if (later) follow(from, beat.epoch);
    if (from != primary_ || beat.epoch != epoch_) return;
    heard_ms_ = env_.now_ms();
    if (beat.length != log_.length() || beat.chain != log_.chain()) ask(from);
  }

  void follow(NodeId primary, uint64_t epoch) {
    epoch_ = epoch;
    primary_ = primary;
    heard_ms_ = env_.now_ms();
    std::string record;
    kv::ByteWriter writer(record);
    writer.u8(kEpoch);
    writer.varint(epoch_);
    writer.varint(primary_.value);
    env_.save(record);
    give_forwards_up();
  }

  uint64_t epoch_ = 1;
  NodeId primary_;
  int64_t heard_ms_;              // when the primary last gave a sign of life
  std::map<NodeId, Beat> beats_;  // that were not looked at yet; per member, the last
  int64_t next_look_ms_ = 0;
};

}  // namespace

std::unique_ptr<Design> timeout_failover(const DesignOptions& options, Env& env) {
  return std::make_unique<TimeoutFailover>(options, env);
}

}  // namespace assay::naive
