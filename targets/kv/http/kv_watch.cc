#include "targets/kv/http/kv_watch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "checkers/history/history_io.h"
#include "targets/kv/http/base64.h"
#include "targets/kv/http/json_node.h"

namespace assay {
namespace {

using kv::JsonNode;

void append_field(std::string& out, std::string_view name, std::string_view bytes) {
  out.append("\"").append(name).append("\":\"");
  append_base64(out, bytes);
  out += '"';
}

// The first key behind all that begin so; one zero byte: there is none.
std::string behind_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  ++prefix.back();
  return prefix;
}

bool is_true(const JsonNode& object, std::string_view name) {
  const JsonNode* node = object.find(name);
  return node != nullptr && node->truth;
}

// As the gateway writes it; absent is 0.
std::optional<int64_t> number_of(const JsonNode& object, std::string_view name) {
  const JsonNode* node = object.find(name);
  if (node == nullptr) return 0;
  if (node->kind == JsonNode::Kind::kInteger) return node->integer;
  if (node->kind != JsonNode::Kind::kString || node->text.empty()) return std::nullopt;
  char* end = nullptr;
  const int64_t number = std::strtoll(node->text.c_str(), &end, 10);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

std::optional<std::string> bytes_of(const JsonNode& object, std::string_view name) {
  const JsonNode* node = object.find(name);
  if (node == nullptr) return "";
  auto decoded = decode_base64(node->text);
  if (std::holds_alternative<BadBase64>(decoded)) return std::nullopt;
  return std::move(std::get<std::string>(decoded));
}

// What others have stored there may be no JSON: then it is text.
std::optional<Value> stored_value(const JsonNode& kv) {
  const auto bytes = bytes_of(kv, "value");
  if (!bytes) return std::nullopt;
  const auto value = parse_value(*bytes);
  return value ? *value : Value(*bytes);
}

std::optional<WatchedEvent> read_event(const JsonNode& node, const std::string& key_prefix) {
  const JsonNode* kv = node.find("kv");
  const JsonNode* type = node.find("type");
  if (kv == nullptr) return std::nullopt;
  const auto key = bytes_of(*kv, "key");
  const auto revision = number_of(*kv, "mod_revision");
  const auto created = number_of(*kv, "create_revision");
  if (!key || !key->starts_with(key_prefix) || !revision || *revision < 1 || !created)
    return std::nullopt;
  WatchedEvent event{.revision = *revision, .key = Symbol(key->substr(key_prefix.size()))};
  event.deleted = type != nullptr && type->text == "DELETE";
  if (!event.deleted) {
    const auto value = stored_value(*kv);
    if (!value) return std::nullopt;
    event.value = *value;
    event.created = *created;
  }
  const JsonNode* before = node.find("prev_kv");
  if (before == nullptr) {
    // A compaction may have taken it; but what has just been created had none.
    if (!event.deleted && event.created == event.revision) event.before = WatchedEvent::Before{};
    return event;
  }
  const auto before_revision = number_of(*before, "mod_revision");
  const auto before_value = stored_value(*before);
  if (!before_revision || *before_revision < 1 || !before_value) return std::nullopt;
  event.before = {*before_revision, *before_value};
  return event;
}

}  // namespace

std::string kv_watch_body(const WatchWish& wish, const KvClientOptions& options) {
  const std::string prefix = options.key_prefix + std::string(wish.prefix.text());
  std::string out = R"({"create_request":{)";
  append_field(out, "key", prefix.empty() ? std::string(1, '\0') : prefix);
  out += ',';
  append_field(out, "range_end", behind_prefix(prefix));
  if (wish.from > 0) out += R"(,"start_revision":")" + std::to_string(wish.from) + '"';
  return out += R"(,"progress_notify":true,"prev_kv":true}})";
}

// --- Taking it in --------------------------------------------------------------------------------

WatchCollector::WatchCollector(const WatchWish& wish, const KvClientOptions& options)
    : wish_(wish), key_prefix_(options.key_prefix) {
  seen_.next = wish.from;
}

bool WatchCollector::add(std::string_view piece) {
  while (!over_) {
    const size_t end = piece.find('\n');
    line_.append(piece.substr(0, end));
    if (end == std::string_view::npos) break;
    piece.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    if (!line.empty()) take(line);
  }
  return !over_;
}

