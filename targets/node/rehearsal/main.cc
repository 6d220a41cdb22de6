// assay-rehearsal: a driver without a store, for tests and for measuring: brings nodes up, starts a
// daemon with descendants on each, makes a link slow where that is possible, and waits to be interrupted or broken.
//
//   assay-rehearsal --run ID --net private|host --nodes N --agent PROGRAM --folder DIR
//       [--cut ROUNDS] [--leave]
//
// Lines on standard output: "entered", "node <name> <pid of its agent> <pid of its daemon>",
// "up <us>", "ready", and of --cut: "cut <us> <us to heal>". Exits 0 after --leave (all closed), 130 after
// SIGINT or SIGTERM (all closed), 255 when an agent is lost or anything else fails.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <optional>
#include <string>
#include <vector>

#include "targets/asio/testing_loop.h"
#include "targets/node/links.h"
#include "targets/node/local_node.h"
#include "targets/node/private_net.h"

namespace assay {
namespace {

constexpr int kFailed = 255;
constexpr int kInterrupted = 130;

struct Settings {
  std::string run = "rehearsal", agent, folder;
  bool is_private = true;
  int nodes = 3;
  int cut_rounds = 0;
  bool leave = false;
};

void say(const std::string& line) {
  puts(line.c_str());
  fflush(stdout);
}

[[noreturn]] void fail(const std::string& why) {
  fprintf(stderr, "assay-rehearsal: %s\n", why.c_str());
  fflush(stderr);
  _exit(kFailed);
}

class Rehearsal {
 public:
  explicit Rehearsal(Settings settings)
      : settings_(std::move(settings)), signals_(loop_.context(), SIGINT, SIGTERM) {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) interrupted_ = true;
    });
  }

  int run() {
    const Nanos start = loop_.now();
    bring_up();
    say("up " + std::to_string((loop_.now() - start).count / 1'000));
    for (size_t i = 0; i < nodes_.size(); ++i) start_daemon(*nodes_[i]);
    if (nodes_[0]->powers().delay && nodes_.size() > 1) make_slow();
    say("ready");
    for (int round = 0; round < settings_.cut_rounds && !interrupted_; ++round) cut_and_heal();
    while (!interrupted_ && !settings_.leave)
      loop_.run_until([&] { return interrupted_; }, std::chrono::seconds(1));
    for (const auto& node : nodes_) (void)wait<void>([&](auto done) { node->close(done); });
    return interrupted_ ? kInterrupted : 0;
  }

 private:
  // Runs the loop until the operation is done.
  template <typename T>
  Result<T> wait(const std::function<void(Node::Done<T>)>& operation) {
    std::optional<Result<T>> result;
    operation([&](Result<T> r) { result = std::move(r); });
    loop_.run_until([&] { return result.has_value(); }, std::chrono::seconds(60));
    if (!result) fail("an operation did not end");
    if (!*result) fail(result->error().message);
    return std::move(*result);
  }

  void bring_up() {
    nodes_.resize(static_cast<size_t>(settings_.nodes));
    int left = settings_.nodes;
    for (int i = 0; i < settings_.nodes; ++i) {
      const LocalNodeOptions options{.index = i,
                                     .name = "n" + std::to_string(i + 1),
                                     .run_id = settings_.run,
                                     .agent_path = settings_.agent,
                                     .agent_log = settings_.folder + "/agent.log",
                                     .private_network = settings_.is_private};
      start_local_node(loop_.context(), loop_, options,
                       [this, i, &left](Result<std::unique_ptr<Node>> node) {
                         if (!node) fail(node.error().message);
                         nodes_[static_cast<size_t>(i)] = std::move(*node);
                         --left;
                       });
    }
    if (!loop_.run_until([&] { return left == 0; }, std::chrono::seconds(60)))
      fail("nodes do not come up");
    for (const auto& node : nodes_) {
      node->set_events({.on_undelayed =
                            [](const std::string& why) { fail("a delay did not hold: " + why); },
                        .on_lost =
                            [&](const Error& why) {
                              fail("the agent of " + node->name() + " is lost: " + why.message);
                            }});
    }
  }

  // With a child in its group and one that has left for a session of its own.
  void start_daemon(Node& node) {
    const DaemonSpec spec{.name = "d",
                          .argv = {"sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"}};
    const Result<int> pid = wait<int>([&](auto done) { node.start(spec, done); });
    say("node " + node.name() + " " + std::to_string(node.agent_pid()) + " " +
        std::to_string(*pid));
  }

  void make_slow() {
    const std::map<std::string, LinkDelay> from{{nodes_[1]->address(), {.delay = milliseconds(5)}}};
    (void)wait<void>([&](auto done) { nodes_[0]->delay(from, done); });
  }

  // Each node loses the packets of the two that follow it.
  void cut_and_heal() {
    std::vector<Node*> nodes;
    std::vector<DirectedLink> ring;
    const int n = settings_.nodes;
    for (int i = 0; i < n; ++i) {
      nodes.push_back(nodes_[static_cast<size_t>(i)].get());
      for (int k = 1; k <= 2; ++k) ring.push_back({(i + k) % n, i});
    }
    const Nanos start = loop_.now();
    const auto report =
        wait<LinkCutReport>([&](auto done) { cut_links(loop_, nodes, ring, seconds(2), done); });
    if (!report->bit) fail("the cut does not bite: " + report->evidence);
    const Nanos cut = loop_.now();
    (void)wait<LinkCutReport>([&](auto done) { cut_links(loop_, nodes, {}, seconds(2), done); });
    say("cut " + std::to_string((cut - start).count / 1'000) + " " +
        std::to_string((loop_.now() - cut).count / 1'000));
  }

  Settings settings_;
  TestingLoop loop_;
  boost::asio::signal_set signals_;
  bool interrupted_ = false;
  std::vector<std::unique_ptr<Node>> nodes_;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--leave") {
      settings.leave = true;
      continue;
    }
    if (++i == argc) fail("what is " + flag + "?");
    const std::string value = argv[i];
    if (flag == "--run")
      settings.run = value;
    else if (flag == "--net")
      settings.is_private = value == "private";
    else if (flag == "--nodes")
      settings.nodes = std::stoi(value);
    else if (flag == "--agent")
      settings.agent = value;
    else if (flag == "--folder")
      settings.folder = value;
    else if (flag == "--cut")
      settings.cut_rounds = std::stoi(value);
    else
      fail("what is " + flag + "?");
  }
  return settings;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  Settings settings = parse(argc, argv);
  mark_process(settings.run);
  if (settings.is_private) {
    if (auto entered = enter_private_world(settings.run); !entered) fail(entered.error().message);
  }
  say("entered");
  return Rehearsal(std::move(settings)).run();
}
