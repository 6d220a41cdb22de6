#include "targets/node/local_node.h"

#include <boost/asio/io_context.hpp>
#include <utility>
#include <vector>

#include "targets/node/agent/control_group.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"
#include "targets/node/agent_node.h"
#include "targets/node/child_carrier.h"
#include "targets/node/private_net.h"

namespace assay {
namespace {

namespace asio = boost::asio;

std::vector<std::string> arguments(const LocalNodeOptions& options) {
  std::vector<std::string> args{options.private_network ? "--own-net" : "--no-links"};
  if (!options.data_folder.empty()) args.insert(args.end(), {"--data", options.data_folder});
  if (!options.beat) args.push_back("--no-beat");
  return args;
}

ChildOptions child_of(const LocalNodeOptions& options) {
  ChildOptions child{.program = options.agent_path,
                     .args = arguments(options),
                     .env = options.env,
                     .log = options.agent_log};
  child.env[agent::kRunVariable] = options.run_id;
  child.env[agent::kNodeVariable] = options.name;
  // An agent that did not end in order may have left processes in sessions of their own behind, and
  // control groups.
  child.exited = [run = options.run_id, node = options.name](ProcessEnd end) {
    if (end.code == 0 && end.signal == 0) return;
    agent::ControlGroup::thaw(run, node);
    agent::kill_marked(run, node);
    (void)agent::ControlGroup::remove(run, node);  // what stays is empty, and harmless
  };
  return child;
}

// From a spawned agent to a node that has an address. Owns the node on the way.
class Starting : public std::enable_shared_from_this<Starting> {
 public:
  using Done = Node::Done<std::unique_ptr<Node>>;
  Starting(Loop& loop, const LocalNodeOptions& options, Done done)
      : index_(options.index), is_private_(options.private_network), done_(std::move(done)) {
    node_ = std::make_unique<AgentNode>(
        loop, AgentNodeOptions{.name = options.name,
                               .address = is_private_ ? node_address(index_) : "127.0.0.1",
                               .run_id = options.run_id,
                               .control_address = is_private_ ? driver_address() : "",
                               .beat = options.beat});
  }

  void begin(std::unique_ptr<AgentCarrier> carrier) {
    node_->connect(std::move(carrier), [self = shared_from_this()](const Result<void>& greeted) {
      self->greeted(greeted);
    });
  }

 private:
  void greeted(const Result<void>& result) {
    if (!result || !is_private_) return finish(result);
    if (auto joined = join_node(index_, node_->agent_pid()); !joined) {
      return finish(environment_error("cannot join the network: " + joined.error().message));
    }
    node_->configure_network(
        kNodeLink, node_interface_address(index_),
        [self = shared_from_this()](const Result<void>& up) { self->finish(up); });
  }

  void finish(const Result<void>& result) {
    if (!result) return done_(result.error());
    done_(std::unique_ptr<Node>(std::move(node_)));
  }

  int index_;
  bool is_private_;
  Done done_;
  std::unique_ptr<AgentNode> node_;
};

}  // namespace

void start_local_node(asio::io_context& io, Loop& loop, const LocalNodeOptions& options,
                      Node::Done<std::unique_ptr<Node>> done) {
  auto child = start_child(io, child_of(options));
  if (!child) {
    return loop.post([done = std::move(done), why = child.error()] { done(why); });
  }
  std::make_shared<Starting>(loop, options, std::move(done))->begin(std::move(*child));
}

}  // namespace assay
