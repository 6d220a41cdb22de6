// Any bytes as an HTTP request to the front: it must answer, and what it answers must be JSON where
// it says so. The first byte chooses the path, and whether the others are the body itself or each
// a word of it: so that whole transactions are found within seconds.
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
  if (service.revision().value > 1000) service = Service();
  if (const auto* error = std::get_if<Error>(&result)) return render(*error);
  return render(Header{1, 2, 3}, std::get<Response>(result));
}

std::string body_of_words(std::string_view bytes) {
  static constexpr std::string_view kWords[] = {"{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "null",
                                                "true",
                                                "0",
                                                "-1",
                                                "1.5",
                                                "1e9",
                                                "\"\"",
                                                "\"YQ==\"",
                                                "\"Yg==\"",
                                                "\"AA==\"",
                                                "\"YQ=\"",
                                                "\"2\"",
                                                "\"9999\"",
                                                "\"x\"",
                                                "\"key\":",
                                                "\"value\":",
                                                "\"range_end\":",
                                                "\"rangeEnd\":",
                                                "\"limit\":",
                                                "\"revision\":",
                                                "\"keys_only\":",
                                                "\"count_only\":",
                                                "\"serializable\":",
                                                "\"prev_kv\":",
                                                "\"lease\":",
                                                "\"sort_order\":",
                                                "\"compare\":[{",
                                                "\"success\":[{",
                                                "\"failure\":[{",
                                                "}]",
                                                "},{",
                                                "\"target\":",
                                                "\"result\":",
                                                "\"VALUE\"",
                                                "\"MOD\"",
                                                "\"CREATE\"",
                                                "\"GREATER\"",
                                                "\"NOT_EQUAL\"",
                                                "\"mod_revision\":",
                                                "\"version\":",
                                                "\"request_put\":{\"key\":\"YQ==\"}",
                                                "\"request_range\":{\"key\":\"YQ==\"}",
                                                "\"request_delete_range\":{\"key\":\"YQ==\"}",
                                                "\"request_txn\":{",
                                                "\"request_put\":{",
                                                "\"request_range\":{",
                                                "\"request_delete_range\":{",
                                                "\"\\u0000\"",
                                                "\"\xff\"",
                                                " "};
  std::string body;
  for (const char byte : bytes) {
    body += kWords[static_cast<unsigned char>(byte) % std::size(kWords)];
  }
  return body;
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
  const std::string_view path = kPaths[choice % std::size(kPaths)];
  if (choice < 0x80) {
    assay::kv::check_answer(assay::kv::answer({"POST", path, assay::kv::body_of_words(rest)}));
  } else if (choice < 0xf0) {
    assay::kv::check_answer(assay::kv::answer({"POST", path, rest}));
  } else {
    assay::kv::check_answer(assay::kv::answer({"GET", rest, ""}));
    assay::kv::check_answer(assay::kv::answer({rest, "/v3/kv/put", rest}));
  }
  return 0;
}
