#include "targets/kv/http/gateway_decoder.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "targets/kv/http/base64.h"
#include "targets/kv/http/error_table.h"

namespace assay::kv {
namespace {

using Kind = JsonNode::Kind;

// Go's name of what was found, for messages.
std::string_view kind_of(const JsonNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
    case Kind::kNumber:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
  }
  return "";
}

// True for snake_case and for the camelCase that goes with it.
bool named(const JsonNode& member, std::string_view snake) {
  const std::string_view name = member.name;
  if (name == snake) return true;
  size_t at = 0;
  for (size_t i = 0; i < snake.size(); ++i, ++at) {
    char wanted = snake[i];
    if (wanted == '_' && i + 1 < snake.size()) {
      wanted = static_cast<char>(snake[++i] - 'a' + 'A');
    }
    if (at >= name.size() || name[at] != wanted) return false;
  }
  return at == name.size();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// A whole number as JSON writes it: no plus sign, no leading zeros.
std::optional<int64_t> whole_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

// The union in a comparison, until it is known which of its fields counts.
struct GatewayDecoder::Union {
  Compare compare;
  int64_t version = 0;
  int64_t create_revision = 0;
  int64_t mod_revision = 0;
};

struct GatewayDecoder::OpSlot {
  RequestOp op;
  bool set = false;
};

void GatewayDecoder::refuse(int code, std::string message) {
  if (refusal_.code == 0) refusal_ = {code, std::move(message)};
}

void GatewayDecoder::mistyped(const JsonNode& node, std::string_view wanted) {
  std::string text = "json: cannot unmarshal ";
  text.append(kind_of(node));
  if (wanted == "int64" && node.kind == Kind::kNumber) text.append(" ").append(node.text);
  refuse(3, text.append(" into Go value of type ").append(wanted));
}

void GatewayDecoder::unimplemented(const JsonNode& node) {
  refuse(kUnimplemented.code, std::string(kUnimplemented.message) + ": " + node.name);
}

bool GatewayDecoder::object(const JsonNode& node) {
  if (node.kind == Kind::kObject) return true;
  if (node.kind != Kind::kNull) mistyped(node, "map[string]json.RawMessage");
  return false;
}

void GatewayDecoder::bytes(const JsonNode& node, std::string& out) {
  out.clear();
  if (node.kind == Kind::kNull) return;
  if (node.kind != Kind::kString) return mistyped(node, "[]uint8");
  auto decoded = decode_base64(node.text);
  if (const auto* bad = std::get_if<BadBase64>(&decoded)) {
    return refuse(3, "illegal base64 data at input byte " + std::to_string(bad->at));
  }
  out = std::move(std::get<std::string>(decoded));
}

void GatewayDecoder::number(const JsonNode& node, int64_t& out) {
  out = 0;
  if (node.kind == Kind::kNull) return;
  if (node.kind == Kind::kString) return number_in_string(node, out);
  if (node.kind != Kind::kInteger) return mistyped(node, "int64");
  out = node.integer;
}

void GatewayDecoder::number_in_string(const JsonNode& node, int64_t& out) {
  const std::string_view text = trimmed(node.text);
  if (text == "null") return;
  if (text.empty()) return refuse(3, "unexpected end of JSON input");
  const auto number = whole_number(text);
  if (!number) return refuse(3, "json: cannot unmarshal string into Go value of type int64");
  out = *number;
}

void GatewayDecoder::flag(const JsonNode& node, bool& out) {
  out = false;
  if (node.kind == Kind::kNull) return;
  if (node.kind != Kind::kBool) return mistyped(node, "bool");
  out = node.truth;
}

template <typename Enum, size_t kCount>
void GatewayDecoder::choice(const JsonNode& node, const std::string_view (&names)[kCount],
                            std::string_view type, Enum& out) {
  out = Enum{};
  if (node.kind == Kind::kNull) return;
  if (node.kind == Kind::kInteger && node.integer >= 0 &&
      node.integer < static_cast<int64_t>(kCount)) {
    out = static_cast<Enum>(node.integer);
    return;
  }
  const auto* found = std::find(names, names + kCount, node.text);
  if (node.kind == Kind::kString && found != names + kCount) {
    out = static_cast<Enum>(found - names);
    return;
  }
  if (node.kind != Kind::kString && node.kind != Kind::kInteger) return mistyped(node, "int32");
  const std::string value =
      node.kind == Kind::kString ? '"' + node.text + '"' : std::to_string(node.integer);
  refuse(3, "unknown value " + value + " for enum etcdserverpb." + std::string(type));
}

template <typename Message>
void GatewayDecoder::list(const JsonNode& node, std::vector<Message>& out) {
  out.clear();
  if (node.kind == Kind::kNull) return;
  if (node.kind != Kind::kArray) return mistyped(node, "[]json.RawMessage");
  out.reserve(node.children.size());
  for (const JsonNode& child : node.children) element(child, out.emplace_back());
}

void GatewayDecoder::must_be_zero(const JsonNode& node) {
  int64_t value = 0;
  number(node, value);
  if (value != 0) unimplemented(node);
}

void GatewayDecoder::must_be_false(const JsonNode& node) {
  bool value = false;
  flag(node, value);
  if (value) unimplemented(node);
}

void GatewayDecoder::must_be_choice(const JsonNode& node, std::string_view default_name,
                                    std::string_view also) {
  const bool zero = node.kind == Kind::kInteger && node.integer == 0;
  const bool fits = node.kind == Kind::kString && (node.text == default_name || node.text == also);
  if (!zero && !fits && node.kind != Kind::kNull) unimplemented(node);
}

void GatewayDecoder::field(const JsonNode& member, RangeRequest& out) {
  if (named(member, "key")) return bytes(member, out.key);
  if (named(member, "range_end")) return bytes(member, out.range_end);
  if (named(member, "limit")) return number(member, out.limit);
  if (named(member, "revision")) return number(member, out.revision.value);
  if (named(member, "serializable")) return flag(member, out.serializable);
  if (named(member, "keys_only")) return flag(member, out.keys_only);
  if (named(member, "count_only")) return flag(member, out.count_only);
  // Ascending by key is the order anyway.
  if (named(member, "sort_order")) return must_be_choice(member, "NONE", "ASCEND");
  if (named(member, "sort_target")) return must_be_choice(member, "KEY", "KEY");
  for (std::string_view bound :
       {"min_mod_revision", "max_mod_revision", "min_create_revision", "max_create_revision"}) {
    if (named(member, bound)) return must_be_zero(member);
  }
}

void GatewayDecoder::field(const JsonNode& member, PutRequest& out) {
  if (named(member, "key")) return bytes(member, out.key);
  if (named(member, "value")) return bytes(member, out.value);
  if (named(member, "prev_kv")) return flag(member, out.prev_kv);
  if (named(member, "ignore_value")) return must_be_false(member);
  if (named(member, "ignore_lease")) return must_be_false(member);
  if (!named(member, "lease")) return;
  int64_t lease = 0;
  number(member, lease);
  if (lease != 0) refuse(5, "etcdserver: requested lease not found");
}

void GatewayDecoder::field(const JsonNode& member, DeleteRangeRequest& out) {
  if (named(member, "key")) return bytes(member, out.key);
  if (named(member, "range_end")) return bytes(member, out.range_end);
  if (named(member, "prev_kv")) return flag(member, out.prev_kv);
}

void GatewayDecoder::field(const JsonNode& member, TxnRequest& out) {
  if (named(member, "compare")) return list(member, out.compare);
  if (named(member, "success")) return list(member, out.success);
  if (named(member, "failure")) return list(member, out.failure);
}

void GatewayDecoder::field(const JsonNode& member, CompactionRequest& out) {
  if (named(member, "revision")) return number(member, out.revision.value);
}

void GatewayDecoder::field(const JsonNode& member, WatchBody& out) {
  if (named(member, "cancel_request")) return unimplemented(member);
  if (named(member, "progress_request")) return unimplemented(member);
  if (!named(member, "create_request") || member.kind == Kind::kNull) return;
  message(member, out.create.emplace());
}

void GatewayDecoder::field(const JsonNode& member, WatchRequest& out) {
  if (named(member, "key")) return bytes(member, out.key);
  if (named(member, "range_end")) return bytes(member, out.range_end);
  if (named(member, "start_revision")) return number(member, out.start_revision.value);
  if (named(member, "progress_notify")) return flag(member, out.progress_notify);
  if (named(member, "prev_kv")) return flag(member, out.prev_kv);
  if (named(member, "watch_id")) return number(member, out.watch_id);
  // `fragment` allows long answers to be split; these are not.
  if (!named(member, "filters")) return;
  std::vector<WatchFilter> filters;
  list(member, filters);
  for (const WatchFilter filter : filters) {
    (filter == WatchFilter::kNoPut ? out.no_put : out.no_delete) = true;
  }
}

void GatewayDecoder::element(const JsonNode& node, WatchFilter& out) {
  static constexpr std::string_view kNames[] = {"NOPUT", "NODELETE"};
  choice(node, kNames, "WatchCreateRequest_FilterType", out);
}

void GatewayDecoder::field(const JsonNode& member, Union& out) {
  static constexpr std::string_view kTargets[] = {"VERSION", "CREATE", "MOD", "VALUE"};
  static constexpr std::string_view kResults[] = {"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
  if (named(member, "key")) return bytes(member, out.compare.key);
  if (named(member, "range_end")) return bytes(member, out.compare.range_end);
  if (named(member, "value")) return bytes(member, out.compare.value);
  if (named(member, "version")) return number(member, out.version);
  if (named(member, "create_revision")) return number(member, out.create_revision);
  if (named(member, "mod_revision")) return number(member, out.mod_revision);
  if (named(member, "lease")) return must_be_zero(member);
  if (named(member, "result")) {
    return choice(member, kResults, "Compare_CompareResult", out.compare.result);
  }
  if (!named(member, "target")) return;
  const bool lease = member.kind == Kind::kString
                         ? member.text == "LEASE"
                         : member.kind == Kind::kInteger && member.integer == 4;
  if (lease) return unimplemented(member);
  choice(member, kTargets, "Compare_CompareTarget", out.compare.target);
}

void GatewayDecoder::element(const JsonNode& node, Compare& out) {
  Union fields;
  message(node, fields);
  out = std::move(fields.compare);
  if (out.target == CompareTarget::kVersion) out.number = fields.version;
  if (out.target == CompareTarget::kCreate) out.number = fields.create_revision;
  if (out.target == CompareTarget::kMod) out.number = fields.mod_revision;
  if (out.target != CompareTarget::kValue) out.value.clear();
}

template <typename Body>
void GatewayDecoder::op_body(const JsonNode& node, OpSlot& out) {
  if (node.kind == Kind::kNull) return;
  if (out.set) return refuse(3, "an operation of a transaction holds two requests");
  out.set = true;
  message(node, out.op.body.emplace<Body>());
}

void GatewayDecoder::field(const JsonNode& member, OpSlot& out) {
  if (named(member, "request_range")) return op_body<RangeRequest>(member, out);
  if (named(member, "request_put")) return op_body<PutRequest>(member, out);
  if (named(member, "request_delete_range")) return op_body<DeleteRangeRequest>(member, out);
  if (named(member, "request_txn")) return op_body<TxnRequest>(member, out);
}

void GatewayDecoder::element(const JsonNode& node, RequestOp& out) {
  OpSlot slot;
  message(node, slot);
  if (!slot.set) refuse(3, "etcdserver: key not found");
  out = std::move(slot.op);
}

template void GatewayDecoder::message(const JsonNode&, RangeRequest&);
template void GatewayDecoder::message(const JsonNode&, PutRequest&);
template void GatewayDecoder::message(const JsonNode&, DeleteRangeRequest&);
template void GatewayDecoder::message(const JsonNode&, TxnRequest&);
template void GatewayDecoder::message(const JsonNode&, CompactionRequest&);
template void GatewayDecoder::message(const JsonNode&, WatchBody&);

}  // namespace assay::kv
