#include "checkers/linearizable/key_history.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "checkers/history/vocabulary.h"

namespace assay::linearizable {
namespace {

const Symbol kConflict{"conflict"};
const Symbol kMismatch{"mismatch"};

// Of a failed cas: whether the cause is known to be that what it compared was not there. A file
// that gives no error class leaves it to the convention failed_cas.
bool failed_by_comparison(const Operation& operation) {
  const Symbol cls = operation.error_class();
  return cls.empty() || cls == kConflict || cls == kMismatch;
}

// Scalars are opaque: that of a Value is found among the operations, or made up where none of them
// has it (then nothing can ever equal it).
Scalar scalar_of(const Value& value, const History& history, const KeyGroup& group) {
  if (value.is_null()) return {};
  for (uint32_t id : group.ids) {
    const Operation operation = history[id];
    if (operation.f() == f::cas) {
      Scalar pair[2];
      if (!operation.argument_pair(pair[0], pair[1])) continue;
      const Value argument = operation.argument();
      for (int i = 0; i < 2; ++i) {
        if (argument.as_array()[i] == value) return pair[i];
      }
    } else if (operation.f() == f::write) {
      if (operation.argument() == value) return operation.argument_scalar();
    } else if (operation.f() == f::read && operation.type() == OpType::kOk) {
      if (operation.result() == value) return operation.result_scalar();
    }
  }
  return {.kind = UINT8_MAX, .bits = 0};
}

}  // namespace

std::vector<KeyGroup> group_by_key(const History& history) {
  std::vector<KeyGroup> groups;
  std::unordered_map<Symbol, size_t> index;
  size_t current = 0;
  Symbol current_key;
  for (size_t id = 0; id < history.size(); ++id) {
    const Symbol key = history[id].key();
    if (groups.empty() || key != current_key) {
      const auto [found, inserted] = index.try_emplace(key, groups.size());
      if (inserted) groups.push_back({key, {}});
      current = found->second;
      current_key = key;
    }
    groups[current].ids.push_back(static_cast<uint32_t>(id));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const KeyGroup& a, const KeyGroup& b) {
    return a.ids.size() > b.ids.size();
  });
  return groups;
}

KeyOp key_op(const Operation& operation) {
  KeyOp op;
  op.type = operation.type();
  op.id = static_cast<uint32_t>(operation.id());
  op.call = operation.invoke_position();
  op.ret = operation.return_position();
  if (operation.f() == f::read) {
    op.f = Call::kRead;
    if (op.type == OpType::kOk) op.value = operation.result_scalar();
  } else if (operation.f() == f::cas) {
    op.f = Call::kCas;
    op.guarded = !operation.expected().none();
    op.mismatch = op.type == OpType::kFail && failed_by_comparison(operation);
    operation.argument_pair(op.value, op.next);
  } else {
    op.f = Call::kWrite;
    if (operation.f() == f::write) op.value = operation.argument_scalar();
  }
  return op;
}

bool judges_reads(const History& history) {
  return read_claim(history.header()) == "linearizable";
}

Conventions conventions_of(const History& history, const KeyGroup& group) {
  const HistoryHeader& header = history.header();
  return {.initial = scalar_of(header.initial_of(group.key), history, group),
          .failed_cas_observes = header.failed_cas_observes,
          .null_read_is_value = header.null_read_is_value};
}

KeyHistory key_history(const History& history, const KeyGroup& group, Reads reads) {
  const bool all = reads == Reads::kAll || judges_reads(history);
  KeyHistory result;
  result.key = group.key;
  result.conventions = conventions_of(history, group);
  result.ops.reserve(group.ids.size());
  for (uint32_t id : group.ids) {
    if (all || history[id].f() != f::read) result.ops.push_back(key_op(history[id]));
  }
  return result;
}

Result<void> can_judge(const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation operation = history[id];
    const Symbol f = operation.f();
    if (f == f::cas) {
      Scalar first, second;
      if (operation.argument_pair(first, second)) continue;
      return history.error_at(
          operation, "a cas needs [expected, new], found " + operation.argument().to_json());
    }
    if (f == f::read || f == f::write || f == f::delete_) continue;
    return history.error_at(
        operation,
        "the model of a register judges read, write, cas and delete, not " + std::string(f.text()));
  }
  return {};
}

}  // namespace assay::linearizable
