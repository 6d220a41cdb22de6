// What HTTP servers and handlers exchange. Plain data.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Views are valid during the call of the handler only.
struct HttpRequest {
  std::string_view method;  // "POST"
  std::string_view target;  // path and query, as sent
  std::string_view body;
};

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "application/json";  // static text
  std::string body;
};

}  // namespace assay
