#include "targets/kv/service/service.h"

#include <optional>

#include "targets/kv/service/validate.h"

namespace assay::kv {
namespace {

std::optional<Error> check_revision(const Store& store, Revision wanted) {
  if (wanted.value <= 0) return std::nullopt;
  if (wanted > store.visible()) return kFutureRevision;
  if (wanted < store.compacted()) return kCompacted;
  return std::nullopt;
}

KeyValuePtr changed(const KeyValuePtr& kv, auto change) {
  auto copy = std::make_shared<KeyValue>(*kv);
  change(*copy);
  return copy;
}

Result range(const Store& store, const RangeRequest& request) {
  if (auto error = check_revision(store, request.revision)) return *error;
  const Revision at = request.revision.value > 0 ? request.revision : store.visible();
  const auto limit = static_cast<size_t>(request.limit > 0 ? request.limit : 0);
  Store::Found found = store.range(request.key, request.range_end, at, limit);
  RangeResponse response;
  response.count = found.count;
  if (!request.count_only) {
    response.more = limit > 0 && found.count > request.limit;
    response.kvs = std::move(found.kvs);
  }
  for (KeyValuePtr& kv : response.kvs) {
    if (request.keys_only) kv = changed(kv, [](KeyValue& copy) { copy.value.clear(); });
    if (kv->token != 0) kv = changed(kv, [](KeyValue& copy) { copy.mod_revision = {copy.token}; });
  }
  return Response{store.visible(), std::move(response)};
}

// --- Transactions ------------------------------------------------------------------------------

template <typename T>
bool holds(const T& ours, const T& theirs, CompareResult result) {
  switch (result) {
    case CompareResult::kEqual:
      return ours == theirs;
    case CompareResult::kNotEqual:
      return ours != theirs;
    case CompareResult::kGreater:
      return ours > theirs;
    case CompareResult::kLess:
      return ours < theirs;
  }
  return false;
}

bool holds(const KeyValue& kv, const Compare& compare) {
  switch (compare.target) {
    case CompareTarget::kVersion:
      return holds(kv.version, compare.number, compare.result);
    case CompareTarget::kCreate:
      return holds(kv.create_revision.value, compare.number, compare.result);
    case CompareTarget::kMod:
      return holds(kv.token != 0 ? kv.token : kv.mod_revision.value, compare.number,
                   compare.result);
    case CompareTarget::kValue:
      return holds(kv.value, compare.value, compare.result);
  }
  return false;
}

bool holds(const Store& store, const Compare& compare) {
  if (compare.range_end.empty()) {
    const KeyValuePtr kv = store.get(compare.key);
    if (kv) return holds(*kv, compare);
    return compare.target != CompareTarget::kValue && holds(KeyValue{}, compare);
  }
  const auto found = store.range(compare.key, compare.range_end, store.visible(), 0);
  if (found.kvs.empty()) {
    return compare.target != CompareTarget::kValue && holds(KeyValue{}, compare);
  }
  for (const KeyValuePtr& kv : found.kvs) {
    if (!holds(*kv, compare)) return false;
  }
  return true;
}

// Which branch each transaction takes, in the order in which they are met. Decided, with the
// revisions of all reads, before anything is changed.
class Path {
 public:
  static std::variant<Path, Error> of(const Store& store, const ServicePolicy& policy,
                                      const TxnRequest& txn) {
    Path path(policy);
    if (auto error = path.decide(store, txn)) return *error;
    return path;
  }
  bool next() { return taken_[at_++]; }

 private:
  explicit Path(const ServicePolicy& policy) : policy_(policy) {}

