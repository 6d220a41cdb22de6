// Cluster: nodes of one design over a network and a clock that the test moves by hand. Everything
// happens in one order, always the same. Tests only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "targets/naive/design.h"

namespace assay::naive {

class Cluster {
 public:
  static constexpr int64_t kTickMs = 10;

  Cluster(std::string_view design, int count, DesignOptions options = {}) : options_(options) {
    for (const DesignName& known : kDesigns) {
      if (known.name == design) make_ = known.make;
    }
    for (int i = 1; i <= count; ++i) options_.members.push_back(id(i));
    for (int i = 1; i <= count; ++i) start(i);
    run_for(400);
  }

  // --- What happens to them. Nodes are counted from 1.
  void cut(int a, int b) { cut_.insert({{a, b}, {b, a}}); }
  void split(const std::vector<int>& a, const std::vector<int>& b) {
    for (int x : a) {
      for (int y : b) cut(x, y);
    }
  }
  void heal() { cut_.clear(); }
  void drop_next(int from, int to) { drop_.insert({from, to}); }
  void pause(int node) { paused_.insert(node); }
  void resume(int node) { paused_.erase(node); }
  void restart(int node) { start(node); }
  void set_clock_ahead(int node, int64_t ms) { nodes_.at(node).wall_ahead_ms = ms; }

  void run_for(int64_t ms) {
    for (const int64_t end = now_ms_ + ms; now_ms_ < end; now_ms_ += kTickMs) {
      deliver();
      for (auto& [i, node] : nodes_) {
        if (!paused_.contains(i)) node.design->on_tick();
      }
    }
    deliver();
  }

  // --- What clients do. No answer within two seconds: nothing.
  using Answer = std::optional<kv::Result>;
  Answer ask(int node, kv::Request request) {
    auto answer = std::make_shared<Answer>();
    nodes_.at(node).design->request(std::move(request),
                                    [answer](kv::Result result) { *answer = std::move(result); });
    for (int i = 0; i < 220 && !*answer; ++i) run_for(kTickMs);
    return *answer;
  }
  bool write(int node, const std::string& key, const std::string& value) {
    return is_ok(ask(node, kv::PutRequest{.key = key, .value = value}));
  }
  bool remove(int node, const std::string& key) {
    return is_ok(ask(node, kv::DeleteRangeRequest{.key = key}));
  }
  // The guarded write of INV-009; false: refused.
  bool write_if(int node, const std::string& key, int64_t token, const std::string& value) {
    kv::TxnRequest txn;
    txn.compare.push_back({.target = kv::CompareTarget::kMod, .key = key, .number = token});
    txn.success.push_back({kv::PutRequest{.key = key, .value = value}});
    const Answer answer = ask(node, txn);
    return is_ok(answer) &&
           std::get<kv::TxnResponse>(std::get<kv::Response>(*answer).body).succeeded;
  }
  // "-": absent; "?": no answer; else the error's words.
  std::string read(int node, const std::string& key) {
    const Answer answer = ask(node, kv::RangeRequest{.key = key});
    if (!answer) return "?";
    if (const auto* error = std::get_if<kv::Error>(&*answer)) return std::string(error->message);
    const auto& kvs = std::get<kv::RangeResponse>(std::get<kv::Response>(*answer).body).kvs;
    return kvs.empty() ? "-" : kvs[0]->value;
  }
  int64_t token(int node, const std::string& key) {
    const Answer answer = ask(node, kv::RangeRequest{.key = key});
    const auto& kvs = std::get<kv::RangeResponse>(std::get<kv::Response>(*answer).body).kvs;
    return kvs.empty() ? 0 : kvs[0]->mod_revision.value;
  }
  std::vector<std::string> read_all(const std::string& key) {
    std::vector<std::string> values;
    for (const auto& [i, node] : nodes_) values.push_back(read(i, key));
    return values;
  }

  Status status(int node) const { return nodes_.at(node).design->status(); }
  uint64_t state_hash(int node) const { return nodes_.at(node).design->service().state_hash(); }
  int leader(int node) const { return static_cast<int>(status(node).leader.value); }
  // All nodes have applied the same changes in the same order, and hold the same.
  bool one_history() const {
    for (const auto& [i, node] : nodes_) {
      const Status mine = node.design->status();
      const Status first = nodes_.begin()->second.design->status();
      if (mine.applied != first.applied || mine.chain != first.chain ||
          state_hash(i) != state_hash(1))
        return false;
    }
    return true;
  }

  static bool is_ok(const Answer& answer) {
    return answer && std::holds_alternative<kv::Response>(*answer);
  }

 private:
  struct Node : Env {
    Cluster* cluster = nullptr;
    int index = 0;
    int64_t wall_ahead_ms = 0;
    std::vector<std::string> records;
    std::unique_ptr<Design> design;

    int64_t now_ms() override { return cluster->now_ms_; }
    int64_t wall_ms() override { return 1'000'000 + cluster->now_ms_ + wall_ahead_ms; }
    void send(NodeId to, std::string message) override {
      const auto link = std::pair(index, static_cast<int>(to.value));
      if (cluster->cut_.contains(link) || cluster->drop_.erase(link) > 0) return;
      cluster->links_[link].push_back(std::move(message));
    }
    void save(std::string_view record) override { records.emplace_back(record); }
  };

  static NodeId id(int node) { return NodeId{static_cast<uint64_t>(node)}; }

  void start(int index) {
    Node& node = nodes_[index];
    node.cluster = this;
    node.index = index;
    DesignOptions options = options_;
    options.self = id(index);
    node.design = make_(options, node);
    for (const std::string& record : node.records) node.design->restore(record);
  }

  void deliver() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [link, queue] : links_) {
        if (cut_.contains(link)) queue.clear();
        if (queue.empty() || paused_.contains(link.second)) continue;
        const std::string message = std::move(queue.front());
        queue.pop_front();
        nodes_.at(link.second).design->on_message(message);
        moved = true;
      }
    }
  }

  DesignOptions options_;
  std::unique_ptr<Design> (*make_)(const DesignOptions&, Env&) = nullptr;
  int64_t now_ms_ = 0;
  std::map<int, Node> nodes_;
  std::map<std::pair<int, int>, std::deque<std::string>> links_;
  std::set<std::pair<int, int>> cut_;
  std::set<std::pair<int, int>> drop_;
  std::set<int> paused_;
};

}  // namespace assay::naive
