#include "harness/run/examine.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "harness/run/real_loop.h"
#include "targets/node/local_node.h"
#include "targets/node/remote_node.h"
#include "targets/node/remote_shell.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr Nanos kCommandPatience = seconds(8);
constexpr Nanos kPatience = seconds(60);  // for all together
constexpr int kClockTries = 5;
constexpr int kShellTries = 3;

int64_t wall_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

Prerequisite obstacle(const char* what, const Error& error) {
  return {.what = what, .outcome = Prerequisite::Outcome::kFails, .text = error.message, .needed = true};
}

// The questions that go through a node's agent, one after the other.
class NodeExam : public std::enable_shared_from_this<NodeExam> {
 public:
  NodeExam(Node& node, std::string folder, Examined known, std::function<void(Examined)> done)
      : node_(node), folder_(std::move(folder)), examined_(std::move(known)), done_(std::move(done)) {}

  void begin(bool is_remote) {
    clock_tries_ = is_remote ? kClockTries : 0;
    examined_.powers = node_.powers();
    const CommandSpec facts{.argv = {"/bin/sh", "-c", facts_script(folder_)}, .deadline = kCommandPatience};
    node_.run(facts, [self = shared_from_this()](const Result<CommandOutput>& ran) {
      if (ran) self->examined_.facts = Facts(ran->out);
      self->fsync();
    });
  }

 private:
  void fsync() {
    node_.measure_fsync(folder_, [self = shared_from_this()](const Result<Nanos>& took) {
      if (took) self->examined_.fsync = *took;
      self->clock();
    });
  }

  // Of several looks, the one with the shortest round trip.
  void clock() {
    if (clock_tries_-- == 0) return done_(std::move(examined_));
    const int64_t asked = wall_clock_ns();
    const CommandSpec date{.argv = {"date", "+%s%N"}, .deadline = kCommandPatience};
    node_.run(date, [self = shared_from_this(), asked](const Result<CommandOutput>& ran) {
      const int64_t answered = wall_clock_ns();
      const int64_t there = ran ? std::strtoll(ran->out.c_str(), nullptr, 10) : 0;
      const HostClock seen{Nanos{there - (asked + answered) / 2}, Nanos{(answered - asked) / 2}};
      auto& best = self->examined_.clock;
      const bool means_something = ran && there > int64_t{1} << 59;  // not seconds alone
      if (means_something && (!best || seen.error < best->error)) best = seen;
      self->clock();
    });
  }

  Node& node_;
  const std::string folder_;
  Examined examined_;
  std::function<void(Examined)> done_;
  int clock_tries_ = 0;
};

// From the way in to the agent's last word.
class HostExam : public std::enable_shared_from_this<HostExam> {
 public:
  HostExam(RealLoop& loop, const ExamineOptions& options, const Host& host,
           std::function<void(Diagnosis)> done)
      : loop_(loop), options_(options), host_(host), done_(std::move(done)) {
    diagnosis_.machine = host.name + " (" + host.address + ")";
  }

  void begin() {
    (host_.via.empty() ? open_ssh_shell : open_via_shell)(
        loop_.context(), loop_, host_,
        [self = shared_from_this()](Result<std::shared_ptr<RemoteShell>> shell) {
          if (!shell) return self->give_up("way in", shell.error());
          self->add({.what = "way in",
                     .text = self->host_.via.empty() ? "SSH as " + self->host_.user + ": the key is taken"
                                                     : "by " + self->host_.via.front(),
                     .needed = true});
          self->shell_ = std::move(*shell);
          self->time_shell(kShellTries, kPatience);
        });
  }

 private:
  void add(Prerequisite found) { diagnosis_.prerequisites.push_back(std::move(found)); }
  void give_up(const char* what, const Error& error) {
    add(obstacle(what, error));
    done_(std::move(diagnosis_));
  }

