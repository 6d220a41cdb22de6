#include "targets/kv/http/kv_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>

#include "checkers/history/history_io.h"
#include "targets/asio/asio_loop.h"
#include "targets/kv/http/base64.h"
#include "targets/kv/http/error_table.h"
#include "targets/kv/http/json_node.h"

namespace assay {
namespace {

using kv::JsonNode;

constexpr Nanos kQuestionDeadline = seconds(1);

// --- What is sent --------------------------------------------------------------------------------

void append_bytes(std::string& out, std::string_view name, std::string_view bytes) {
  out.append("\"").append(name).append("\":\"");
  append_base64(out, bytes);
  out += '"';
}

std::string with_key(const Op& op, const KvClientOptions& options) {
  std::string out;
  out.reserve(128);
  out += '{';
  if (options.key_prefix.empty()) {
    append_bytes(out, "key", op.key.text());
  } else {
    append_bytes(out, "key", options.key_prefix + std::string(op.key.text()));
  }
  return out;
}

std::string range_body(const Op& op, const KvClientOptions& options) {
  return with_key(op, options) + (options.serializable_reads ? R"(,"serializable":true})" : "}");
}

std::string put_body(const Op& op, const Value& value, const KvClientOptions& options) {
  std::string out = with_key(op, options) + ',';
  append_bytes(out, "value", value.to_json());
  return out += '}';
}

bool guarded(const Op& op) { return op.f != f::read && !op.expected.none(); }

// Null: the key is absent afterwards.
Value new_value_of(const Op& op) {
  if (op.f == f::delete_) return {};
  return op.f == f::cas ? op.value.as_array()[1] : op.value;
}

std::string txn_body(const Op& op, const KvClientOptions& options) {
  const Value new_value = new_value_of(op);
  const std::string key = with_key(op, options);
  std::string out = R"({"compare":[)" + key;
  if (guarded(op)) {
    ASSAY_CHECK(op.expected.is_number(), "guard %s", op.expected.to_value().to_json().c_str());
    out += R"(,"target":"MOD","mod_revision":")" + std::to_string(op.expected.number()) + '"';
  } else if (const Value& old_value = op.value.as_array()[0]; old_value.is_null()) {
    out += R"(,"target":"CREATE","create_revision":"0")";
  } else {
    out += R"(,"target":"VALUE",)";
    append_bytes(out, "value", old_value.to_json());
  }
  out += R"(}],"success":[{)";
  if (new_value.is_null()) {
    out += R"("request_delete_range":)" + key + '}';
  } else {
    out += R"("request_put":)" + put_body(op, new_value, options);
  }
  return out += R"(}],"failure":[{"request_range":)" + key + "}}]}";
}

// --- What comes back -----------------------------------------------------------------------------

Op unknown(const Op& op, std::string_view cls, std::string text) {
  return complete(op, OpType::kInfo, {Symbol(cls), std::move(text), {}, {}});
}
Op failed(const Op& op, std::string_view cls, std::string text) {
  return complete(op, OpType::kFail, {Symbol(cls), std::move(text), {}, {}});
}
Op malformed(const Op& op) { return unknown(op, "malformed", "the answer makes no sense"); }

// A 64-bit number as the gateway writes it; absent is 0.
std::optional<int64_t> number_in(const JsonNode& object, std::string_view name) {
  const JsonNode* node = object.find(name);
  if (node == nullptr) return 0;
  if (node->kind == JsonNode::Kind::kInteger) return node->integer;
  if (node->kind != JsonNode::Kind::kString || node->text.empty()) return std::nullopt;
  char* end = nullptr;
  const int64_t number = std::strtoll(node->text.c_str(), &end, 10);
  if (*end != '\0') return std::nullopt;
  return number;
}

std::optional<int64_t> revision_of(const JsonNode& answer) {
  const JsonNode* header = answer.find("header");
  if (header == nullptr) return std::nullopt;
  const auto revision = number_in(*header, "revision");
  return revision && *revision > 0 ? revision : std::nullopt;
}

// The one key of a range's answer.
struct Found {
  int64_t mod_revision = 0;  // 0: absent
  std::string value;
};
std::optional<Found> found_in(const JsonNode& range) {
  const JsonNode* kvs = range.find("kvs");
  if (kvs == nullptr || kvs->children.empty()) return Found{};
  const JsonNode& kv = kvs->children[0];
  const auto revision = number_in(kv, "mod_revision");
  if (!revision || *revision == 0) return std::nullopt;
  Found found{*revision, ""};
  const JsonNode* value = kv.find("value");
  if (value == nullptr) return found;
  auto decoded = decode_base64(value->text);
  if (std::holds_alternative<BadBase64>(decoded)) return std::nullopt;
  found.value = std::move(std::get<std::string>(decoded));
  return found;
}

Op read_completion(const Op& op, const JsonNode& answer) {
  const auto at = revision_of(answer);
  const auto found = found_in(answer);
  if (!at || !found) return malformed(op);
  Op done = complete(op, OpType::kOk);
  done.value = Value();
  if (found->mod_revision != 0) {
    // What others have stored there may be no JSON: then it is text.
    const auto value = parse_value(found->value);
    done.value = value ? *value : Value(found->value);
  }
  done.revision = Token(found->mod_revision);
  done.at = Token(*at);
  return done;
}

Op change_completion(const Op& op, const JsonNode& answer) {
  const auto at = revision_of(answer);
  if (!at) return malformed(op);
  Op done = complete(op, OpType::kOk);
  done.revision = Token(new_value_of(op).is_null() ? 0 : *at);
  done.at = Token(*at);
  return done;
}

Op txn_completion(const Op& op, const JsonNode& answer) {
  const JsonNode* succeeded = answer.find("succeeded");
  if (succeeded != nullptr && succeeded->truth) return change_completion(op, answer);
  const auto at = revision_of(answer);
  const JsonNode* responses = answer.find("responses");
  if (!at || responses == nullptr || responses->children.empty()) return malformed(op);
  const JsonNode* range = responses->children[0].find("response_range");
  const auto found = range == nullptr ? std::nullopt : found_in(*range);
  if (!found) return malformed(op);
  Op done = guarded(op) ? failed(op, "conflict", "the key has changed")
                        : failed(op, "mismatch", "the value is another");
  done.error->current = Token(found->mod_revision);
  done.at = Token(*at);
  return done;
}

Op done_completion(const Op& op, const JsonNode& answer) {
  if (op.f == f::read) return read_completion(op, answer);
  if (op.f == f::cas || guarded(op)) return txn_completion(op, answer);
  return change_completion(op, answer);
}

// Statuses with which an HTTP layer turns a request away before the store has seen it.
bool before_the_store(int status) {
  return status == 400 || status == 404 || status == 405 || status == 413 || status == 431;
}

Op error_completion(const Op& op, int status, const JsonNode* answer) {
  const JsonNode* code = answer == nullptr ? nullptr : answer->find("code");
  const JsonNode* message = answer == nullptr ? nullptr : answer->find("error");
  if (code == nullptr || message == nullptr) {
    const std::string text = "HTTP status " + std::to_string(status);
    return before_the_store(status) ? failed(op, "invalid", text) : unknown(op, "unknown", text);
  }
  const kv::ErrorMeaning& meaning = kv::meaning_of(static_cast<int>(code->integer), message->text);
  return meaning.definite ? failed(op, meaning.cls, message->text)
                          : unknown(op, meaning.cls, message->text);
}

// --- The client ----------------------------------------------------------------------------------

class KvClient : public Client {
 public:
  KvClient(boost::asio::io_context& context, const NodeInfo& node, KvClientOptions options)
      : context_(context), http_(context, node.address, node.client_port), options_(options) {}

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (auto refusal = kv_refusal_of(op)) {
      boost::asio::post(context_,
                        [done = std::move(done), refusal = std::move(*refusal)]() mutable {
                          done(std::move(refusal));
                        });
      return;
    }
    const KvCall call = kv_call_of(op, options_);
    http_.request("POST", call.target, call.body, [op, done = std::move(done)](HttpReply reply) {
      done(kv_completion_of(op, std::move(reply)));
    });
  }

