// Service: etcd v3's key-value service as a deterministic state machine. The same requests in the
// same order give the same results and the same state on every member.
//
// It must answer as etcd 3.4 does, revisions included (testdata/ holds etcd's own answers).
// Copyable: a copy is independent and shares the stored versions. Not thread-safe.
#pragma once

#include "targets/kv/service/kv.h"
#include "targets/kv/service/store.h"

namespace assay::kv {

class Service {
 public:
  Service() = default;
  explicit Service(Store store) : store_(std::move(store)) {}

  // Any request, as one atomic step. An Error means that nothing changed. Takes the request by
  // value: keys and values are moved into the store.
  Result apply(Request request);

  // A read-only request (is_read_only); another one is a programmer's mistake and gets kEmptyKey.
  Result query(const Request& request) const;

  Revision revision() const { return store_.revision(); }
  Revision compacted() const { return store_.compacted(); }
  uint64_t state_hash() const { return store_.state_hash(); }
  const Store& store() const { return store_; }

 private:
  Result apply_compaction(const CompactionRequest& request);

  Store store_;
};

}  // namespace assay::kv
