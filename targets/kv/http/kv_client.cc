#include "targets/kv/http/kv_client.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <optional>

#include "checkers/history/history_io.h"
#include "checkers/history/vocabulary.h"
#include "targets/asio/asio_loop.h"
#include "targets/kv/http/base64.h"
#include "targets/kv/http/error_table.h"
#include "targets/kv/http/json_node.h"
#include "targets/kv/http/kv_watch.h"
#include "targets/kv/http/value_guards.h"

namespace assay {
namespace {

using kv::JsonNode;

constexpr std::pair<std::string_view, KvTokens> kSoundTokens[] = {
    {"revision", KvTokens::kRevision}, {"key-version", KvTokens::kKeyVersion}};
constexpr Nanos kQuestionDeadline = seconds(1);
// Of a client that resends: so long it waits for the first answer.
constexpr Nanos kResendAfter = milliseconds(400);

// --- What is sent --------------------------------------------------------------------------------

void append_bytes(std::string& out, std::string_view name, std::string_view bytes) {
  out.append("\"").append(name).append("\":\"");
  append_base64(out, bytes);
  out += '"';
}

std::string with_key(Symbol key, const KvClientOptions& options) {
  std::string out;
  out.reserve(128);
  out += '{';
  if (options.key_prefix.empty()) {
    append_bytes(out, "key", key.text());
  } else {
    append_bytes(out, "key", options.key_prefix + std::string(key.text()));
  }
  return out;
}
std::string with_key(const Op& op, const KvClientOptions& options) {
  return with_key(op.key, options);
}

std::string range_body(const Op& op, const KvClientOptions& options) {
  return with_key(op, options) + (options.serializable_reads ? R"(,"serializable":true})" : "}");
}

// The first key behind all those with that prefix; one zero byte: there is none.
std::string end_of(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  ++prefix.back();
  return prefix;
}

std::string list_body(const Op& op, const KvClientOptions& options) {
  const std::string prefix = options.key_prefix + std::string(op.key.text());
  std::string out = "{";
  append_bytes(out, "key", prefix.empty() ? std::string(1, '\0') : prefix);
  out += ',';
  append_bytes(out, "range_end", end_of(prefix));
  return out + (options.serializable_reads ? R"(,"serializable":true})" : "}");
}

std::string put_body(Symbol key, const Value& value, const KvClientOptions& options) {
  std::string out = with_key(key, options) + ',';
  append_bytes(out, "value", value.to_json());
  return out += '}';
}

// One operation of a transaction. Null: the key is absent afterwards.
std::string change_body(Symbol key, const Value& value, const KvClientOptions& options) {
  if (value.is_null()) return R"({"request_delete_range":)" + with_key(key, options) + "}}";
  return R"({"request_put":)" + put_body(key, value, options) + '}';
}

bool guarded(const Op& op) {
  const bool change = op.f == f::write || op.f == f::cas || op.f == f::delete_;
  return change && !op.expected.none();
}

// Null: the key is absent afterwards.
Value new_value_of(const Op& op) {
  if (op.f == f::delete_) return {};
  return op.f == f::cas ? op.value.as_array()[1] : op.value;
}

// --- Tokens --------------------------------------------------------------------------------------

const Token kAbsent{int64_t{0}};

// A state of a key as kKeyVersion names it.
struct KeyVersion {
  int64_t created = 0;
  int64_t version = 0;
  Token token() const {
    return Token(Symbol(std::to_string(created) + "." + std::to_string(version)));
  }
};
std::optional<KeyVersion> key_version_of(Token token) {
  if (token.none() || token.is_number()) return std::nullopt;
  const std::string_view text = token.text().text();
  const char* const end = text.data() + text.size();
  KeyVersion of;
  const auto [dot, bad] = std::from_chars(text.data(), end, of.created);
  if (bad != std::errc() || dot == end) return std::nullopt;
  std::from_chars(dot + 1, end, of.version);
  // Nothing but what is written so.
  return of.created > 0 && of.version > 0 && of.token() == token ? std::optional(of) : std::nullopt;
}

bool is_guard_token(Token token, const KvClientOptions& options) {
  if (options.tokens != KvTokens::kKeyVersion) return token.is_number();
  return token == kAbsent || key_version_of(token);
}
Token token_in_guard(const Value& value) {
  if (value.is_int()) return Token(value.as_int());
  return value.is_string() ? Token(value.as_symbol()) : Token();
}

std::string number_compare_of(const std::string& key, const char* target, const char* field,
                              int64_t number) {
  return key + R"(,"target":")" + target + R"(",")" + field + R"(":")" + std::to_string(number) +
         "\"}";
}
std::string compare_of(const std::string& key, Token token, const KvClientOptions& options) {
  ASSAY_CHECK(is_guard_token(token, options), "guard %s", token.to_value().to_json().c_str());
  if (options.tokens != KvTokens::kKeyVersion)
    return number_compare_of(key, "MOD", "mod_revision", token.number());
  const auto of = key_version_of(token);
  if (!of) return number_compare_of(key, "VERSION", "version", 0);
  return number_compare_of(key, "CREATE", "create_revision", of->created) + ',' +
         number_compare_of(key, "VERSION", "version", of->version);
}

// The key has that value.
std::string value_compare_of(const std::string& key, const Value& value) {
  if (value.is_null()) return key + R"(,"target":"CREATE","create_revision":"0"})";
  std::string out = key + R"(,"target":"VALUE",)";
  append_bytes(out, "value", value.to_json());
  return out += '}';
}

// Tokens of keys are not the store's revision.
bool tokens_of_keys(const KvClientOptions& options) {
  return options.tokens == KvTokens::kReadBack || options.tokens == KvTokens::kKeyVersion;
}
bool reads_back(const Op& op, const KvClientOptions& options) {
  return tokens_of_keys(options) && op.f != f::txn && !new_value_of(op).is_null();
}

// A change of one key that is more than a put or a deletion.
bool is_transaction(const Op& op, const KvClientOptions& options) {
  return op.f == f::cas || guarded(op) || reads_back(op, options);
}

std::string guarded_body(const Op& op, const KvClientOptions& options) {
  const std::string key = with_key(op, options);
  std::string out = R"({"compare":[)";
  if (guarded(op)) {
    out += compare_of(key, op.expected, options);
  } else if (op.f == f::cas) {
    out += value_compare_of(key, op.value.as_array()[0]);
  }
  out += R"(],"success":[)" + change_body(op.key, new_value_of(op), options);
  if (reads_back(op, options)) out += R"(,{"request_range":)" + key + "}}";
  return out += R"(],"failure":[{"request_range":)" + key + "}}]}";
}

const Value& guards_of(const Op& op) { return op.extra["guards"]; }

// Each guard is compared and, where one does not hold, each guarded key is read. What was written is
// read back after all of it.
std::string txn_body(const Op& op, const KvClientOptions& options) {
  std::string compare, success, failure;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ",") + item;
  };
  if (guards_of(op).is_array()) {
    for (const Value& guard : guards_of(op).as_array()) {
      const std::string key = with_key(guard.as_array()[0].as_symbol(), options);
      add(compare, is_value_guard(guard) ? value_compare_of(key, guard.as_array()[2])
                                         : compare_of(key, token_in_guard(guard.as_array()[1]), options));
      add(failure, R"({"request_range":)" + key + "}}");
    }
  }
  for (const Value& write : op.value.as_array()) {
    add(success, change_body(write.as_array()[1].as_symbol(), write.as_array()[2], options));
  }
  for (const Value& write : op.value.as_array()) {
    if (!tokens_of_keys(options) || write.as_array()[2].is_null()) continue;
    add(success, R"({"request_range":)" + with_key(write.as_array()[1].as_symbol(), options) + "}}");
  }
  return R"({"compare":[)" + compare + R"(],"success":[)" + success + R"(],"failure":[)" + failure +
         "]}";
}

