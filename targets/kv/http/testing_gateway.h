// The recorded conversation with etcd's JSON gateway (testdata/gateway.txt), and what counts as the
// same answer; and a store that is nothing but the front and the service. Tests only.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "targets/kv/http/http_front.h"
#include "targets/kv/service/service.h"

namespace assay::kv {

struct GatewayCall {
  int line = 0;
  std::string method;
  std::string target;
  std::string body;
  int status = 0;  // etcd's
  std::string answer;
  std::vector<std::string> lines;  // of an answer that is a stream: each line
  int own_status = 0;  // not 0: this store answers otherwise on purpose, with that status …
  int own_code = 0;    // … and that code
};

inline std::vector<GatewayCall> read_gateway_calls(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<GatewayCall> calls;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "=") {
      words >> calls.back().status;
      std::getline(words >> std::ws, calls.back().answer);
      calls.back().lines.push_back(calls.back().answer);
    } else if (first == "~") {
      words >> calls.back().own_status >> calls.back().own_code;
    } else {
      GatewayCall& call = calls.emplace_back();
      call.line = number;
      call.method = first;
      words >> call.target;
      std::getline(words >> std::ws, call.body);
    }
  }
  return calls;
}

// Everything but ids and terms; error texts count where they are the store's or base64's, and not
// where they are those of Go's JSON parser.
inline nlohmann::json comparable(const std::string& text) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return "no JSON";
  nlohmann::json& answer = value.contains("result") ? value["result"] : value;
  if (answer.contains("header")) {
    for (const char* id : {"cluster_id", "member_id", "raft_term"}) answer["header"].erase(id);
  }
  for (const char* name : {"error", "message"}) {
    if (!value.contains(name)) continue;
    const std::string words = value[name];
    if (!words.starts_with("etcdserver:") && !words.starts_with("illegal base64")) {
      value[name] = "words";
    }
  }
  return value;
}

class FrontedService {
 public:
  HttpResponse answer(const HttpRequest& http) {
    auto parsed = parse_http(http);
    if (auto* refused = std::get_if<HttpResponse>(&parsed)) return *refused;
    auto& request = std::get<FrontRequest>(parsed);
    if (std::holds_alternative<HealthQuery>(request)) return render_health(true);
    if (auto* watch = std::get_if<WatchRequest>(&request)) return lines_of(*watch);
    Result result = service_.apply(std::get<Request>(request));
    if (const auto* error = std::get_if<Error>(&result)) return render(*error);
    return render(Header{1, 2, 3}, std::get<Response>(result));
  }

  Service& service() { return service_; }

 private:
  // All that a watch has to tell now.
  HttpResponse lines_of(const WatchRequest& request) const {
    HttpResponse response;
    Watcher watcher(request, service_.store());
    while (const auto told = watcher.next(service_.store())) {
      response.body += render_line(Header{1, 2, 3}, *told);
    }
    return response;
  }

  Service service_;
};

}  // namespace assay::kv
