// ref-update: a repository's ref: a push reads the tip and moves the ref to a commit whose parent is
// that tip, guarded by the revision that it read; a push that is refused fetches and rebases. Where a
// push goes through over a tip that it has not seen ("force push"), the commits between are lost.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

class Push final : public Change {
 public:
  explicit Push(std::shared_ptr<Numbers> commits) : commits_(std::move(commits)) {}
  void begin() override {}
  // A rebased commit is another commit.
  std::optional<Op> decide(const Op& seen) override {
    Op write;
    write.f = f::write;
    write.value = Value::object({{Symbol("commit"), Value(commits_->next())},
                                 {Symbol("parent"), seen.value["commit"]}});
    write.expected = guard_of(seen);
    return write;
  }

 private:
  std::shared_ptr<Numbers> commits_;
};

class RefUpdate final : public IntentWorkload {
 public:
  std::string_view name() const override { return "ref-update"; }
  std::string_view summary() const override {
    return "pushes: read a ref's tip, move it to a child of that tip, guarded";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"update-chain", "conflicts", "reconcile", "revisions",
                                "dirty-reads", "durable", "version-order", "one-history", "linearizable"});
  }
  Value header() const override { return cas_register_header(); }

 protected:
  MakeChange changes() const override {
    return [commits = std::make_shared<Numbers>()](Symbol, int, Rng) {
      return std::make_unique<Push>(commits);
    };
  }
};

}  // namespace

const Workload& ref_update_workload() {
  static const RefUpdate workload;
  return workload;
}

}  // namespace assay