void WatchCollector::take(std::string_view line) {
  const auto json = kv::parse_json(line);
  const auto* node = std::get_if<JsonNode>(&json);
  const JsonNode* result = node == nullptr ? nullptr : node->find("result");
  if (result == nullptr) {
    // The gateway's own words for a stream that broke behind it.
    over_ = true;
    malformed_ = node == nullptr || node->find("error") == nullptr;
    return;
  }
  const JsonNode* header = result->find("header");
  const auto revision =
      header == nullptr ? std::optional<int64_t>(0) : number_of(*header, "revision");
  const auto compacted = number_of(*result, "compact_revision");
  if (!revision || !compacted) {
    over_ = malformed_ = true;
    return;
  }
  if (is_true(*result, "created")) {
    created_ = true;
    if (wish_.from == 0) seen_.start = seen_.next = *revision + 1;
  }
  if (is_true(*result, "canceled")) {
    over_ = true;
    const JsonNode* reason = result->find("cancel_reason");
    if (*compacted != 0) {
      seen_.end = WatchEnd::kCompacted;
      seen_.compact_revision = *compacted;
    } else {
      refusal_ = reason == nullptr || reason->text.empty() ? "the store ended it" : reason->text;
    }
    return;
  }
  const JsonNode* events = result->find("events");
  if (events == nullptr || events->children.empty()) {
    if (is_true(*result, "created")) return;
    seen_.progress.push_back({*revision, seen_.events.size()});
    seen_.next = std::max(seen_.next, *revision + 1);
    return;
  }
  const size_t before = seen_.events.size();
  for (const JsonNode& child : events->children) {
    auto event = read_event(child, key_prefix_);
    if (!event) {
      over_ = malformed_ = true;
      return;
    }
    seen_.events.push_back(std::move(*event));
  }
  if (before > 0 && seen_.events[before].revision == seen_.events[before - 1].revision)
    seen_.split.push_back(seen_.events[before].revision);
  cut_to_bound();
  seen_.next = std::max(seen_.next, seen_.events.back().revision + 1);
}

// Whole revisions only: the next watch begins between two.
void WatchCollector::cut_to_bound() {
  auto& events = seen_.events;
  if (events.size() < kWatchEventsMax) return;
  over_ = full_ = true;
  const auto boundary = [&](size_t at) {
    return at == events.size() || events[at].revision != events[at - 1].revision;
  };
  size_t keep = kWatchEventsMax;
  while (keep > 0 && !boundary(keep)) --keep;
  if (keep == 0) {
    keep = kWatchEventsMax;
    while (!boundary(keep)) ++keep;
  }
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(keep), events.end());
}

WatchSeen WatchCollector::seen(WatchEnd otherwise) const {
  WatchSeen seen = seen_;
  if (seen.end == WatchEnd::kDone && !full_) seen.end = otherwise;
  return seen;
}

// --- On the wire ---------------------------------------------------------------------------------

namespace {

class Watching : public std::enable_shared_from_this<Watching> {
 public:
  Watching(HttpClient& client, const Op& op, const WatchWish& wish, const KvClientOptions& options,
           std::function<Op(HttpReply)> explain, std::function<void(Op)> done)
      : client_(client),
        op_(op),
        wish_(wish),
        collector_(wish, options),
        explain_(std::move(explain)),
        done_(std::move(done)) {}

  void start(Loop& loop, const KvClientOptions& options) {
    const auto self = shared_from_this();
    client_.stream(
        "POST", "/v3/watch", kv_watch_body(wish_, options),
        [self](std::string_view piece) {
          if (!self->collector_.add(piece)) self->close(WatchEnd::kCut);
        },
        [self](HttpReply reply) { self->ended(std::move(reply)); });
    loop.at(loop.now() + wish_.span, [weak = weak_from_this()] {
      if (const auto watching = weak.lock()) watching->close(WatchEnd::kDone);
    });
  }

 private:
  void close(WatchEnd otherwise) {
    if (!done_) return;
    client_.abandon();
    finish(completion(otherwise));
  }
  void ended(HttpReply reply) {
    if (!done_) return;
    const bool refused = reply.fate == HttpReply::Fate::kNotSent ||
                         (reply.fate == HttpReply::Fate::kAnswered && reply.status != 200);
    finish(refused ? explain_(std::move(reply)) : completion(WatchEnd::kCut));
  }
  void finish(Op completed) { std::exchange(done_, nullptr)(std::move(completed)); }

  Op completion(WatchEnd otherwise) const {
    if (collector_.malformed())
      return complete(op_, OpType::kInfo,
                      {Symbol("malformed"), "the stream makes no sense", {}, {}});
    if (!collector_.refusal().empty())
      return complete(op_, OpType::kFail, {Symbol("invalid"), collector_.refusal(), {}, {}});
    if (otherwise == WatchEnd::kDone && !collector_.created())
      return complete(op_, OpType::kInfo, {Symbol("timeout"), "the watch never began", {}, {}});
    Op done = complete(op_, OpType::kOk);
    done.value = to_value(collector_.seen(otherwise));
    return done;
  }

  HttpClient& client_;
  const Op op_;
  const WatchWish wish_;
  WatchCollector collector_;
  const std::function<Op(HttpReply)> explain_;
  std::function<void(Op)> done_;
};

}  // namespace

void start_kv_watch(Loop& loop, HttpClient& client, const Op& op, const KvClientOptions& options,
                    std::function<Op(HttpReply)> explain, std::function<void(Op)> done) {
  const auto wish = watch_wish(op.value);
  ASSAY_CHECK(wish, "a watch of %s", op.value.to_json().c_str());
  std::make_shared<Watching>(client, op, *wish, options, std::move(explain), std::move(done))
      ->start(loop, options);
}

}  // namespace assay
