// cas-versioned: the writer of INV-009 (versioned truth): read; then write, guarded by the revision
// that was read; after a conflict read again before deciding anew. A key begins with a guarded
// create, guard 0: absent. Every value is written once per run, so a guarded write is a cas from
// the value that its writer read, and is recorded as one, with the guard in `expected`. Half of
// each key's workers only read.
#include <memory>
#include <vector>

#include "workloads/keyed_run.h"
#include "workloads/registry.h"

namespace assay {
namespace {

// Over the workers of one group.
class VersionedKey final : public Generator {
 public:
  VersionedKey(int group_size, std::shared_ptr<int64_t> last_value)
      : readers_(readers_of_group(group_size)), last_value_(std::move(last_value)) {}

  Next next(const Context& context) override {
    const Worker worker = context.idlest();
    if (worker == kNoWorker) return Next::pending();
    Op op;
    op.time = context.now;
    op.process = context.workers->process(worker);
    Writer* writer = writer_of(context, worker);
    if (writer && writer->knows) {
      op.f = f::cas;
      if (writer->next_value == 0) writer->next_value = ++*last_value_;
      op.value = Value::pair(writer->read_value, writer->next_value);
      op.expected = writer->guard;
    } else {
      op.f = f::read;
    }
    return Next::ready(std::move(op), worker);
  }

  // Whatever a guarded write ends as, its writer reads again: the guard is used up.
  void taken(const Context& context, const Next& next) override {
    Writer* writer = writer_of(context, next.worker);
    if (!writer) return;
    writer->reading = next.op.f == f::read;
    writer->knows = false;
    writer->next_value = 0;
  }

  void update(const Context& context, Worker worker, const Op& completion) override {
    Writer* writer = writer_of(context, worker);
    if (!writer || !writer->reading) return;
    writer->reading = false;
    if (completion.type != OpType::kOk) return;
    const bool absent = completion.value.is_null();
    // A value without a revision gives nothing to guard by.
    if (!absent && completion.revision.none()) return;
    writer->read_value = completion.value;
    writer->guard = absent ? Token(int64_t{0}) : completion.revision;
    writer->knows = true;
  }

 private:
  struct Writer {
    bool reading = false;  // runs a read of ours
    bool knows = false;    // has read, and not written since
    Value read_value;
    Token guard;             // the revision that was read
    int64_t next_value = 0;  // of the proposed write; 0: not drawn
  };

  // nullptr: only reads.
  Writer* writer_of(const Context& context, Worker worker) {
    const int at = worker - context.begin - readers_;
    if (at < 0) return nullptr;
    if (static_cast<size_t>(at) >= writers_.size()) writers_.resize(static_cast<size_t>(at) + 1);
    return &writers_[at];
  }

  const int readers_;
  std::shared_ptr<int64_t> last_value_;  // of the run
  std::vector<Writer> writers_;
};

class CasVersioned final : public Workload {
 public:
  std::string_view name() const override { return "cas-versioned"; }
  std::string_view summary() const override {
    return "read, then write guarded by the revision that was read; unique values, many keys";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::cas}; }
  bool guarded() const override { return true; }
  std::vector<std::string> checkers() const override { return register_checkers(); }
  Value header() const override { return cas_register_header(); }
  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    auto last_value = std::make_shared<int64_t>(0);
    return KeyedRun::start(*this, options,
                           [group_size = options.group_size, last_value](Symbol, Rng) -> Gen {
                             return std::make_unique<VersionedKey>(group_size, last_value);
                           });
  }
};

}  // namespace

const Workload& cas_versioned_workload() {
  static const CasVersioned workload;
  return workload;
}

}  // namespace assay
