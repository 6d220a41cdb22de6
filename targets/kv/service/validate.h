// What is wrong with a request regardless of the store's state, as etcd's front checks it.
#pragma once

#include <optional>

#include "targets/kv/service/kv.h"

namespace assay::kv {

inline constexpr size_t kTxnOpsMax = 128;                // comparisons or operations in one list
inline constexpr int kTxnDepthMax = 16;                  // transactions within transactions
inline constexpr size_t kRequestBytesMax = 1536 * 1024;  // encoded

// A missing key, too many operations, or a key that one transaction would change twice.
std::optional<Error> validate(const Request& request);

}  // namespace assay::kv
