#include "targets/kv/http/error_table.h"

namespace assay::kv {
namespace {

constexpr ErrorMeaning kMeanings[] = {
    {kTooManyRequests.code, kTooManyRequests.message, "unavailable", true},
    {kNoLeader.code, kNoLeader.message, "unavailable", true},
    {kNotLeader.code, kNotLeader.message, "not-leader", true},
    {kTimeout.code, kTimeout.message, "timeout", false},
    {14, "etcdserver: request timed out, possibly due to previous leader failure", "timeout",
     false},
    {14, "etcdserver: request timed out, possibly due to connection lost", "timeout", false},
    {1, "", "canceled", false},
    {2, "", "unknown", false},
    {3, "", "invalid", true},
    {4, "", "timeout", false},
    {5, "", "not-found", true},
    {6, "", "exists", true},
    {7, "", "denied", true},
    // etcd answers "database space exceeded" to changes that it has applied.
    {8, "", "exhausted", false},
    {9, "", "precondition", true},
    {10, "", "aborted", false},
    {11, "", "out-of-range", true},
    {12, "", "unimplemented", true},
    {13, "", "internal", false},
    // Nothing in the code says whether it was before or after the append: only messages do.
    {14, "", "unknown", false},
    {15, "", "data-loss", false},
    {16, "", "denied", true},
};

constexpr ErrorMeaning kNotInTheTable{2, "", "unknown", false};

constexpr int kHttpStatus[] = {200, 408, 500, 400, 504, 404, 409, 403, 429,
                               400, 409, 400, 501, 500, 503, 500, 401};

}  // namespace

const ErrorMeaning& meaning_of(int code, std::string_view message) {
  for (const ErrorMeaning& row : kMeanings) {
    if (row.code == code && (row.message.empty() || row.message == message)) return row;
  }
  return kNotInTheTable;
}

int http_status_of(int code) {
  return code >= 0 && code < static_cast<int>(std::size(kHttpStatus)) ? kHttpStatus[code] : 500;
}

}  // namespace assay::kv
