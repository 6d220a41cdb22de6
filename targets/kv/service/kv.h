// What the versioned store is asked and what it answers: etcd v3's key-value service as plain data.
// No HTTP, JSON or gRPC in it. Names, defaults and errors are those of etcd 3.4's rpc.proto.
//
// Keys and values are bytes. Revisions count accepted changes of the whole store: each put, delete
// or transaction that changes something advances the revision by one, and everything it changes
// carries that revision.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::kv {

// An empty store has revision 1, as etcd's. As a request's field, 0 means "now".
struct Revision {
  int64_t value = 0;
  friend constexpr auto operator<=>(Revision, Revision) = default;
  friend constexpr Revision operator+(Revision r, int64_t n) { return {r.value + n}; }
};

// One version of a key. A deletion leaves a tombstone: version 0, no value, create_revision 0.
struct KeyValue {
  std::string key;
  Revision create_revision;  // of the creation that this version descends from
  Revision mod_revision;     // of the change that made this version
  int64_t version = 0;       // changes since the creation, which is 1
  std::string value;
  int64_t token = 0;  // what guards compare in a store whose token is not mod_revision; 0: it is

  bool tombstone() const { return version == 0; }
};
using KeyValuePtr = std::shared_ptr<const KeyValue>;  // never null in what this folder hands out

// What a guard on MOD compares, and what an answer shows as mod_revision. All but the revision are
// wrong on purpose: the first two come back, and the third goes backwards with a clock.
enum class TokenKind : uint8_t {
  kRevision,
  kContentHash,  // of the value
  kKeyCounter,   // the key's version: from 1 again when it is made anew
  kWallClock,    // milliseconds, of the clock of the node that took the request
};

// --- Requests ----------------------------------------------------------------------------------
// A range is the key alone when range_end is empty, all keys from `key` on when range_end is one
// zero byte, else [key, range_end).

struct RangeRequest {
  std::string key;
  std::string range_end;
  int64_t limit = 0;          // 0 or less: none
  Revision revision;          // 0 or less: now
  bool serializable = false;  // may be answered by any member from what it has applied
  bool keys_only = false;
  bool count_only = false;
};

struct PutRequest {
  std::string key;
  std::string value;
  bool prev_kv = false;
};

struct DeleteRangeRequest {
  std::string key;
  std::string range_end;
  bool prev_kv = false;
};

enum class CompareTarget : uint8_t { kVersion = 0, kCreate = 1, kMod = 2, kValue = 3 };
enum class CompareResult : uint8_t { kEqual = 0, kGreater = 1, kLess = 2, kNotEqual = 3 };

// Holds when it holds for every key of the range; a key that is absent counts as all zeros, except
// that no comparison of values holds for it.
struct Compare {
  CompareTarget target = CompareTarget::kVersion;
  CompareResult result = CompareResult::kEqual;
  std::string key;
  std::string range_end;
  int64_t number = 0;  // version, create or mod revision
  std::string value;   // of kValue
};

struct RequestOp;

// All comparisons, those of nested transactions too, are made on the state before the first change.
struct TxnRequest {
  std::vector<Compare> compare;
  std::vector<RequestOp> success;  // done in order when all comparisons hold
  std::vector<RequestOp> failure;  // else
};

struct RequestOp {
  std::variant<RangeRequest, PutRequest, DeleteRangeRequest, TxnRequest> body;
};

// Drops the history before a revision; reads there then fail.
struct CompactionRequest {
  Revision revision;
};

using Request =
    std::variant<RangeRequest, PutRequest, DeleteRangeRequest, TxnRequest, CompactionRequest>;

// A range, or a transaction of nothing but ranges.
bool is_read_only(const Request& request);
// A read-only request all of whose ranges are serializable, and which has one.
bool is_serializable(const Request& request);

// --- Responses ---------------------------------------------------------------------------------

struct RangeResponse {
  std::vector<KeyValuePtr> kvs;  // ascending by key; without values when keys_only
  bool more = false;             // the limit cut it short
  int64_t count = 0;             // keys in the range, regardless of the limit
};

struct PutResponse {
  KeyValuePtr prev_kv;  // null: not asked for, or the key was absent
};

struct DeleteRangeResponse {
  int64_t deleted = 0;
  std::vector<KeyValuePtr> prev_kvs;  // when asked for
};

struct Response;

struct TxnResponse {
  bool succeeded = false;
  std::vector<Response> responses;  // one per op of the branch taken
};

struct CompactionResponse {};

struct Response {
  // The header's revision: the store's after the request; 0 (absent) in a nested transaction's.
  Revision revision;
  std::variant<RangeResponse, PutResponse, DeleteRangeResponse, TxnResponse, CompactionResponse>
      body;
};

// A request that the store refuses: nothing was changed. The code is gRPC's.
struct Error {
  int code = 0;
  std::string_view message;  // static text

  friend bool operator==(const Error&, const Error&) = default;
};

inline constexpr Error kEmptyKey{3, "etcdserver: key is not provided"};
inline constexpr Error kDuplicateKey{3, "etcdserver: duplicate key given in txn request"};
inline constexpr Error kTooManyOps{3, "etcdserver: too many operations in txn request"};
inline constexpr Error kRequestTooLarge{3, "etcdserver: request is too large"};
inline constexpr Error kCompacted{11, "etcdserver: mvcc: required revision has been compacted"};
inline constexpr Error kFutureRevision{11,
                                       "etcdserver: mvcc: required revision is a future revision"};

using Result = std::variant<Response, Error>;

}  // namespace assay::kv
