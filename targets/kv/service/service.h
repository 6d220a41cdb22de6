// Service: etcd v3's key-value service as a deterministic state machine. The same requests in the
// same order give the same results and the same state on every member.
//
// It must answer as etcd 3.4 does, revisions included (testdata/ holds etcd's own answers).
// Copyable: a copy is independent and shares the stored versions. Not thread-safe.
#pragma once

#include "targets/kv/service/kv.h"
#include "targets/kv/service/store.h"

namespace assay::kv {

// Wrong on purpose; each leaves out one step.
struct ServicePolicy {
  // Leaves out: the comparison of a key's token (MOD; CREATE and VERSION). Whatever guards a write, it
  // happens; what compares values is looked at.
  bool wrong_ignore_guards = false;
  // Leaves out: that every change has a token of its own.
  TokenKind token = TokenKind::kRevision;
};

class Service {
 public:
  explicit Service(ServicePolicy policy = {}) : policy_(policy), store_(policy.token) {}
  // Takes the place of the whole state; the policy stays.
  void restore(Store store) { store_.become(std::move(store)); }

  // Any request, as one atomic step. An Error means that nothing changed. Takes the request by
  // value: keys and values are moved into the store.
  // The time is that of a wall clock; it plays a part only where tokens are times.
  Result apply(Request request, int64_t wall_ms = 0);

  // A read-only request (is_read_only); another one is a programmer's mistake and gets kEmptyKey.
  Result query(const Request& request) const;

  Revision revision() const { return store_.revision(); }
  Revision compacted() const { return store_.compacted(); }
  uint64_t state_hash() const { return store_.state_hash(); }
  const Store& store() const { return store_; }

 private:
  Result apply_compaction(const CompactionRequest& request);

  ServicePolicy policy_;
  Store store_;
};

}  // namespace assay::kv