 private:
  boost::asio::io_context& context_;
  HttpClient http_;
  const KvClientOptions options_;
};

Error no_sockets() {
  return environment_error("this target needs a loop with sockets: it cannot run in virtual time");
}

// --- Questions -----------------------------------------------------------------------------------

Result<std::string> body_of(HttpReply reply) {
  if (reply.fate == HttpReply::Fate::kNotSent) return environment_error("refused");
  if (reply.fate == HttpReply::Fate::kLost) return environment_error("reset");
  if (reply.status != 200) {
    return environment_error("HTTP status " + std::to_string(reply.status));
  }
  return std::move(reply.body);
}

// One request, and whoever waits for it. The timer owns it; the client's callback only looks.
struct Question {
  Question(boost::asio::io_context& context, const NodeInfo& node, Callback<std::string> d)
      : client(context, node.address, node.client_port), done(std::move(d)) {}
  HttpClient client;
  Callback<std::string> done;

  void answer(Result<std::string> body) {
    if (auto first = std::exchange(done, nullptr)) first(std::move(body));
  }
};

void ask_value(Loop& loop, const NodeInfo& node, std::string_view target, Callback<Value> done) {
  ask_kv(loop, node, "GET", target, "", [done = std::move(done)](const Result<std::string>& body) {
    body ? done(parse_value(*body)) : done(body.error());
  });
}

}  // namespace

