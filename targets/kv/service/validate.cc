#include "targets/kv/service/validate.h"

#include <set>

namespace assay::kv {
namespace {

// What the operations of a list, and of the transactions within it, write.
struct Writes {
  std::set<std::string_view> puts;
  std::vector<const DeleteRangeRequest*> deletes;

  bool deletes_key(std::string_view key) const {
    for (const DeleteRangeRequest* del : deletes) {
      const std::string_view first = del->key;
      const std::string_view end = del->range_end;
      if (end.empty() ? key == first : key >= first && key < end) return true;
    }
    return false;
  }
  void merge(Writes other) {
    puts.merge(other.puts);
    deletes.insert(deletes.end(), other.deletes.begin(), other.deletes.end());
  }
};

std::optional<Error> validate_ops(const std::vector<RequestOp>& ops, int depth);

std::optional<Error> validate_txn(const TxnRequest& txn, int depth) {
  if (depth > kTxnDepthMax) return kTooManyOps;
  if (txn.compare.size() > kTxnOpsMax || txn.success.size() > kTxnOpsMax ||
      txn.failure.size() > kTxnOpsMax) {
    return kTooManyOps;
  }
  for (const Compare& compare : txn.compare) {
    if (compare.key.empty()) return kEmptyKey;
  }
  if (auto error = validate_ops(txn.success, depth)) return error;
  return validate_ops(txn.failure, depth);
}

std::optional<Error> validate_ops(const std::vector<RequestOp>& ops, int depth) {
  for (const RequestOp& op : ops) {
    if (const auto* txn = std::get_if<TxnRequest>(&op.body)) {
      if (auto error = validate_txn(*txn, depth + 1)) return error;
      continue;
    }
    const bool empty = std::visit(
        [](const auto& body) {
          if constexpr (requires { body.key; }) return body.key.empty();
          return false;
        },
        op.body);
    if (empty) return kEmptyKey;
  }
  return std::nullopt;
}

// False when some key would be changed twice. etcd compares puts with the deletions of their own
// list and of the lists below; the two branches of one transaction may write the same key.
bool collect_writes(const std::vector<RequestOp>& ops, Writes& writes) {
  for (const RequestOp& op : ops) {
    if (const auto* del = std::get_if<DeleteRangeRequest>(&op.body)) writes.deletes.push_back(del);
  }
  Writes below;
  for (const RequestOp& op : ops) {
    const auto* txn = std::get_if<TxnRequest>(&op.body);
    if (txn == nullptr) continue;
    Writes success;
    Writes failure;
    if (!collect_writes(txn->success, success) || !collect_writes(txn->failure, failure)) {
      return false;
    }
    for (const Writes* branch : {&success, &failure}) {
      for (std::string_view key : branch->puts) {
        if (below.puts.contains(key) || writes.deletes_key(key)) return false;
      }
    }
    below.merge(std::move(success));
    below.merge(std::move(failure));
    writes.deletes.insert(writes.deletes.end(), below.deletes.begin(), below.deletes.end());
    below.deletes.clear();
  }
  writes.puts.merge(below.puts);
  for (const RequestOp& op : ops) {
    const auto* put = std::get_if<PutRequest>(&op.body);
    if (put == nullptr) continue;
    if (writes.deletes_key(put->key) || !writes.puts.insert(put->key).second) return false;
  }
  return true;
}

std::optional<Error> validate_whole_txn(const TxnRequest& txn) {
  if (auto error = validate_txn(txn, 1)) return error;
  for (const auto* ops : {&txn.success, &txn.failure}) {
    Writes writes;
    if (!collect_writes(*ops, writes)) return kDuplicateKey;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> validate(const Request& request) {
  if (const auto* txn = std::get_if<TxnRequest>(&request)) return validate_whole_txn(*txn);
  const bool empty = std::visit(
      [](const auto& body) {
        if constexpr (requires { body.key; }) return body.key.empty();
        return false;
      },
      request);
  if (empty) return kEmptyKey;
  return std::nullopt;
}

}  // namespace assay::kv
