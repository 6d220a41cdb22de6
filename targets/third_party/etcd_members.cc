#include "targets/third_party/etcd_members.h"

#include <charconv>

#include "targets/kv/http/json_node.h"
#include "targets/kv/http/kv_client.h"
#include "targets/kv/service/hash.h"

namespace assay {
namespace {

using kv::JsonNode;

constexpr std::string_view kStatus = "/v3/maintenance/status";
constexpr std::string_view kHash = "/v3/maintenance/hash";
constexpr std::string_view kRange = "/v3/kv/range";
constexpr std::string_view kVars = "/debug/vars";
constexpr int kHashTries = 5;
constexpr Nanos kHashPause = milliseconds(100);

constexpr std::pair<std::string_view, std::string_view> kRoles[] = {
    {"StateLeader", "leader"},
    {"StateFollower", "follower"},
    {"StateCandidate", "candidate"},
    {"StatePreCandidate", "candidate"},
};

template <typename T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<JsonNode> object_in(std::string_view text) {
  auto json = kv::parse_json(text);
  auto* object = std::get_if<JsonNode>(&json);
  if (object == nullptr || object->kind != JsonNode::Kind::kObject) return std::nullopt;
  return std::move(*object);
}

// Gateways write 64-bit numbers as strings and leave zeros out, expvar writes numbers.
template <typename T>
std::optional<T> number_in(const JsonNode& object, std::string_view name) {
  const JsonNode* node = object.find(name);
  if (node == nullptr) return 0;
  if (node->kind == JsonNode::Kind::kInteger) return static_cast<T>(node->integer);
  return node->kind == JsonNode::Kind::kString ? number<T>(node->text) : std::nullopt;
}

// A member's view of its Raft, all of one moment.
struct RaftView {
  std::string_view role;
  uint64_t leader = 0;
  int64_t term = 0;
  int64_t commit = 0;
};

std::optional<RaftView> raft_view_of(std::string_view vars) {
  constexpr std::string_view kName = "\"raft.status\": ";
  const size_t at = vars.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const auto raft = object_in(vars.substr(at + kName.size()));
  if (!raft) return std::nullopt;
  const JsonNode* state = raft->find("raftState");
  const JsonNode* lead = raft->find("lead");
  const auto term = number_in<int64_t>(*raft, "term");
  const auto commit = number_in<int64_t>(*raft, "commit");
  if (state == nullptr || lead == nullptr || !term || !commit) return std::nullopt;
  const auto leader = number<uint64_t>(lead->text, 16);
  if (!leader) return std::nullopt;
  for (const auto& [theirs, ours] : kRoles) {
    if (state->text == theirs) return RaftView{ours, *leader, *term, *commit};
  }
  return std::nullopt;
}

struct MaintenanceView {
  uint64_t member = 0;
  uint64_t leader = 0;
  int64_t applied = 0;
};

std::optional<MaintenanceView> maintenance_view_of(std::string_view status) {
  const auto answer = object_in(status);
  const JsonNode* header = answer ? answer->find("header") : nullptr;
  if (header == nullptr) return std::nullopt;
  const auto member = number_in<uint64_t>(*header, "member_id");
  const auto leader = number_in<uint64_t>(*answer, "leader");
  const auto applied = number_in<int64_t>(*answer, "raftAppliedIndex");
  if (!member || *member == 0 || !leader || !applied) return std::nullopt;
  return MaintenanceView{*member, *leader, *applied};
}

std::string hex(uint64_t id) {
  char text[17];
  return {text, std::to_chars(text, std::end(text), id, 16).ptr};
}

}  // namespace

// Which node is which member, as far as they have said.
struct EtcdMembers::Names {
  std::map<uint64_t, std::string> nodes;
};

EtcdMembers::EtcdMembers(EtcdMembersOptions options)
    : options_(options), names_(std::make_shared<Names>()) {}

Result<Value> EtcdMembers::status_of(const std::string& node, const Answers& answers) {
  const auto said = maintenance_view_of(answers.status);
  if (!said) return environment_error("the answer makes no sense");
  const auto [own, is_new] = names_->nodes.try_emplace(said->member, node);
  if (own->second != node) return environment_error("the same member as " + own->second);
  const auto raft = raft_view_of(answers.vars);

  Value::Object members;
  const auto put = [&](const char* name, Value value) {
    members.emplace_back(Symbol(name), std::move(value));
  };
  const uint64_t leader = raft ? raft->leader : said->leader;
  put("role", raft                           ? Value(raft->role)
              : said->leader == said->member ? Value("leader")
                                             : Value("follower"));
  if (raft) put("term", raft->term);
  if (leader != 0) {
    const auto name = names_->nodes.find(leader);
    const bool all_known = options_.strangers > 0 && names_->nodes.size() >= options_.strangers;
    if (name != names_->nodes.end()) {
      put("leader", name->second);
    } else if (all_known) {
      put("leader", hex(leader));
    }
  }
  if (raft) put("commit", raft->commit);
  if (options_.applied) put("applied", said->applied);
  return Value::object(std::move(members));
}

void EtcdMembers::status(Loop& loop, const NodeInfo& node, Callback<Value> done) {
  struct Asked {
    EtcdMembers members;  // a copy: it shares the names
    std::string node;
    Callback<Value> done;
    Result<std::string> status = std::string();
    std::string vars;
    int left = 2;
    void answered() {
      if (--left > 0) return;
      status ? done(members.status_of(node, {*status, vars})) : done(status.error());
    }
  };
  auto asked = std::make_shared<Asked>(Asked{*this, node.name, std::move(done)});
  ask_kv(loop, node, "POST", kStatus, "{}", [asked](Result<std::string> body) {
    asked->status = std::move(body);
    asked->answered();
  });
  ask_kv(loop, node, "GET", kVars, "", [asked](Result<std::string> body) {
    if (body) asked->vars = std::move(*body);
    asked->answered();
  });
}

Value etcd_hash_of(std::string_view status, std::string_view hash, std::string_view vars) {
  const auto before = maintenance_view_of(status);
  const auto answer = object_in(hash);
  const auto after = raft_view_of(vars);
  if (!before || !answer || !after) return {};
  // All that was committed when the hash had been taken was applied before it was taken.
  if (after->commit != before->applied) return {};
  const auto value = number_in<uint64_t>(*answer, "hash");
  if (!value) return {};
  return Value::object({{Symbol("from"), Value(before->applied)},
                        {Symbol("hashes"), Value::array({Value(hex(*value))})}});
}

Value etcd_contents_of(std::string_view range) {
  const auto answer = object_in(range);
  const JsonNode* header = answer ? answer->find("header") : nullptr;
  const auto revision = header ? number_in<int64_t>(*header, "revision") : std::nullopt;
  if (!revision || *revision == 0) return {};
  kv::Hasher hash;
  if (const JsonNode* keys = answer->find("kvs")) {
    for (const JsonNode& key : keys->children) {
      for (const JsonNode& field : key.children) {
        hash.add(field.name).add(field.text);
      }
    }
  }
  return Value::object({{Symbol("from"), Value(*revision)},
                        {Symbol("hashes"), Value::array({Value(hex(hash.value()))})}});
}

void EtcdMembers::contents(Loop& loop, const NodeInfo& node, Callback<Value> done) {
  if (names_->nodes.size() < 2) return loop.post([done = std::move(done)] { done(Value()); });
  // From the first key to the last.
  ask_kv(loop, node, "POST", kRange, R"({"key":"AA==","range_end":"AA==","serializable":true})",
         [done = std::move(done)](const Result<std::string>& body) {
           body ? done(etcd_contents_of(*body)) : done(body.error());
         });
}

void EtcdMembers::hash(Loop& loop, const NodeInfo& node, Callback<Value> done) {
  // A lone member has nobody to be compared with.
  if (names_->nodes.size() < 2) return loop.post([done = std::move(done)] { done(Value()); });
  struct Asking : std::enable_shared_from_this<Asking> {
    Asking(Loop& loop, NodeInfo node, Callback<Value> done)
        : loop(loop), node(std::move(node)), done(std::move(done)) {}
    Loop& loop;
    NodeInfo node;
    Callback<Value> done;
    std::string status, hash;
    int tries = kHashTries;

    void begin() {
      ask_kv(loop, node, "POST", kStatus, "{}", [self = shared_from_this()](auto body) {
        if (!body) return self->done(body.error());
        self->status = std::move(*body);
        self->ask_hash();
      });
    }
    void ask_hash() {
      ask_kv(loop, node, "POST", kHash, "{}", [self = shared_from_this()](auto body) {
        if (!body) return self->done(body.error());
        self->hash = std::move(*body);
        self->ask_vars();
      });
    }
    void ask_vars() {
      ask_kv(loop, node, "GET", kVars, "", [self = shared_from_this()](auto body) {
        if (!body) return self->done(body.error());
        Value found = etcd_hash_of(self->status, self->hash, *body);
        if (!found.is_null() || --self->tries == 0) return self->done(std::move(found));
        self->loop.at(self->loop.now() + kHashPause, [self] { self->begin(); });
      });
    }
  };
  std::make_shared<Asking>(loop, node, std::move(done))->begin();
}

}  // namespace assay
