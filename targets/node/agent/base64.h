// Base64 (RFC 4648, with padding) for file contents on a JSON line.
#pragma once

#include <string>
#include <string_view>

#include "checkers/history/error.h"

namespace assay::agent {

std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

}  // namespace assay::agent
