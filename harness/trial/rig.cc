#include "harness/trial/rig.h"

#include <algorithm>

#include "harness/run/set_up.h"

namespace assay::trial {
namespace {

constexpr Nanos kBringUp = seconds(60);
constexpr int kAsked = 0;  // the node that all of this is about

}  // namespace

Op op_of(Symbol f, const std::string& key, Value value) {
  Op op;
  op.f = f;
  op.key = Symbol(key);
  op.value = std::move(value);
  return op;
}

Rig::Rig(Plan& plan, const RunFolder& folder) : plan_(plan), folder_(folder) {
  loop_.on_signal([this](int) { interrupted_ = true; });
}
Rig::~Rig() = default;

bool Rig::await(const std::function<bool()>& is_so, Nanos span) {
  loop_.run_until([&] { return stopped() || is_so(); }, loop_.now() + span);
  return is_so();
}

void Rig::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

template <typename T>
bool Rig::has_come(const Late<T>& late, Nanos span, const std::string& what) {
  await([&] { return late->has_value(); }, span);
  if (stopped()) return false;
  if (!*late) {
    fail(environment_error(what + " took longer than " + format_duration(span)));
  } else if (!**late) {
    fail((*late)->error());
  }
  return !stopped();
}

bool Rig::set_up() {
  if (!plan_.starts_nodes) return true;
  const auto cluster = late<std::unique_ptr<NodeCluster>>();
  set_up_cluster(
      loop_, plan_, folder_, hooks(),
      [cluster](Result<std::unique_ptr<NodeCluster>> made) { *cluster = std::move(made); });
  const bool there = has_come(cluster, kBringUp, "the bring-up of the nodes");
  if (*cluster && **cluster) cluster_ = std::move(***cluster);
  if (!there) return false;
  logs_ = std::make_unique<NodeLogs>(folder_, plan_.layout.nodes);
  const auto ready = late<void>();
  cluster_->set_up([ready](Result<void> done) { *ready = std::move(done); });
  if (!has_come(ready, kBringUp + plan_.target->ready_within(), "the start of the store"))
    return false;
  const auto tried = late<void>();
  plan_.target->try_clients(loop_, [tried](Result<void> done) { *tried = std::move(done); });
  return has_come(tried, kBringUp, "the start of the clients");
}

void Rig::tear_down() {
  relay_.reset();
  if (!cluster_) return;
  bool done = false;
  cluster_->close(interrupted_, [&] { done = true; });
  loop_.run_until([&] { return done; }, loop_.now() + seconds(30));
  cluster_.reset();
  if (logs_) logs_->flush();
}

NodeClusterOptions::Hooks Rig::hooks() {
  return {.started = [](int) {},
          .exited =
              [this](int node, int, int, bool expected) {
                if (!expected)
                  fail(environment_error(plan_.layout.nodes[node].name +
                                         " ended by itself: see its log in " +
                                         folder_.node_path(plan_.layout.nodes[node].name)));
              },
          .logged =
              [this](int node, std::string_view line) {
                if (logs_) logs_->write(node, loop_.now(), line);
              },
          .diagnosed =
              [this](int node, const std::string& text) {
                NodeLogs::keep_diagnosis(folder_, plan_.layout.nodes[node], text);
              },
          .leader = [] { return -1; },
          .lost = [this](Error error) { fail(std::move(error)); }};
}

std::optional<Effect> Rig::effect_of(const std::function<void(Callback<Effect>)>& power) {
  const auto effect = late<Effect>();
  power([effect](Result<Effect> seen) { *effect = std::move(seen); });
  if (!has_come(effect, kBringUp + plan_.target->ready_within(), "a fault or its end"))
    return std::nullopt;
  return ***effect;
}

bool Rig::use(void (NodeCluster::*power)(int, Callback<Effect>)) {
  const auto effect =
      effect_of([&](auto done) { (cluster_.get()->*power)(kAsked, std::move(done)); });
  if (effect && !effect->bit && !down_) fail(environment_error(effect->evidence));
  return !stopped();
}

const NodeInfo& Rig::node() const { return plan_.layout.nodes[kAsked]; }

std::unique_ptr<Client> Rig::client_to(const NodeInfo& where) {
  const auto client = late<std::unique_ptr<Client>>();
  plan_.target->open_client(loop_, where, [client](Result<std::unique_ptr<Client>> opened) {
    *client = std::move(opened);
  });
  if (!has_come(client, kBringUp, "the start of a client")) return nullptr;
  return std::move(***client);
}

Rig::Asked Rig::begin(Client& client, const Op& op) {
  Asked asked{op};
  client.invoke(op, [done = asked.done](Op completion) { *done = std::move(completion); });
  return asked;
}

Op Rig::finish(Asked& asked, std::unique_ptr<Client>& client) {
  return finish(asked, client, plan_.spec.op_timeout);
}
Op Rig::finish(Asked& asked, std::unique_ptr<Client>& client, Nanos span) {
  await([&] { return asked.done->has_value(); }, span);
  if (!*asked.done) {
    client.reset();
    asked.ours = true;
    return complete(asked.op, OpType::kInfo,
                    {Symbol("timeout"), "no answer within " + format_duration(span), {}, {}});
  }
  if (!client->usable()) client.reset();
  return **asked.done;
}

Op Rig::ask(std::unique_ptr<Client>& client, const Op& op) {
  if (!client) client = client_to(node());
  if (!client) return complete(op, OpType::kInfo);
  Asked asked = begin(*client, op);
  return finish(asked, client);
}

Op Rig::ask_until_ok(std::unique_ptr<Client>& client, const Op& op) {
  const Nanos limit = loop_.now() + kPatience;
  Op done = ask(client, op);
  while (done.type != OpType::kOk && loop_.now() < limit && !stopped()) {
    await([] { return false; }, milliseconds(50));
    done = ask(client, op);
  }
  return done;
}

Op Rig::read_until(std::unique_ptr<Client>& client, const std::string& key, const Value& value,
                   Nanos span) {
  const Nanos limit = loop_.now() + span;
  while (true) {
    Op read = ask(client, op_of(f::read, key));
    if (read.type == OpType::kOk && read.value == value) return read;
    await([] { return false; }, milliseconds(50));
    if (loop_.now() >= limit || stopped()) return read;
  }
}

bool Rig::shows(std::unique_ptr<Client>& client, const std::string& key, const Value& value,
                Nanos span) {
  const Op read = read_until(client, key, value, span);
  return read.type == OpType::kOk && read.value == value;
}

Nanos Rig::patience_of_reads() const {
  return plan_.target->claims().read == "linearizable" ? Nanos{} : kEcho;
}

bool Rig::serves(Symbol f) const {
  const auto ops = plan_.target->ops();
  return std::find(ops.begin(), ops.end(), f) != ops.end();
}

}  // namespace assay::trial
