// Responder: the one answer to one request.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace assay::agent {

class Responder {
 public:
  using Emit = std::function<void(nlohmann::json)>;
  Responder(int64_t id, Emit emit) : id_(id), emit_(std::move(emit)) {}

  void ok(nlohmann::json fields = nlohmann::json::object()) const {
    fields["id"] = id_;
    fields["ok"] = true;
    emit_(std::move(fields));
  }
  void fail(const std::string& why) const { emit_({{"id", id_}, {"error", why}}); }

 private:
  int64_t id_;
  Emit emit_;
};

}  // namespace assay::agent
