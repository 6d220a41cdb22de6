// Ordered: what timeout_failover and reachable_group have in common: one node at a time gives the
// changes an order, others copy its log, and hand their clients' requests to it. Which node that
// is, when a change is answered, and which history survives, is each design's own affair.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "targets/naive/design.h"
#include "targets/naive/log.h"

namespace assay::naive {

class Ordered : public Design {
 public:
  void restore(std::string_view record) override { log_.restore(record); }
  void request(kv::Request request, Done done) override;
  void on_message(std::string_view message) override;
  void on_tick() override;
  std::optional<uint64_t> chain_at(uint64_t applied) const override {
    return log_.copy().chain_at(applied);
  }
  Status status() const override;
  const kv::Service& service() const override { return log_.copy().service(); }

 protected:
  Ordered(const DesignOptions& options, Env& env);

  virtual NodeId leader() const = 0;  // as far as this node knows; kNobody
  virtual uint64_t epoch() const = 0;
  // A request that may change something, when this node leads.
  virtual void lead(kv::Request request, Done done) = 0;
  virtual void heard(NodeId) {}  // before each message of another node
  virtual void on_beat(NodeId from, const Beat& beat) = 0;
  // Whether the sender's word decides what this node's history is.
  virtual bool believes(NodeId from, const NewEntry& entry) const = 0;
  virtual bool believes(NodeId from, const Entries& entries) const = 0;
  virtual void on_copied() {}       // from one of those
  virtual void on_cut(uint64_t) {}  // the log has only so many entries left

  bool leads() const { return leader() == options_.self; }
  void send(NodeId to, decltype(Message::body) body);
  void send_to_others(const decltype(Message::body)& body);
  Beat beat() const { return {epoch(), leads(), log_.length(), log_.chain()}; }
  NewEntry newest() const;
  // Asks for what this node lacks; not more often than every 50 ms.
  void ask(NodeId member);
  // To be called when another node leads: what was handed to the former one may have been done, or
  // not.
  void give_forwards_up();

  const DesignOptions options_;
  Env& env_;
  Log log_;

 private:
  struct Waiting {
    Done done;
    int64_t deadline_ms = 0;
  };

  void serve(kv::Request request, Done done);
  void on(NodeId from, Beat& beat) { on_beat(from, beat); }
  void on(NodeId from, NewEntry& entry);
  void on(NodeId from, Want& want);
  void on(NodeId from, Entries& entries);
  void on(NodeId from, Forward& forward);
  void on(NodeId from, Reply& reply);
  void cut(uint64_t length);

  uint64_t next_forward_;
  std::map<uint64_t, Waiting> forwards_;
  int64_t next_beat_ms_ = 0;
  int64_t may_ask_ms_ = 0;
};

}  // namespace assay::naive