bool all_of_form(const Value& list, const auto& has_form) {
  if (!list.is_array()) return false;
  const auto& items = list.as_array();
  return std::all_of(items.begin(), items.end(), [&](const Value& item) {
    return item.is_array() && has_form(item.as_array());
  });
}
bool is_write(const Value::Array& item) {
  return item.size() == 3 && item[0] == Value("w") && item[1].is_string();
}
bool is_guard(const Value::Array& item, const KvClientOptions& options) {
  if (item.size() != 2 || !item[0].is_string()) return false;
  const bool by_value = options.tokens == KvTokens::kNone && item[1].is_null();
  return by_value || is_guard_token(token_in_guard(item[1]), options);
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

// Absent is empty.
std::optional<std::string> bytes_in(const JsonNode& object, std::string_view name) {
  const JsonNode* node = object.find(name);
  if (node == nullptr) return "";
  auto decoded = decode_base64(node->text);
  if (std::holds_alternative<BadBase64>(decoded)) return std::nullopt;
  return std::move(std::get<std::string>(decoded));
}

std::optional<Token> token_in(const JsonNode& kv, const KvClientOptions& options) {
  if (options.tokens == KvTokens::kKeyVersion) {
    const auto created = number_in(kv, "create_revision"), version = number_in(kv, "version");
    if (!created || !version || *created < 1 || *version < 1) return std::nullopt;
    return KeyVersion{*created, *version}.token();
  }
  const auto revision = number_in(kv, "mod_revision");
  return revision && *revision != 0 ? std::optional(Token(*revision)) : std::nullopt;
}

struct Found {
  Token token = kAbsent;
  std::string key;
  std::string value;
};
std::optional<Found> found_in_kv(const JsonNode& kv, const KvClientOptions& options) {
  const auto token = token_in(kv, options);
  auto key = bytes_in(kv, "key");
  auto value = bytes_in(kv, "value");
  if (!token || !key || !value) return std::nullopt;
  return Found{*token, std::move(*key), std::move(*value)};
}
// The one key of a range's answer.
std::optional<Found> found_in(const JsonNode& range, const KvClientOptions& options) {
  const JsonNode* kvs = range.find("kvs");
  if (kvs == nullptr || kvs->children.empty()) return Found{};
  return found_in_kv(kvs->children[0], options);
}

// What others have stored there may be no JSON: then it is text.
Value value_of(const Found& found) {
  if (found.token == kAbsent) return {};
  const auto value = parse_value(found.value);
  return value ? *value : Value(found.value);
}

Op read_completion(const Op& op, const JsonNode& answer, const KvClientOptions& options) {
  const auto at = revision_of(answer);
  const auto found = found_in(answer, options);
  if (!at || !found) return malformed(op);
  Op done = complete(op, OpType::kOk);
  done.value = value_of(*found);
  done.revision = found->token;
  done.at = Token(*at);
  return done;
}

Op list_completion(const Op& op, const JsonNode& answer, const KvClientOptions& options) {
  const auto at = revision_of(answer);
  if (!at) return malformed(op);
  Value::Array items;
  const JsonNode* kvs = answer.find("kvs");
  for (const JsonNode& kv : kvs == nullptr ? std::vector<JsonNode>{} : kvs->children) {
    const auto found = found_in_kv(kv, options);
    if (!found || !found->key.starts_with(options.key_prefix)) return malformed(op);
    items.push_back(Value::array(
        {found->key.substr(options.key_prefix.size()), value_of(*found), found->token.to_value()}));
  }
  Op done = complete(op, OpType::kOk);
  done.value = Value::array(std::move(items));
  done.at = Token(*at);
  return done;
}

// Of a deletion: how many keys were there.
std::optional<int64_t> deleted_in(const JsonNode& answer) {
  const JsonNode* responses = answer.find("responses");
  if (responses == nullptr) return number_in(answer, "deleted");
  if (responses->children.empty()) return std::nullopt;
  const JsonNode* range = responses->children[0].find("response_delete_range");
  return range == nullptr ? std::nullopt : number_in(*range, "deleted");
}

Op change_completion(const Op& op, const JsonNode& answer) {
  const auto at = revision_of(answer);
  if (!at) return malformed(op);
  Op done = complete(op, OpType::kOk);
  const bool removes = op.f != f::txn && new_value_of(op).is_null();
  done.revision = Token(removes ? 0 : *at);
  done.at = Token(*at);
  if (!removes) return done;
  // Without one, nothing has happened at that revision.
  const auto deleted = deleted_in(answer);
  if (!deleted) return malformed(op);
  done.extra = Value::object({{Symbol("deleted"), *deleted}});
  return done;
}

Op compact_completion(const Op& op, const JsonNode& answer) {
  const auto at = revision_of(answer);
  if (!at) return malformed(op);
  Op done = complete(op, OpType::kOk);
  done.at = Token(*at);
  return done;
}

bool succeeded(const JsonNode& answer) {
  const JsonNode* node = answer.find("succeeded");
  return node != nullptr && node->truth;
}

// What the n-th operation of the branch that was taken has found.
std::optional<Found> found_by(const JsonNode& answer, size_t n, const KvClientOptions& options) {
  const JsonNode* responses = answer.find("responses");
  if (responses == nullptr || responses->children.size() <= n) return std::nullopt;
  const JsonNode* range = responses->children[n].find("response_range");
  return range == nullptr ? std::nullopt : found_in(*range, options);
}

Op guarded_completion(const Op& op, const JsonNode& answer, const KvClientOptions& options) {
  if (succeeded(answer)) {
    Op done = change_completion(op, answer);
    if (!reads_back(op, options) || done.type != OpType::kOk) return done;
    const auto written = found_by(answer, 1, options);
    if (!written || written->token == kAbsent) return malformed(op);
    done.revision = written->token;
    return done;
  }
  const auto at = revision_of(answer);
  const auto found = found_by(answer, 0, options);
  if (!at || !found) return malformed(op);
  Op done = guarded(op) ? failed(op, "conflict", "the key has changed")
                        : failed(op, "mismatch", "the value is another");
  done.error->current = found->token;
  done.at = Token(*at);
  return done;
}

bool holds(const Value& guard, const Found& found) {
  if (is_value_guard(guard)) return value_of(found) == guard.as_array()[2];
  return found.token == token_in_guard(guard.as_array()[1]);
}

// A txn has several tokens, where they are of keys: [[key, token] …].
Op with_tokens_of_keys(Op done, const JsonNode& answer, const KvClientOptions& options) {
  const auto& writes = done.value.as_array();
  Value::Array tokens;
  size_t next = writes.size();
  for (const Value& write : writes) {
    const Value& key = write.as_array()[1];
    const bool removes = write.as_array()[2].is_null();
    const auto written = removes ? Found{} : found_by(answer, next++, options);
    if (!written || (!removes && written->token == kAbsent)) return malformed(done);
    tokens.push_back(Value::array({key, written->token.to_value()}));
  }
  done.extra = Value::object({{Symbol("revisions"), Value::array(std::move(tokens))}});
  return done;
}

Op txn_completion(const Op& op, const JsonNode& answer, const KvClientOptions& options) {
  if (succeeded(answer)) {
    Op done = change_completion(op, answer);
    const bool plain = !tokens_of_keys(options) || done.type != OpType::kOk;
    return plain ? done : with_tokens_of_keys(std::move(done), answer, options);
  }
  const auto at = revision_of(answer);
  if (!at || !guards_of(op).is_array()) return malformed(op);
  const auto& guards = guards_of(op).as_array();
  for (size_t i = 0; i < guards.size(); ++i) {
    const auto found = found_by(answer, i, options);
    if (!found) return malformed(op);
    if (holds(guards[i], *found)) continue;
    Op done = failed(op, "conflict", "a key has changed");
    done.error->current = found->token;
    done.error->extra = Value::object({{Symbol("key"), guards[i].as_array()[0]}});
    done.at = Token(*at);
    return done;
  }
  return malformed(op);  // it says that a guard does not hold, and shows that all do
}

Op done_completion(const Op& op, const JsonNode& answer, const KvClientOptions& options) {
  if (op.f == f::read) return read_completion(op, answer, options);
  if (op.f == f::list) return list_completion(op, answer, options);
  if (op.f == f::txn) return txn_completion(op, answer, options);
  if (op.f == f::compact) return compact_completion(op, answer);
  if (is_transaction(op, options)) return guarded_completion(op, answer, options);
  return change_completion(op, answer);
}

// Revisions of the store are no tokens, where keys have others.
Op without_revision_of_the_store(Op done) {
  done.at = Token();
  if (done.f == f::txn) done.revision = Token();
  return done;
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
  KvClient(Loop& loop, boost::asio::io_context& context, const NodeInfo& node,
           KvClientOptions options)
      : loop_(loop), context_(context), node_(node), options_(std::move(options)) {
    connect();
  }

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (auto refusal = kv_refusal_of(op, options_)) {
      boost::asio::post(context_,
                        [done = std::move(done), refusal = std::move(*refusal)]() mutable {
                          done(std::move(refusal));
                        });
      return;
    }
    if (op.f == f::compact && options_.compacted) *options_.compacted = true;
    if (op.f == f::watch) return watch(op, std::move(done));
    if (options_.tokens != KvTokens::kNone) return send(op, std::move(done));
    send(values_.translated(op), [this, op, done = std::move(done)](const Op& completion) {
      done(values_.completed(op, completion));
    });
  }

 private:
  void connect() { http_.emplace(context_, node_.address, node_.client_port); }

  void watch(const Op& op, std::function<void(Op)> done) {
    start_kv_watch(
        loop_, *http_, op, options_,
        [op, options = options_](HttpReply reply) {
          return kv_completion_of(op, std::move(reply), options);
        },
        std::move(done));
  }

  void send(const Op& op, std::function<void(Op)> done) {
    if (!options_.resends) return send_once(op, std::move(done));
    const uint64_t turn = ++*turn_;
    // A new connection abandons what is under way on the old one.
    const auto again = [this, op, done] {
      ++*turn_;
      connect();
      send_once(op, done);
    };
    send_once(op, [this, done, again](Op completion) {
      if (completion.type == OpType::kInfo) return again();
      ++*turn_;
      done(std::move(completion));
    });
    loop_.at(loop_.now() + kResendAfter, [again, turn, weak = std::weak_ptr(turn_)] {
      if (const auto current = weak.lock(); current && *current == turn) again();
    });
  }

  void send_once(const Op& op, std::function<void(Op)> done) {
    const KvCall call = kv_call_of(op, options_);
    http_->request("POST", call.target, call.body,
                   [op, options = options_, done = std::move(done)](HttpReply reply) {
                     done(kv_completion_of(op, std::move(reply), options));
                   });
  }

  Loop& loop_;
  boost::asio::io_context& context_;
  const NodeInfo node_;
  const KvClientOptions options_;
  std::optional<HttpClient> http_;
  ValueGuards values_;
  // Counts the first sendings and what has settled them; ends with this object.
  std::shared_ptr<uint64_t> turn_ = std::make_shared<uint64_t>(0);
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

std::vector<std::string> sound_kv_tokens() {
  std::vector<std::string> names;
  for (const auto& [name, tokens] : kSoundTokens) names.emplace_back(name);
  return names;
}

std::optional<KvTokens> find_sound_kv_tokens(std::string_view wanted) {
  for (const auto& [name, tokens] : kSoundTokens)
    if (name == wanted) return tokens;
  return std::nullopt;
}

TargetOption kv_token_option() {
  return {"token", sound_kv_tokens().front(),
          "what tells states of a key apart: revision (the store's, in order) or key-version (the "
          "key's own with the revision of its creation, compared for equality only)"};
}

bool kv_client_watches(KvTokens tokens) {
  return tokens == KvTokens::kRevision || tokens == KvTokens::kNone;
}

std::vector<Symbol> kv_client_ops(KvTokens tokens) {
  std::vector<Symbol> ops{f::read, f::write, f::cas, f::delete_, f::list, f::txn};
  if (kv_client_watches(tokens)) ops.insert(ops.end(), {f::watch, f::compact});
  return ops;
}

std::optional<Op> kv_refusal_of(const Op& op, const KvClientOptions& options) {
  if (op.f == f::txn) {
    const auto fits = [&](const Value::Array& item) { return is_guard(item, options); };
    const bool guards_fit = guards_of(op).is_null() || all_of_form(guards_of(op), fits);
    if (guards_fit && all_of_form(op.value, is_write)) return std::nullopt;
    return failed(op, "invalid",
                  R"(expected [["w", key, value], ...] and guards [[key, token], ...])");
  }
  if (op.f == f::watch && !watch_wish(op.value))
    return failed(op, "invalid", R"(expected {"prefix", "from", "for"})");
  if (op.f == f::compact && !op.value.is_int()) return failed(op, "invalid", "expected a revision");
  if (!guarded(op) || is_guard_token(op.expected, options)) return std::nullopt;
  const bool text = options.tokens == KvTokens::kKeyVersion;
  return failed(op, "invalid",
                std::string("a guard of this store is ") +
                    (text ? "such as \"17.3\", or 0" : "a number") + ", and this is " +
                    op.expected.to_value().to_json());
}

KvCall kv_call_of(const Op& op, const KvClientOptions& options) {
  if (op.f == f::read) return {"/v3/kv/range", range_body(op, options)};
  if (op.f == f::list) return {"/v3/kv/range", list_body(op, options)};
  if (op.f == f::txn) return {"/v3/kv/txn", txn_body(op, options)};
  if (op.f == f::compact)
    return {"/v3/kv/compaction", R"({"revision":")" + std::to_string(op.value.as_int()) + "\"}"};
  if (is_transaction(op, options)) return {"/v3/kv/txn", guarded_body(op, options)};
  if (op.f == f::delete_) return {"/v3/kv/deleterange", with_key(op, options) + '}'};
  ASSAY_CHECK(op.f == f::write, "operation %s", std::string(op.f.text()).c_str());
  if (op.value.is_null()) return {"/v3/kv/deleterange", with_key(op, options) + '}'};
  return {"/v3/kv/put", put_body(op.key, op.value, options)};
}

Op kv_completion_of(const Op& op, HttpReply reply, const KvClientOptions& options) {
  if (reply.fate == HttpReply::Fate::kNotSent) return failed(op, "refused", reply.error);
  if (reply.fate == HttpReply::Fate::kLost) return unknown(op, "reset", reply.error);
  const auto json = kv::parse_json(reply.body);
  const auto* answer = std::get_if<JsonNode>(&json);
  if (reply.status != 200) return error_completion(op, reply.status, answer);
  if (answer == nullptr) return malformed(op);
  Op done = done_completion(op, *answer, options);
  return tokens_of_keys(options) ? without_revision_of_the_store(std::move(done)) : done;
}

std::unique_ptr<Client> make_kv_client(Loop& loop, const NodeInfo& node, KvClientOptions options) {
  boost::asio::io_context* context = context_of(loop);
  if (context == nullptr) return nullptr;
  return std::make_unique<KvClient>(loop, *context, node, std::move(options));
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
