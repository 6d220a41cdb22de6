// Base64 with padding, as Go's encoding/base64 reads and writes it: line breaks are skipped, bits
// that pad the last byte are not looked at, and an error names the byte at which Go gives up.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace assay {

void append_base64(std::string& out, std::string_view bytes);

struct BadBase64 {
  size_t at = 0;  // "illegal base64 data at input byte 3"
};
std::variant<std::string, BadBase64> decode_base64(std::string_view text);

}  // namespace assay
