#include "checkers/history/independent_keys.h"

#include <utility>

namespace assay {
namespace {

bool is_tuple(const Value& value) {
  return value.is_array() && value.as_array().size() == 2 &&
         (value.as_array()[0].is_int() || value.as_array()[0].is_string());
}

// What an invocation tells; nothing where it could be either.
std::optional<bool> tells(const Op& op) {
  if (!op.process.is_client() || op.type != OpType::kInvoke) return std::nullopt;
  if (!op.key.empty() || !is_tuple(op.value)) return false;
  const Value& second = op.value.as_array()[1];
  const std::string_view f = op.f.text();
  if ((f == "read" || f == "r" || f == "get") && second.is_null()) return true;
  if ((op.f == f::cas || op.f == f::txn) && second.is_array()) return true;
  return std::nullopt;
}

}  // namespace

Symbol key_named(const Value& key) {
  return key.is_string() ? key.as_symbol() : Symbol(key.to_json());
}

Result<void> IndependentKeys::add(Op op, Place place) {
  if (decided_) return pass(std::move(op), place);
  const std::optional<bool> told = tells(op);
  waiting_bytes_ += sizeof(Waiting) + op.value.heap_bytes() + op.extra.heap_bytes();
  waiting_.push_back({std::move(op), place});
  if (told) {
    decided_at_ = place.line;
    return decide(*told);
  }
  constexpr uint64_t kStep = 1 << 16;
  if (waiting_.size() % kStep != 0) return {};
  return collector_.check_memory(place, 2 * waiting_bytes_);
}

Result<void> IndependentKeys::decide(bool keyed) {
  decided_ = keyed;
  for (Waiting& each : std::exchange(waiting_, {})) {
    if (auto passed = pass(std::move(each.op), each.place); !passed) return passed;
  }
  return {};
}

Result<void> IndependentKeys::finish() {
  if (decided_) return {};
  for (const Waiting& each : waiting_) {
    if (!each.op.process.is_client()) continue;
    collector_.warn(
        "every value is a pair [a b], taken as it is: --independent yes takes it as [key value]");
    break;
  }
  return decide(false);
}

Result<void> IndependentKeys::pass(Op op, Place place) {
  const bool completes_with_nothing = op.type != OpType::kInvoke && op.value.is_null();
  if (*decided_ && op.process.is_client() && op.key.empty() && !completes_with_nothing) {
    if (!is_tuple(op.value)) return misfit(op, place);
    const Value tuple = std::move(op.value);
    op.key = key_named(tuple.as_array()[0]);
    op.value = tuple.as_array()[1];
  }
  return collector_.add(op, place);
}

Error IndependentKeys::misfit(const Op& op, Place place) const {
  std::string found = op.value.to_json();
  if (found.size() > 60) found = found.substr(0, 60) + "…";
  const std::string why =
      was_asked_ ? "--independent yes"
                 : "line " + std::to_string(decided_at_) + "; --independent no takes it as it is";
  return collector_.error(
      place, "expected [key value] as the value of each operation (" + why + "), found " + found);
}

}  // namespace assay
