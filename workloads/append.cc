// append: lists that intents append to: each reads the list, and writes it back with an element of
// its own, guarded by the revision that it read. Every element is appended once per run: the order of
// the elements is the accepted history itself, and two lists of which neither begins the other are two
// histories.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

class AppendOne final : public Change {
 public:
  explicit AppendOne(std::shared_ptr<Numbers> elements) : elements_(std::move(elements)) {}
  void begin() override { element_ = elements_->next(); }
  std::optional<Op> decide(const Op& seen) override {
    Value::Array list;
    if (seen.value.is_array()) list = seen.value.as_array();
    list.emplace_back(element_);
    Op write;
    write.f = f::write;
    write.value = Value::array(std::move(list));
    write.expected = guard_of(seen);
    return write;
  }

 private:
  std::shared_ptr<Numbers> elements_;
  int64_t element_ = 0;
};

class Append final : public IntentWorkload {
 public:
  std::string_view name() const override { return "append"; }
  std::string_view summary() const override {
    return "read a list, write it back with one element more, guarded";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"durable", "update-chain", "conflicts", "reconcile", "revisions",
                                "dirty-reads", "version-order", "one-history", "linearizable"});
  }
  Value header() const override { return cas_register_header(); }

 protected:
  MakeChange changes() const override {
    return [elements = std::make_shared<Numbers>()](Symbol, int, Rng) {
      return std::make_unique<AppendOne>(elements);
    };
  }
};

}  // namespace

const Workload& append_workload() {
  static const Append workload;
  return workload;
}

}  // namespace assay
