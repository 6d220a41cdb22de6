#include "workloads/keyed_run.h"

#include <algorithm>
#include <utility>

#include "workloads/gen/combinators.h"
#include "workloads/intents.h"

namespace assay {
namespace {

constexpr Nanos kFinalReadPause = milliseconds(100);
constexpr int kTurnedAwayMax = 10;  // in a row

// Done early where a node keeps answering that another one leads, and some other does serve: it
// will not read for us.
class UntilTurnedAway : public Generator {
 public:
  UntilTurnedAway(std::shared_ptr<bool> served, Gen gen)
      : served_(std::move(served)), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    return *served_ && times_ >= kTurnedAwayMax ? Next::done() : gen_->next(context);
  }
  void taken(const Context& context, const Next& next) override { gen_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& done) override {
    static const Symbol not_leader("not-leader");
    const bool away = done.type == OpType::kFail && done.error && done.error->cls == not_leader;
    times_ = away ? times_ + 1 : 0;
    *served_ |= done.type == OpType::kOk;
    gen_->update(context, worker, done);
  }

 private:
  const std::shared_ptr<bool> served_;  // by any node
  Gen gen_;
  int times_ = 0;
};

Result<void> check_options(const WorkloadOptions& o) {
  if (o.group_size < 1 || o.concurrency < 1 || o.concurrency % o.group_size != 0) {
    return input_error("concurrency: " + std::to_string(o.concurrency) +
                       " workers do not divide into groups of " + std::to_string(o.group_size));
  }
  if (o.ops_per_key_min < 1 || o.ops_per_key_max < o.ops_per_key_min) {
    return input_error("ops_per_key: expected at least 1, found " +
                       std::to_string(o.ops_per_key_min) + " to " +
                       std::to_string(o.ops_per_key_max));
  }
  if (o.processes_per_key < o.group_size) {
    return input_error("processes_per_key: expected at least the group size of " +
                       std::to_string(o.group_size) + ", found " +
                       std::to_string(o.processes_per_key));
  }
  if (o.keys < 0) return input_error("keys: expected 0 or more, found " + std::to_string(o.keys));
  return {};
}

gen::KeysOptions keys_options(const WorkloadOptions& o, bool whole) {
  if (whole)
    return {.group_size = o.group_size,
            .keys = o.keys,
            .ops_min = INT64_MAX / 2,
            .ops_max = INT64_MAX / 2,
            .processes_max = INT32_MAX};
  return {.group_size = o.group_size,
          .keys = o.keys,
          .ops_min = o.ops_per_key_min,
          .ops_max = o.ops_per_key_max,
          .processes_max = o.processes_per_key};
}

Op plain_read(Symbol key) {
  Op read;
  read.f = f::read;
  read.key = key;
  return read;
}

// Asks until an answer is ok; a refusal that comes at once is not answered at once.
Gen final_operation(Op op) {
  put_extra(op, "phase", Value("final"));
  return gen::until_ok(gen::cycle(
      [op] { return gen::sequence(gen::once(gen::always(op)), gen::sleep(kFinalReadPause)); }));
}

}  // namespace

int node_of_worker(Worker worker, int group_size, int nodes) {
  return group_size >= nodes ? worker % group_size % nodes : worker % nodes;
}

int64_t operations_of_key(const WorkloadOptions& options, const Rng& key_stream) {
  return key_stream.stream("operations").between(options.ops_per_key_min, options.ops_per_key_max);
}

int readers_of_group(int group_size) { return group_size / 2; }

Gen final_operations(const WorkloadOptions& options, std::function<std::vector<Op>()> operations) {
  const int nodes = static_cast<int>(options.nodes.size());
  const Worker readers = std::min(options.concurrency, std::max(options.group_size, nodes));
  const auto served = std::make_shared<bool>(false);
  return gen::time_limit(kFinalReadsSpan,
                         gen::on_workers(0, readers, gen::each_worker([operations, served](Worker) {
                                           std::vector<Gen> reads;
                                           for (Op& op : operations())
                                             reads.push_back(final_operation(std::move(op)));
                                           return std::make_unique<UntilTurnedAway>(
                                               served, gen::sequence(std::move(reads)));
                                         })));
}

Gen final_reads_of(const WorkloadOptions& options, std::function<std::vector<Symbol>()> keys,
                   std::function<Op(Symbol key)> look) {
  if (!look) look = plain_read;
  return final_operations(options, [keys = std::move(keys), look = std::move(look)] {
    std::vector<Op> reads;
    for (Symbol key : keys()) {
      if (reads.size() == kFinalKeysMax) break;
      reads.push_back(look(key));
    }
    return reads;
  });
}

Value cas_register_header() {
  return Value::object({{Symbol("model"), Value("cas-register")},
                        {Symbol("initial"), Value()},
                        {Symbol("failed_cas"), Value("observe")},
                        {Symbol("null_read"), Value("value")}});
}

std::vector<std::string> with_usual_checkers(std::vector<std::string> first) {
  for (const char* usual : {"stats", "non-vacuity", "availability", "minority-silence",
                            "member-agreement", "convergence", "node-exits", "exposure"})
    first.emplace_back(usual);
  return first;
}

std::vector<std::string> register_checkers() {
  return with_usual_checkers({"linearizable", "version-order", "one-history", "update-chain", "conflicts"});
}

Result<std::unique_ptr<WorkloadRun>> KeyedRun::start(const Workload& workload,
                                                     const WorkloadOptions& options,
                                                     gen::ConcurrentKeys::KeyGenerator make,
                                                     KeyedShape shape) {
  if (auto checked = check_options(options); !checked) return checked.error();
  return std::unique_ptr<WorkloadRun>(
      std::make_unique<KeyedRun>(workload, options, std::move(make), std::move(shape)));
}

KeyedRun::KeyedRun(const Workload& workload, const WorkloadOptions& options,
                   gen::ConcurrentKeys::KeyGenerator make, KeyedShape shape)
    : workload_(workload),
      options_(options),
      shape_(std::move(shape)),
      keys_(keys_options(options, shape_.whole), options.rng.stream("keys"), std::move(make)) {}

Gen KeyedRun::load() { return gen::on_workers(0, options_.concurrency, gen::borrow(keys_)); }

Gen KeyedRun::final_reads() {
  return final_reads_of(options_, [this] { return keys_.keys_in_use(); }, shape_.last_look);
}

}  // namespace assay
