// Rig: what a trial works with: a small cluster of its own, power over one of its nodes, and
// clients to that node. Single-threaded: whoever waits runs the loop.
//
// What goes wrong here is the environment's or the harness's failure; then everything ends soon,
// and no step says anything more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/plan.h"
#include "harness/run/node_logs.h"
#include "harness/run/real_loop.h"
#include "results/store.h"
#include "targets/asio/relay.h"
#include "targets/node_cluster.h"

namespace assay::trial {

inline constexpr Nanos kPatience = seconds(10);  // for what must come
inline constexpr Nanos kEcho = seconds(3);       // for what may show yet

Op op_of(Symbol f, const std::string& key, Value value = {});

class Rig {
 public:
  Rig(Plan& plan, const RunFolder& folder);
  ~Rig();

  bool set_up();  // false: it failed, or all is to end
  void tear_down();

  // An operation under way; it outlives what it is about.
  struct Asked {
    Op op;
    std::shared_ptr<std::optional<Op>> done = std::make_shared<std::optional<Op>>();
    bool ours = false;  // no answer came: the deadline is ours
  };

 protected:
  // --- Waiting

  bool stopped() const { return interrupted_ || failure_.has_value(); }
  // Runs the loop until it is so; false when the time is up, or when all is to end.
  bool await(const std::function<bool()>& is_so, Nanos span);

  // --- The node

  const NodeInfo& node() const;
  // What a power showed; nothing when all is to end.
  std::optional<Effect> effect_of(const std::function<void(Callback<Effect>)>& power);
  // A power over the node. That it did not bite is the environment's failure: nothing could be
  // said of the clients then.
  bool use(void (NodeCluster::*power)(int, Callback<Effect>));

  // --- Clients

  std::unique_ptr<Client> client_to(const NodeInfo& where);
  Asked begin(Client& client, const Op& op);
  // A client that is late, or can do no more, is gone afterwards.
  Op finish(Asked& asked, std::unique_ptr<Client>& client);
  Op finish(Asked& asked, std::unique_ptr<Client>& client, Nanos span);
  Op ask(std::unique_ptr<Client>& client, const Op& op);
  // Until it is ok or the patience is at its end: a store may be electing.
  Op ask_until_ok(std::unique_ptr<Client>& client, const Op& op);
  // The first read that shows this value, else the last one.
  Op read_until(std::unique_ptr<Client>& client, const std::string& key, const Value& value,
                Nanos span);
  // Does a read come to show this value?
  bool shows(std::unique_ptr<Client>& client, const std::string& key, const Value& value,
             Nanos span);
  // How long a read may take to show what was acknowledged.
  Nanos patience_of_reads() const;
  bool serves(Symbol f) const;

  Plan& plan_;
  const RunFolder& folder_;
  RealLoop loop_;
  std::unique_ptr<NodeLogs> logs_;
  std::unique_ptr<NodeCluster> cluster_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Client> client_;  // to the node, when it is there
  bool down_ = false;               // the node: then a further kill finds nothing
  bool interrupted_ = false;
  std::optional<Error> failure_;

 private:
  // What is asked for may come after nobody waits for it any more: it lands in memory of its own.
  template <typename T>
  using Late = std::shared_ptr<std::optional<Result<T>>>;
  template <typename T>
  static Late<T> late() {
    return std::make_shared<std::optional<Result<T>>>();
  }
  // False, and the reason kept, when it does not come in time or is an error.
  template <typename T>
  bool has_come(const Late<T>& late, Nanos span, const std::string& what);
  void fail(Error error);
  NodeClusterOptions::Hooks hooks();
};

}  // namespace assay::trial
