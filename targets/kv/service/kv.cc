#include "targets/kv/service/kv.h"

#include <algorithm>

namespace assay::kv {
namespace {

// True when every leaf of the operations is a range for which `fits` holds.
template <typename Fits>
bool all_ranges(const std::vector<RequestOp>& ops, const Fits& fits) {
  return std::all_of(ops.begin(), ops.end(), [&](const RequestOp& op) {
    if (const auto* range = std::get_if<RangeRequest>(&op.body)) return fits(*range);
    const auto* txn = std::get_if<TxnRequest>(&op.body);
    return txn != nullptr && all_ranges(txn->success, fits) && all_ranges(txn->failure, fits);
  });
}

template <typename Fits>
bool all_ranges(const Request& request, const Fits& fits) {
  if (const auto* range = std::get_if<RangeRequest>(&request)) return fits(*range);
  const auto* txn = std::get_if<TxnRequest>(&request);
  return txn != nullptr && all_ranges(txn->success, fits) && all_ranges(txn->failure, fits);
}

}  // namespace

bool is_read_only(const Request& request) {
  return all_ranges(request, [](const RangeRequest&) { return true; });
}

bool is_serializable(const Request& request) {
  bool any = false;
  const bool all = all_ranges(request, [&](const RangeRequest& range) {
    any = true;
    return range.serializable;
  });
  return all && any;
}

}  // namespace assay::kv