std::optional<Op> kv_refusal_of(const Op& op) {
  if (!guarded(op) || op.expected.is_number()) return std::nullopt;
  return failed(
      op, "invalid",
      "a guard of this store is a number, and this is " + op.expected.to_value().to_json());
}

KvCall kv_call_of(const Op& op, const KvClientOptions& options) {
  if (op.f == f::read) return {"/v3/kv/range", range_body(op, options)};
  if (op.f == f::cas || guarded(op)) return {"/v3/kv/txn", txn_body(op, options)};
  if (op.f == f::delete_) return {"/v3/kv/deleterange", with_key(op, options) + '}'};
  ASSAY_CHECK(op.f == f::write, "operation %s", std::string(op.f.text()).c_str());
  if (op.value.is_null()) return {"/v3/kv/deleterange", with_key(op, options) + '}'};
  return {"/v3/kv/put", put_body(op, op.value, options)};
}

Op kv_completion_of(const Op& op, HttpReply reply) {
  if (reply.fate == HttpReply::Fate::kNotSent) return failed(op, "refused", reply.error);
  if (reply.fate == HttpReply::Fate::kLost) return unknown(op, "reset", reply.error);
  const auto json = kv::parse_json(reply.body);
  const auto* answer = std::get_if<JsonNode>(&json);
  if (reply.status != 200) return error_completion(op, reply.status, answer);
  return answer == nullptr ? malformed(op) : done_completion(op, *answer);
}

std::unique_ptr<Client> make_kv_client(Loop& loop, const NodeInfo& node, KvClientOptions options) {
  boost::asio::io_context* context = context_of(loop);
  if (context == nullptr) return nullptr;
  return std::make_unique<KvClient>(*context, node, options);
}

void open_kv_client(Loop& loop, const NodeInfo& node, KvClientOptions options,
                    Callback<std::unique_ptr<Client>> done) {
  loop.post([&loop, node, options, done = std::move(done)] {
    auto client = make_kv_client(loop, node, options);
    if (!client) return done(no_sockets());
    done(std::move(client));
  });
}

void ask_kv(Loop& loop, const NodeInfo& node, std::string_view method, std::string_view target,
            std::string_view body, Callback<std::string> done) {
  boost::asio::io_context* context = context_of(loop);
  if (context == nullptr) return loop.post([done = std::move(done)] { done(no_sockets()); });
  auto question = std::make_shared<Question>(*context, node, std::move(done));
  question->client.request(method, target, body, [weak = std::weak_ptr(question)](HttpReply reply) {
    if (const auto q = weak.lock()) q->answer(body_of(std::move(reply)));
  });
  loop.at(loop.now() + kQuestionDeadline,
          [question] { question->answer(environment_error("timeout")); });
}

void fetch_kv_status(Loop& loop, const NodeInfo& node, Callback<Value> done) {
  ask_value(loop, node, "/assay/status", std::move(done));
}

void fetch_kv_chain(Loop& loop, const NodeInfo& node, int64_t count, Callback<Value> done) {
  ask_value(loop, node, "/assay/chain?last=" + std::to_string(count), std::move(done));
}

}  // namespace assay
