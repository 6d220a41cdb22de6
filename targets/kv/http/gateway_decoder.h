// GatewayDecoder: JSON to the service's requests, by the rules of gRPC's gateway (jsonpb). Private
// to http_front.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "targets/kv/http/json_node.h"
#include "targets/kv/service/kv.h"
#include "targets/kv/service/watcher.h"

namespace assay::kv {

// What is wrong with a request, for its sender.
struct Refusal {
  int code = 0;  // 0: nothing
  std::string message;
};

// One message of the stream that a client of the watch service sends.
struct WatchBody {
  std::optional<WatchRequest> create;
};

// Keeps the first thing that is wrong; what is decoded is good only if there is none.
class GatewayDecoder {
 public:
  // null leaves the defaults, as an absent body does.
  template <typename Message>
  void message(const JsonNode& node, Message& out) {
    if (!object(node)) return;
    for (const JsonNode& member : node.children) field(member, out);
  }
  // A message without fields that matter.
  void message(const JsonNode& node) { object(node); }

  const Refusal& refusal() const { return refusal_; }

 private:
  struct OpSlot;
  struct Union;
  enum class WatchFilter : uint8_t { kNoPut, kNoDelete };

  void refuse(int code, std::string message);
  void mistyped(const JsonNode& node, std::string_view wanted);
  void unimplemented(const JsonNode& node);

  bool object(const JsonNode& node);
  void bytes(const JsonNode& node, std::string& out);
  void number(const JsonNode& node, int64_t& out);
  void number_in_string(const JsonNode& node, int64_t& out);
  void flag(const JsonNode& node, bool& out);
  template <typename Enum, size_t kCount>
  void choice(const JsonNode& node, const std::string_view (&names)[kCount], std::string_view type,
              Enum& out);
  template <typename Message>
  void list(const JsonNode& node, std::vector<Message>& out);
  // Fields that ask for what is not there, unless they hold their default.
  void must_be_zero(const JsonNode& node);
  void must_be_false(const JsonNode& node);
  void must_be_choice(const JsonNode& node, std::string_view default_name, std::string_view also);

  void field(const JsonNode& member, RangeRequest& out);
  void field(const JsonNode& member, PutRequest& out);
  void field(const JsonNode& member, DeleteRangeRequest& out);
  void field(const JsonNode& member, TxnRequest& out);
  void field(const JsonNode& member, CompactionRequest& out);
  void field(const JsonNode& member, WatchBody& out);
  void field(const JsonNode& member, WatchRequest& out);
  void element(const JsonNode& node, WatchFilter& out);
  void field(const JsonNode& member, Union& out);
  void field(const JsonNode& member, OpSlot& out);
  template <typename Body>
  void op_body(const JsonNode& node, OpSlot& out);
  void element(const JsonNode& node, Compare& out);
  void element(const JsonNode& node, RequestOp& out);

  Refusal refusal_;
};

}  // namespace assay::kv
