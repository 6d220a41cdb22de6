// Makes a small history of the bytes, judges it every way there is, and aborts where one of them
// and an oracle that tries every order disagree, or where an order is no order.
// Two bytes an event: of a process, its next invocation, or the outcome of what it has open.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/oracles.h"
#include "checkers/linearizable/order.h"
#include "checkers/linearizable/random_histories.h"

namespace assay::linearizable {
namespace {

constexpr size_t kProcesses = 8;
constexpr size_t kOperationsMax = 14;

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool done() const { return data_ == end_; }
  uint8_t next() { return done() ? 0 : *data_++; }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

Scalar value_of(uint32_t bits) { return bits == 7 ? Scalar{} : number(bits); }

KeyHistory history_of_bytes(Bytes& bytes) {
  KeyHistory history;
  const uint8_t flags = bytes.next();
  history.conventions = {.initial = flags & 1 ? Scalar{} : number(0),
                         .failed_cas_observes = (flags & 2) != 0,
                         .null_read_is_value = (flags & 4) != 0};
  const bool unique = (flags & 8) != 0;
  int64_t fresh = 100;
  std::vector<std::optional<size_t>> open(kProcesses);
  Position position = 0;
  while (!bytes.done()) {
    const uint8_t who = bytes.next(), what = bytes.next();
    auto& mine = open[who % kProcesses];
    if (!mine) {
      if (history.ops.size() == kOperationsMax) break;
      KeyOp op{.f = static_cast<Call>(what % 3), .type = OpType::kInfo, .call = position++};
      op.id = static_cast<uint32_t>(history.ops.size());
      if (op.f != Call::kRead) op.value = value_of(what / 3 % 8);
      if (op.f == Call::kWrite && unique) op.value = number(fresh++);
      if (op.f == Call::kCas) op.next = unique ? number(fresh++) : value_of(what / 24 % 8);
      // A cas expects, and a read sees, what another operation may have made.
      if (op.f == Call::kCas && unique && !history.ops.empty())
        op.value = history.ops[what / 3 % history.ops.size()].produced();
      mine = history.ops.size();
      history.ops.push_back(op);
      continue;
    }
    KeyOp& op = history.ops[*mine];
    mine.reset();
    if (what % 8 == 7) continue;  // never heard of again
    op.ret = position++;
    if (what % 8 == 6) continue;
    op.type = what % 8 == 5 ? OpType::kFail : OpType::kOk;
    op.mismatch = op.f == Call::kCas && op.type == OpType::kFail && what / 8 % 2 == 0;
    if (op.f != Call::kRead || op.type != OpType::kOk) continue;
    op.value = unique ? history.ops[what / 8 % history.ops.size()].produced()
                      : value_of(what / 8 % 8);
  }
  return history;
}

JudgeOptions options_of(Bytes& bytes) {
  JudgeOptions options{.want_order = true};
  const uint8_t off = bytes.next(), how = bytes.next();
  options.unique = (how & 1) != 0;
  options.search.beam = how / 2 % 5;
  options.search.rungs = how / 16 % 6;
  options.search.over_approximation = (how & 128) != 0;
  Reductions& r = options.search.reductions;
  r = {.lazy_writes = (off & 1) == 0, .productive = (off & 2) == 0, .unwanted = (off & 4) == 0,
       .symmetry = (off & 8) == 0, .dominance = (off & 16) == 0, .contradiction = (off & 32) == 0,
       .dead_values = (off & 64) == 0};
  if (off & 128) options.search.pending_min = 100;
  return options;
}

void judge_bytes(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const JudgeOptions options = options_of(bytes);
  const KeyHistory history = history_of_bytes(bytes);
  const bool valid = BruteForce().valid(history);
  for (const JudgeOptions& way : {options, JudgeOptions{.want_order = true}}) {
    const KeyResult result = judge_key(history, way);
    ASSAY_CHECK((result.found.outcome == Outcome::kValid) == valid,
                "the oracle says %s, but %s does not", valid ? "valid" : "invalid",
                std::string(to_string(result.found.stage)).c_str());
    if (!valid) continue;
    const std::string wrong = replay(history, result.order);
    ASSAY_CHECK(wrong.empty(), "%s", wrong.c_str());
  }
}

}  // namespace
}  // namespace assay::linearizable

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  assay::linearizable::judge_bytes(data, size);
  return 0;
}
