// The binary form of requests, as the replicated log holds them. One request has one form: what
// decodes encodes to the same bytes, and anything else is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "targets/kv/service/kv.h"

namespace assay::kv {

void encode(const Request& request, std::string& out);  // appends
std::optional<Request> decode(std::string_view bytes);

}  // namespace assay::kv
