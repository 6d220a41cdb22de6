// Any bytes as an HTTP request to the front: it must answer, and what it answers must be JSON where
// it says so. The first byte chooses the path.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "targets/kv/http/http_front.h"
#include "targets/kv/service/service.h"

namespace assay::kv {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_answer(const HttpResponse& response) {
  require(response.status >= 200 && response.status < 600);
  if (response.content_type != "application/json") return;
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  require(json.is_object());
}

HttpResponse answer(const HttpRequest& http) {
  auto parsed = parse_http(http);
  if (auto* refused = std::get_if<HttpResponse>(&parsed)) return std::move(*refused);
  auto* request = std::get_if<Request>(&std::get<FrontRequest>(parsed));
  if (request == nullptr) return render_health(true);
  static Service service;
  Result result = service.apply(std::move(*request));
  if (service.revision().value > 1000) service = {};
  if (const auto* error = std::get_if<Error>(&result)) return render(*error);
  return render(Header{1, 2, 3}, std::get<Response>(result));
}

}  // namespace
}  // namespace assay::kv

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static constexpr std::string_view kPaths[] = {
      "/v3/kv/range",      "/v3/kv/put",     "/v3/kv/txn",   "/v3/kv/deleterange",
      "/v3/kv/compaction", "/v3/kv/txn?a=b", "/assay/chain", "/v3/maintenance/status",
  };
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view rest = bytes.substr(1);
  const uint8_t choice = data[0];
  if (choice < 0xf0) {
    assay::kv::check_answer(assay::kv::answer({"POST", kPaths[choice % std::size(kPaths)], rest}));
  } else {
    assay::kv::check_answer(assay::kv::answer({"GET", rest, ""}));
    assay::kv::check_answer(assay::kv::answer({rest, "/v3/kv/put", rest}));
  }
  return 0;
}
