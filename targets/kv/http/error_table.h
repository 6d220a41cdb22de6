// What the errors of a store that speaks etcd v3's API mean. The one table: who answers looks up
// the HTTP status here, who asked looks up what became of the operation.
#pragma once

#include <string_view>

#include "targets/kv/service/kv.h"

namespace assay::kv {

struct ErrorMeaning {
  int code = 0;              // gRPC's
  std::string_view message;  // the rows that name one come before the code's general row
  std::string_view cls;      // the operation's error class (targets/target.h)
  bool definite = false;     // the operation was never done and never will be
};

// The row that fits best. What the table does not know is not definite.
const ErrorMeaning& meaning_of(int code, std::string_view message);

// As gRPC's gateway maps codes; a code out of gRPC's range counts as 2, unknown.
int http_status_of(int code);

// Errors of the front and of the replicated store, beside those of the service (kv.h). The
// messages are etcd's where it has such an error.
inline constexpr Error kTooManyRequests{8, "etcdserver: too many requests"};
inline constexpr Error kUnimplemented{12, "etcdserver: not implemented"};
// Refused before anything was appended to a log.
inline constexpr Error kNotLeader{9, "etcdserver: not leader"};
inline constexpr Error kNoLeader{14, "etcdserver: no leader"};
// The request may have been done, or may yet be.
inline constexpr Error kLeaderChanged{14, "etcdserver: leader changed"};
inline constexpr Error kTimeout{14, "etcdserver: request timed out"};
inline constexpr Error kStopped{14, "etcdserver: server stopped"};

}  // namespace assay::kv
