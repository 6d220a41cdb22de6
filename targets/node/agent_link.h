// AgentLink: the driver's half of the protocol with one agent (agent/protocol.h), below AgentNode.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "targets/node/agent/wire.h"
#include "targets/node/agent_node.h"

namespace assay {

class AgentLink : public std::enable_shared_from_this<AgentLink> {
 public:
  using Json = nlohmann::json;
  using Answer = std::function<void(Result<Json>)>;

  AgentLink(Loop& loop, AgentNodeOptions options);

  void connect(std::unique_ptr<AgentCarrier> carrier, std::function<void(Result<void>)> greeted);
  // The reply's fields, or the agent's complaint; exactly once, never inside the call.
  void ask(const std::string& word, Json fields, Answer answer);
  void tail(const std::string& path, std::function<void(const TailedLine&)> on_line);
  void close(std::function<void(Result<void>)> done);
  void abandon();  // the node is destroyed: what is due is posted, nothing else is said

  const AgentNodeOptions& options() const { return options_; }
  const NodePowers& powers() const { return powers_; }
  int pid() const { return pid_; }
  std::map<std::string, uint64_t>& bitten() { return bitten_; }
  std::map<std::string, Nanos>& held() { return held_; }
  std::map<std::string, uint64_t>& struck(const std::string& kind) { return struck_[kind]; }
  std::map<std::string, LinkDelay>& delays() { return delays_; }
  void set_events(NodeEvents events) { events_ = std::move(events); }
  Loop& loop() { return loop_; }

 private:
  enum class State { kGreeting, kOpen, kClosing, kGone };

  void received(std::string_view bytes);
  void ended(const std::string& how);
  void on_line(std::string_view line);
  void on_hello(const Json& hello);
  void on_reply(const Json& reply);
  void on_event(const Json& event);
  std::function<void()> log_line(const Json& event);
  std::function<void()> daemon_exit(const Json& event);
  std::function<void()> bite(const Json& event);
  void send(const Json& line);
  void beat();
  void after(Nanos delay, std::function<void(AgentLink&)> fn);
  void lose(const std::string& why);
  void fail_pending(const Error& why);
  void finish_close(Result<void> result);

  Loop& loop_;
  AgentNodeOptions options_;
  std::unique_ptr<AgentCarrier> carrier_;
  agent::LineSplitter splitter_;
  State state_ = State::kGreeting;
  Error lost_;
  std::function<void(Result<void>)> greeted_, closed_;
  bool close_answered_ = false;
  Result<void> close_result_;
  std::map<int64_t, Answer> pending_;
  int64_t next_id_ = 1;
  int unanswered_beats_ = 0;
  NodePowers powers_;
  int pid_ = 0;
  std::map<std::string, uint64_t> bitten_;
  std::map<std::string, Nanos> held_;
  std::map<std::string, std::map<std::string, uint64_t>> struck_;  // by kind, by address
  std::map<std::string, LinkDelay> delays_;                        // as last asked for
  std::map<std::string, std::function<void(const TailedLine&)>> tails_;
  NodeEvents events_;
};

}  // namespace assay