  // Who compares the creation with 0 asks whether there is a value: no guard on a version.
  bool ignores(const Compare& compare) const {
    const bool of_value =
        compare.target == CompareTarget::kValue ||
        (compare.target == CompareTarget::kCreate && compare.number == 0);
    return policy_.wrong_ignore_guards && !of_value;
  }
  std::optional<Error> decide(const Store& store, const TxnRequest& txn) {
    bool all = true;
    for (const Compare& compare : txn.compare)
      all = all && (ignores(compare) || holds(store, compare));
    taken_.push_back(all);
    for (const RequestOp& op : all ? txn.success : txn.failure) {
      std::optional<Error> error;
      if (const auto* nested = std::get_if<TxnRequest>(&op.body)) {
        error = decide(store, *nested);
      } else if (const auto* read = std::get_if<RangeRequest>(&op.body)) {
        error = check_revision(store, read->revision);
      }
      if (error) return error;
    }
    return std::nullopt;
  }

  ServicePolicy policy_;
  std::vector<bool> taken_;
  size_t at_ = 0;
};

Response put(Store& store, PutRequest request) {
  PutResponse response;
  KeyValuePtr before = store.put(std::move(request.key), std::move(request.value));
  if (request.prev_kv) response.prev_kv = std::move(before);
  return {store.visible(), std::move(response)};
}

Response remove(Store& store, const DeleteRangeRequest& request) {
  DeleteRangeResponse response;
  std::vector<KeyValuePtr> removed = store.remove(request.key, request.range_end);
  response.deleted = static_cast<int64_t>(removed.size());
  if (request.prev_kv) response.prev_kvs = std::move(removed);
  return {store.visible(), std::move(response)};
}

// StoreRef is Store& or, for a transaction of reads alone, const Store&.
template <typename StoreRef>
TxnResponse run_txn(StoreRef& store, TxnRequest& txn, Path& path) {
  TxnResponse response;
  response.succeeded = path.next();
  for (RequestOp& op : response.succeeded ? txn.success : txn.failure) {
    if (auto* nested = std::get_if<TxnRequest>(&op.body)) {
      response.responses.push_back({Revision{}, run_txn(store, *nested, path)});
    } else if (auto* read = std::get_if<RangeRequest>(&op.body)) {
      response.responses.push_back(std::get<Response>(range(store, *read)));
    } else if constexpr (!std::is_const_v<StoreRef>) {
      if (auto* write = std::get_if<PutRequest>(&op.body)) {
        response.responses.push_back(put(store, std::move(*write)));
      } else {
        response.responses.push_back(remove(store, std::get<DeleteRangeRequest>(op.body)));
      }
    }
  }
  return response;
}

template <typename StoreRef>
Result txn(StoreRef& store, const ServicePolicy& policy, TxnRequest request) {
  auto path = Path::of(store, policy, request);
  if (const auto* error = std::get_if<Error>(&path)) return *error;
  TxnResponse response = run_txn(store, request, std::get<Path>(path));
  return Response{store.visible(), std::move(response)};
}

}  // namespace

Result Service::apply(Request request, int64_t wall_ms) {
  if (auto error = validate(request)) return *error;
  store_.set_time(wall_ms);
  if (const auto* compaction = std::get_if<CompactionRequest>(&request)) {
    return apply_compaction(*compaction);
  }
  if (const auto* read = std::get_if<RangeRequest>(&request)) return range(store_, *read);
  Result result = std::visit(
      [&](auto& body) -> Result {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, PutRequest>) return put(store_, std::move(body));
        if constexpr (std::is_same_v<Body, DeleteRangeRequest>) return remove(store_, body);
        if constexpr (std::is_same_v<Body, TxnRequest>)
          return txn(store_, policy_, std::move(body));
        return kEmptyKey;
      },
      request);
  store_.seal();
  return result;
}

Result Service::query(const Request& request) const {
  if (auto error = validate(request)) return *error;
  if (const auto* read = std::get_if<RangeRequest>(&request)) return range(store_, *read);
  const auto* reads = std::get_if<TxnRequest>(&request);
  if (reads == nullptr || !is_read_only(request)) return kEmptyKey;
  return txn(store_, policy_, *reads);
}

Result Service::apply_compaction(const CompactionRequest& request) {
  if (request.revision <= store_.compacted()) return kCompacted;
  if (request.revision > store_.revision()) return kFutureRevision;
  store_.compact(request.revision);
  return Response{store_.revision(), CompactionResponse{}};
}

}  // namespace assay::kv