  void time_shell(int tries, Nanos best) {
    const Nanos asked = loop_.now();
    shell_->run("true", nullptr, kCommandPatience,
                [self = shared_from_this(), asked, tries, best](const Result<RemoteShell::Output>& ran) {
                  if (!ran) return self->give_up("shell", ran.error());
                  const Nanos fastest = std::min(best, self->loop_.now() - asked);
                  if (tries > 1) return self->time_shell(tries - 1, fastest);
                  self->add(shell_start(fastest));
                  self->shell_.reset();
                  self->start_agent();
                });
  }

  // With the programs of a run against the bundled store, which are then there.
  void start_agent() {
    const RemoteNodeOptions options{
        .host = host_,
        .run_id = options_.run_id,
        .programs = {options_.bin_dir + "/assay-agent", options_.bin_dir + "/assay-raft"},
        .agent_log = "/dev/null"};
    start_remote_node(loop_.context(), loop_, options,
                      [self = shared_from_this()](Result<RemoteNode> node) {
                        if (!node) return self->give_up("agent", node.error());
                        self->node_ = std::move(*node);
                        self->ask();
                      });
  }

  void ask() {
    add({.what = "agent",
         .text = std::string("runs") + (host_.sudo ? " by sudo" : "") + " from " + node_.bin_dir,
         .needed = true});
    const std::string cache = fs::path(node_.bin_dir).parent_path().parent_path();
    std::make_shared<NodeExam>(*node_.node, cache, Examined{}, [self = shared_from_this()](Examined seen) {
      for (Prerequisite& found : prerequisites_of(seen)) self->add(std::move(found));
      self->tidy();
    })->begin(true);
  }

  void tidy() {
    node_.node->remove_folder(node_.folder, [self = shared_from_this()](const Result<void>&) {
      self->node_.node->close([self](const Result<void>&) { self->done_(std::move(self->diagnosis_)); });
    });
  }

  RealLoop& loop_;
  const ExamineOptions options_;
  const Host host_;
  std::function<void(Diagnosis)> done_;
  Diagnosis diagnosis_;
  std::shared_ptr<RemoteShell> shell_;
  RemoteNode node_;
};

}  // namespace

Diagnosis examine_here(const ExamineOptions& options, bool in_private_world) {
  RealLoop loop;
  Diagnosis diagnosis{.machine = "this machine"};
  std::unique_ptr<Node> node;
  bool ended = false;
  const auto look = [&](Result<std::unique_ptr<Node>> started) {
    if (!started) {
      diagnosis.prerequisites.push_back(obstacle("agent", started.error()));
      ended = true;
      return;
    }
    node = std::move(*started);
    std::make_shared<NodeExam>(*node, fs::current_path(), Examined{.own_links = in_private_world},
                               [&](Examined seen) {
                                 diagnosis.prerequisites = prerequisites_of(seen);
                                 node->close([&](const Result<void>&) { ended = true; });
                               })
        ->begin(false);
  };
  const LocalNodeOptions local{.name = "n1",
                               .run_id = options.run_id,
                               .agent_path = options.bin_dir + "/assay-agent",
                               .private_network = in_private_world};
  start_local_node(loop.context(), loop, local, look);
  loop.run_until([&] { return ended; }, loop.now() + kPatience);
  return diagnosis;
}

std::vector<Diagnosis> examine_hosts(const ExamineOptions& options, const std::vector<Host>& hosts) {
  RealLoop loop;
  std::vector<std::optional<Diagnosis>> made(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) {
    std::make_shared<HostExam>(loop, options, hosts[i], [&made, i](Diagnosis diagnosis) {
      made[i] = std::move(diagnosis);
    })->begin();
  }
  loop.run_until(
      [&] { return std::all_of(made.begin(), made.end(), [](const auto& one) { return one.has_value(); }); },
      loop.now() + kPatience);
  std::vector<Diagnosis> diagnoses;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!made[i])
      made[i] = Diagnosis{.machine = hosts[i].name,
                          .prerequisites = {obstacle("way in", environment_error("it does not answer"))}};
    diagnoses.push_back(std::move(*made[i]));
  }
  return diagnoses;
}

}  // namespace assay
