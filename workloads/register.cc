// register: reads, blind writes and compare-and-set over many keys, with few values, so that a cas
// often hits. Half of each key's workers only read.
//
// Source: jepsen.tests.linearizable-register.
#include <array>

#include "workloads/gen/combinators.h"
#include "workloads/keyed_run.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr int kValues = 5;  // 0 to 4

Gen reads() {
  Op op;
  op.f = f::read;
  return gen::always(std::move(op));
}

Gen writes(Rng rng) {
  return gen::each([rng](const Context&, Worker) mutable {
    Op op;
    op.f = f::write;
    op.value = Value(static_cast<int64_t>(rng.below(kValues)));
    return op;
  });
}

// The 25 arguments are made once: a pair is a small allocation otherwise.
using Pairs = std::array<std::array<Value, kValues>, kValues>;
const Pairs& pairs() {
  static const Pairs all = [] {
    Pairs made;
    for (int a = 0; a < kValues; ++a) {
      for (int b = 0; b < kValues; ++b) made[a][b] = Value::pair(a, b);
    }
    return made;
  }();
  return all;
}

Gen cases(Rng rng) {
  return gen::each([rng](const Context&, Worker) mutable {
    Op op;
    op.f = f::cas;
    const uint64_t from = rng.below(kValues);
    op.value = pairs()[from][rng.below(kValues)];
    return op;
  });
}

Gen one_key(int group_size, Rng rng) {
  const int readers = readers_of_group(group_size);
  // A group of one has no worker that only reads.
  const int read_weight = readers == 0 ? 3 : 0;
  return gen::reserve(gen::reserved(readers, reads()),
                      gen::mix(rng.stream("mix"), gen::weighted(read_weight, reads()),
                               gen::weighted(1, writes(rng.stream("write"))),
                               gen::weighted(2, cases(rng.stream("cas")))));
}

class Register final : public Workload {
 public:
  std::string_view name() const override { return "register"; }
  std::string_view summary() const override {
    return "reads, writes and compare-and-set of values 0-4 over many keys";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write, f::cas}; }
  std::vector<std::string> checkers() const override { return register_checkers(); }
  Value header() const override { return cas_register_header(); }
  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    return KeyedRun::start(*this, options, [group_size = options.group_size](Symbol, Rng rng) {
      return one_key(group_size, rng);
    });
  }
};

}  // namespace

const Workload& register_workload() {
  static const Register workload;
  return workload;
}

}  // namespace assay
