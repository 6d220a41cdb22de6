#include "harness/run/observer.h"

#include <algorithm>

#include "checkers/history/vocabulary.h"

namespace assay {

// A store that prints a finding per request must not drown the history.
static constexpr int kFindingsMax = 1000;

struct Observer::Watched {
  NodeInfo info;
  bool asked = false;
  Value status;
  Nanos led_since{};  // of one whose status says that it leads
};

static bool leads(const Value& status) { return status["role"] == Value("leader"); }

namespace {

Value object(std::initializer_list<std::pair<const char*, Value>> members) {
  Value::Object object;
  for (const auto& [name, value] : members) object.emplace_back(Symbol(name), value);
  return Value::object(std::move(object));
}

// The node's own words with its name in front.
Value with_node(const std::string& node, const Value& status) {
  Value::Object members{{Symbol("node"), Value(node)}};
  if (status.is_object()) {
    for (const auto& member : status.as_object()) {
      if (member.first != members.front().first) members.push_back(member);
    }
  }
  return Value::object(std::move(members));
}

}  // namespace

Observer::Observer(Loop& loop, Recorder& recorder, Target& target,
                   const std::vector<NodeInfo>& nodes)
    : loop_(loop), recorder_(recorder), target_(target), findings_left_(kFindingsMax) {
  for (const NodeInfo& node : nodes) nodes_.push_back({node, false, Value()});
}

Observer::~Observer() { *alive_ = false; }

void Observer::start(Nanos interval) {
  interval_ = interval;
  if (running_) return;
  running_ = true;
  sample();
}

void Observer::stop() { running_ = false; }

void Observer::sample() {
  if (!running_) return;
  for (Watched& node : nodes_) {
    if (node.asked) continue;
    node.asked = true;
    target_.status(loop_, node.info,
                   [this, alive = alive_, index = node.info.index](Result<Value> status) {
                     if (*alive) sampled(index, std::move(status));
                   });
  }
  loop_.at(loop_.now() + interval_, [this, alive = alive_] {
    if (*alive) sample();
  });
}

void Observer::sampled(int index, Result<Value> status) {
  Watched& node = nodes_[index];
  node.asked = false;
  if (!running_) return;
  const bool led = leads(node.status);
  node.status = status ? *status : Value();
  if (leads(node.status) && !led) node.led_since = loop_.now();
  const Value line = status ? *status : object({{"role", "down"}, {"why", status.error().message}});
  recorder_.observe(f::status, with_node(node.info.name, line));
  // A watcher may add further ones: those start with the next sample.
  auto watchers = std::move(watchers_);
  watchers_.clear();
  for (auto& fn : watchers) {
    if (!fn()) watchers_.push_back(std::move(fn));
  }
}

void Observer::watch(std::function<bool()> fn) { watchers_.push_back(std::move(fn)); }

int Observer::leader() const {
  int leader = -1;
  std::pair<int64_t, Nanos> latest{-1, Nanos{}};
  for (const Watched& node : nodes_) {
    if (!leads(node.status)) continue;
    const std::pair mine{node.status.int_or("term", 0), node.led_since};
    if (leader >= 0 && mine <= latest) continue;
    leader = node.info.index;
    latest = mine;
  }
  return leader;
}

int64_t Observer::term() const {
  const int leader = this->leader();
  return leader < 0 ? -1 : nodes_[leader].status.int_or("term", -1);
}

const Value& Observer::status(int node) const { return nodes_[node].status; }

bool Observer::converged() const {
  const int leader = this->leader();
  if (leader < 0) return false;
  const Value& head = nodes_[leader].status;
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const Watched& node) {
    return node.status.is_object() && node.status["term"] == head["term"] &&
           node.status["leader"] == Value(nodes_[leader].info.name) &&
           node.status["applied"] == head["applied"];
  });
}

void Observer::note_start(int node) {
  recorder_.observe(f::start, object({{"node", nodes_[node].info.name}}));
}

void Observer::note_exit(int node, int code, int signal, bool expected) {
  nodes_[node].status = Value();
  recorder_.observe(f::exit, object({{"node", nodes_[node].info.name},
                                     {"code", code},
                                     {"signal", signal},
                                     {"expected", expected}}));
}

void Observer::note_clock(int node, Nanos offset) {
  recorder_.observe(f::clock,
                    object({{"node", nodes_[node].info.name}, {"offset", Value(offset.count)}}));
}

void Observer::note_log(int node, std::string_view line) {
  const std::string_view finding = target_.log_finding(line);
  if (finding.empty() || findings_left_ == 0) return;
  --findings_left_;
  recorder_.observe(f::log, object({{"node", nodes_[node].info.name},
                                    {"line", Value(line.substr(0, 500))},
                                    {"finding", Value(finding)}}));
}

void Observer::note_proof(const ProvenAnomaly& proof) {
  recorder_.observe(f::proof, object({{"checker", Value(proof.checker)},
                                      {"key", Value(proof.key.text())},
                                      {"index", Value(proof.index)},
                                      {"at", Value(proof.time.count)}}));
}

void Observer::note_phase(std::string_view phase, std::string_view why) {
  if (why.empty()) return recorder_.observe(f::phase, object({{"phase", Value(phase)}}));
  recorder_.observe(f::phase, object({{"phase", Value(phase)}, {"why", Value(why)}}));
}

void Observer::record_chains(int64_t count, std::function<void()> done) {
  auto left = std::make_shared<size_t>(nodes_.size());
  if (nodes_.empty()) return loop_.post(std::move(done));
  for (const Watched& node : nodes_) {
    target_.chain(loop_, node.info, count,
                  [this, alive = alive_, left, done, name = node.info.name](Result<Value> hashes) {
                    if (!*alive) return;
                    if (hashes && hashes->is_object()) {
                      recorder_.observe(f::chain, with_node(name, *hashes));
                    }
                    if (--*left == 0) done();
                  });
  }
}

}  // namespace assay
