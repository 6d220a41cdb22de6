#include "targets/node_cluster.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "targets/node/links.h"
#include "targets/own_fault.h"

namespace assay {
namespace {

constexpr Nanos kPoll = milliseconds(50);    // between two questions whether a daemon answers
constexpr Nanos kGrace = seconds(2);         // of a daemon that is asked to end
constexpr Nanos kPatience = seconds(2);      // for a rule to drop its first packet
constexpr Nanos kOwnBegins = seconds(5);     // until a fault of the store's own is in force
constexpr Nanos kOwnEnds = seconds(10);      // until it is not any more, once its daemon is ready
constexpr Nanos kClockLook = seconds(1);     // between two looks at a daemon's clock
constexpr const char* kClock = "clock";      // the fault of it
constexpr Nanos kHurriedGrace = seconds(1);  // kGrace where somebody waits for the end

std::string describe(const ProcessEnd& end) {
  return end.signal ? "signal " + std::to_string(end.signal) : "code " + std::to_string(end.code);
}

}  // namespace

// Shared with callbacks that may outlive the cluster.
struct NodeCluster::State : std::enable_shared_from_this<NodeCluster::State> {
  State(Loop& loop, Target& target, const Layout& layout, std::vector<std::unique_ptr<Node>> hands,
        NodeClusterOptions options)
      : loop(loop), target(target), layout(layout), options(std::move(options)) {
    for (auto& hand : hands) members.push_back({std::move(hand)});
  }

  struct Member {
    std::unique_ptr<Node> hand;
    std::string daemon;  // its name on the node
    bool running = false;
    bool paused = false;
    bool prepared = false;
    std::map<std::string, std::string> env;   // of its daemon, for faults that were prepared
    std::set<std::string> own_faults;         // that were begun, and not yet seen to have ended
    std::map<std::string, NodeFault> faults;  // of the node; likewise
    bool fell = false;                        // ended by itself under one of them
    bool asked = false;                       // the last end
    bool starting = false;
    bool clock_watched = false;
    std::vector<Callback<Effect>> others;  // who asked for a start that was under way

    bool has(bool NodeFault::*property) const {
      return std::any_of(faults.begin(), faults.end(),
                         [&](const auto& fault) { return fault.second.*property; });
    }
    bool stands_still() const { return paused || has(&NodeFault::stops_daemon); }
    bool is_held_down() const { return !own_faults.empty() || has(&NodeFault::ends_daemon); }
  };

  Loop& loop;
  Target& target;
  const Layout layout;
  NodeClusterOptions options;
  std::vector<Member> members;
  std::set<std::string> link_faults;  // kinds that may be in force
  bool closing = false;

  const std::string& name(int node) const { return layout.nodes[node].name; }

  void listen(int node) {
    NodeEvents events;
    const std::weak_ptr<State> weak = weak_from_this();
    events.on_exit = [weak, node](const std::string&, int, ProcessEnd end, bool asked) {
      const auto state = weak.lock();
      if (!state) return;
      Member& member = state->members[node];
      member.running = member.paused = false;
      member.asked = asked;
      // What a fault of the node does to a daemon is to kill it, or to give it reason to stop.
      const bool known = !member.own_faults.empty() || member.has(&NodeFault::fails_daemon) ||
                         (member.has(&NodeFault::ends_daemon) && end.signal == SIGKILL);
      member.fell |= known && !asked;
      state->options.hooks.exited(node, end.code, end.signal, asked || known || state->closing);
    };
    events.on_fault_lost = [weak, node](const std::string& kind, const std::string& why) {
      const auto state = weak.lock();
      if (state && !state->closing)
        state->options.hooks.lost(
            environment_error(kind + " on " + state->name(node) + " did not hold: " + why));
    };
    events.on_lost = [weak, node](const Error& why) {
      const auto state = weak.lock();
      if (!state || state->closing) return;
      std::string text = "the agent of " + state->name(node) + " is lost: " + why.message;
      for (const std::string& kind : state->members[node].own_faults)
        text += "; " + kind + " may still be in force there: its end was not run";
      state->options.hooks.lost(environment_error(text));
    };
    events.on_undelayed = [weak, node](const std::string& why) {
      const auto state = weak.lock();
      if (state && !state->closing)
        state->options.hooks.lost(
            environment_error("a delay at " + state->name(node) + " did not hold: " + why));
    };
    members[node].hand->set_events(std::move(events));
  }

  // The lines reach the hook as they are written, from the first one on.
  void tail(int node, const std::string& path) {
    if (path.empty()) return;
    const std::weak_ptr<State> weak = weak_from_this();
    members[node].hand->tail(path, [weak, node](const auto& line) {
      if (const auto state = weak.lock()) state->options.hooks.logged(node, line.text);
    });
  }

  void start(int node, Callback<Effect> done) {
    Member& member = members[node];
    if (member.running) return answer(std::move(done), Effect{true, true, ""});
    if (member.has(&NodeFault::ends_daemon))
      return answer(std::move(done),
                    Effect{true, true, name(node) + " starts when a fault of its node has ended"});
    member.others.push_back(std::move(done));
    if (std::exchange(member.starting, true)) return;
    launch(node, [self = shared_from_this(), node](const Result<Effect>& started) {
      Member& member = self->members[node];
      member.starting = false;
      for (const auto& waiting : std::exchange(member.others, {})) waiting(started);
    });
  }

  void launch(int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.prepared) return prepare(node, std::move(done));
    auto spec = target.daemon(layout, layout.nodes[node]);
    if (!spec) return answer(std::move(done), spec.error());
    member.daemon = spec->name;
    for (const auto& [variable, value] : member.env) spec->env[variable] = value;
    member.hand->start(
        *spec, [self = shared_from_this(), node, done = std::move(done)](Result<int> pid) {
          if (!pid) return done(environment_error(self->name(node) + ": " + pid.error().message));
          self->members[node].running = true;
          self->members[node].fell = false;
          self->options.hooks.started(node);
          self->await_answer(node, self->loop.now() + self->options.ready_within, done);
        });
  }

  // Once, before the first start.
  void prepare(int node, Callback<Effect> done) {
    members[node].prepared = true;
    prepare_faults(node, 0, [self = shared_from_this(), node, done](const Result<void>& prepared) {
      if (!prepared)
        return done(environment_error(self->name(node) + ": " + prepared.error().message));
      self->prepare_store(node, done);
    });
  }

  // One after the other, from this one on.
  void prepare_faults(int node, size_t first, Callback<void> done) {
    if (first == options.prepared.size()) return answer<void>(std::move(done), Result<void>());
    NodeFault fault = options.prepared[first];
    fault.settings["folder"] = layout.nodes[node].folder + "/data";
    members[node].hand->prepare_fault(
        fault,
        [self = shared_from_this(), node, first, done = std::move(done)](const auto& env) {
          if (!env) return done(env.error());
          self->members[node].env.insert(env->begin(), env->end());
          self->prepare_faults(node, first + 1, done);
        });
  }

  void prepare_store(int node, Callback<Effect> done) {
    const NodeInfo& info = layout.nodes[node];
    auto commands = target.preparations(layout, info);
    run(node, std::move(commands),
        [self = shared_from_this(), node, done = std::move(done)](Result<void> ran) {
          if (!ran) return done(environment_error(self->name(node) + ": " + ran.error().message));
          const NodeInfo& info = self->layout.nodes[node];
          if (auto spec = self->target.daemon(self->layout, info)) self->tail(node, spec->log_path);
          for (const std::string& path : self->target.logs(self->layout, info))
            self->tail(node, path);
          self->launch(node, done);
        });
  }

  // One after the other, up to the first that fails.
  void run(int node, std::vector<CommandSpec> commands, Callback<void> done) {
    if (commands.empty()) return answer<void>(std::move(done), Result<void>());
    const CommandSpec first = std::move(commands.front());
    commands.erase(commands.begin());
    members[node].hand->run(
        first, [self = shared_from_this(), node, program = first.argv[0],
                rest = std::move(commands), done = std::move(done)](Result<CommandOutput> ran) {
          if (!ran) return done(ran.error());
          if (const std::string why = complaint(program, *ran); !why.empty())
            return done(environment_error(why));
          self->run(node, rest, done);
        });
  }

  // Asks for its status until it answers, it dies, or the time is up.
  void await_answer(int node, Nanos limit, Callback<Effect> done) {
    target.status(
        loop, layout.nodes[node],
        [self = shared_from_this(), node, limit, done](Result<Value> status) {
          if (status) return done(Effect{true, true, self->name(node) + " answers"});
          if (!self->members[node].running) {
            if (self->members[node].asked)
              return done(Effect{true, false, self->name(node) + " was killed again"});
            return done(environment_error(self->name(node) +
                                          " ended before it answered: see its log in " +
                                          self->layout.nodes[node].folder));
          }
          if (self->loop.now() >= limit) {
            return done(Effect{
                true, false,
                self->name(node) + " was started but does not answer: " + status.error().message});
          }
          self->loop.at(self->loop.now() + kPoll,
                        [self, node, limit, done] { self->await_answer(node, limit, done); });
        });
  }

  void kill(int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.running)
      return answer(std::move(done), Effect{true, false, name(node) + " was not running"});
    member.hand->kill(member.daemon, [self = shared_from_this(), node,
                                      done = std::move(done)](Result<KillReport> report) {
      if (!report) return done(environment_error(self->name(node) + ": " + report.error().message));
      self->members[node].running = self->members[node].paused = false;
      if (!report->was_running)
        return done(Effect{true, false, self->name(node) + " was not running"});
      self->confirm_down(node, self->name(node) + " ended by " + describe(report->end), done);
    });
  }

  void confirm_down(int node, const std::string& how, Callback<Effect> done) {
    target.status(loop, layout.nodes[node], [how, done](Result<Value> status) {
      if (status) return done(Effect{true, false, how + ", and yet it answers"});
      done(Effect{true, true, how + ", its port: " + status.error().message});
    });
  }

  void pause(int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.running)
      return answer(std::move(done), Effect{true, false, name(node) + " was not running"});
    member.hand->pause(member.daemon, [self = shared_from_this(), node,
                                       done = std::move(done)](Result<PauseReport> report) {
      if (!report) return done(environment_error(self->name(node) + ": " + report.error().message));
      if (!report->was_running)
        return done(Effect{true, false, self->name(node) + " was not running"});
      self->members[node].paused = true;
      done(Effect{true, report->threads > 0,
                  self->name(node) + ": " + std::to_string(report->threads) + " threads stopped"});
    });
  }

  void resume(int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.running) return answer(std::move(done), Effect{true, false, ""});
    const bool ours = member.paused;
    member.hand->resume(member.daemon, [self = shared_from_this(), node, ours,
                                        done = std::move(done)](Result<ResumeReport> report) {
      if (!report) return done(environment_error(self->name(node) + ": " + report.error().message));
      self->members[node].paused = false;
      if (!ours || !report->was_running) return done(Effect{true, false, ""});
      done(Effect{true, report->held,
                  self->name(node) + (report->held ? " stood still until now"
                                                   : " did not stand still: " + report->why)});
    });
  }

  void cut(const std::vector<Cut>& cuts, Callback<Effect> done) {
    std::vector<Node*> hands;
    for (auto& member : members) hands.push_back(member.hand.get());
    std::vector<DirectedLink> links;
    for (const Cut& cut : cuts) links.push_back({cut.from, cut.to});
    cut_links(
        loop, hands, links, kPatience,
        [self = shared_from_this(), links, done = std::move(done)](Result<LinkCutReport> report) {
          if (!report) return done(report.error());
          done(Effect{report->installed, report->bit && !links.empty(), report->evidence});
        });
  }

  // bit: something was dropped since the cut.
  void heal_cuts(Callback<Effect> done) {
    struct Healing {
      size_t left;
      uint64_t packets = 0;
      std::optional<Error> error;
    };
    const auto healing = std::make_shared<Healing>();
    healing->left = members.size();
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].hand->heal([self = shared_from_this(), i, healing, done](const auto& dropped) {
        if (!dropped && !healing->error)
          healing->error = environment_error(self->name(i) + ": " + dropped.error().message);
        if (dropped) {
          for (const auto& [peer, packets] : *dropped) healing->packets += packets;
        }
        if (--healing->left > 0) return;
        if (healing->error) return done(*healing->error);
        done(Effect{true, healing->packets > 0,
                    std::to_string(healing->packets) + " packets were dropped"});
      });
    }
  }

  void delay(const std::vector<SlowLink>& slow, Callback<Effect> done) {
    std::vector<Node*> hands;
    for (auto& member : members) hands.push_back(member.hand.get());
    std::map<DirectedLink, LinkDelay> links;
    for (const SlowLink& link : slow) links[{link.from, link.to}] = link.how;
    delay_links(loop, hands, links, kPatience,
                [any = !links.empty(), done = std::move(done)](Result<LinkCutReport> report) {
                  if (!report) return done(report.error());
                  done(Effect{report->installed, report->bit && any, report->evidence});
                });
  }

  // bit: something was held since the delay.
  void heal_delays(Callback<Effect> done) {
    struct Healing {
      size_t left;
      HeldPackets held;
      std::optional<Error> error;
    };
    const auto healing = std::make_shared<Healing>();
    healing->left = members.size();
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].hand->undelay([self = shared_from_this(), i, healing, done](const auto& links) {
        if (!links && !healing->error)
          healing->error = environment_error(self->name(i) + ": " + links.error().message);
        if (links) {
          for (const auto& [peer, seen] : *links) {
            healing->held.packets += seen.packets;
            healing->held.duplicates += seen.duplicates;
            healing->held.overtaken += seen.overtaken;
          }
        }
        if (--healing->left > 0) return;
        if (healing->error) return done(*healing->error);
        const HeldPackets& held = healing->held;
        done(Effect{true, held.packets > 0,
                    std::to_string(held.packets) + " packets came late, " +
                        std::to_string(held.duplicates) + " of them twice, " +
                        std::to_string(held.overtaken) + " after a later one"});
      });
    }
  }

  void begin_fault(const NodeFault& fault, int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.running)
      return answer(std::move(done), Effect{false, false, name(node) + " is not running"});
    member.faults[fault.kind] = fault;
    if (fault.kind == kClock && !std::exchange(member.clock_watched, true)) watch_clock(node);
    member.hand->begin_fault(
        fault, member.daemon,
        [self = shared_from_this(), kind = fault.kind, node,
         done = std::move(done)](Result<FaultReport> report) {
          if (!report)
            return done(environment_error(self->name(node) + ": " + report.error().message));
          const Effect seen{report->installed, report->bit,
                            self->name(node) + ": " + report->evidence};
          if (kind == kClock) self->look_at_clock(node);
          if (self->members[node].running || !seen.bit) return done(seen);
          self->confirm_down(node, seen.evidence, done);
        });
  }

  // How far off the daemon's clock is, from the first fault of clocks on.
  void watch_clock(int node) {
    look_at_clock(node);
    loop.at(loop.now() + kClockLook, [self = shared_from_this(), node] {
      if (!self->closing) self->watch_clock(node);
    });
  }
  void look_at_clock(int node) {
    members[node].hand->look_at_fault(
        kClock, [self = shared_from_this(), node](const Result<FaultReport>& seen) {
          if (seen && !self->closing)
            self->options.hooks.clocked(node, nanoseconds(seen->figure));
        });
  }

  void end_fault(const std::string& kind, int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.faults.contains(kind)) return answer(std::move(done), Effect{true, false, ""});
    member.hand->end_fault(kind, [self = shared_from_this(), kind, node,
                                  done = std::move(done)](Result<FaultReport> report) {
      if (!report) return done(environment_error(self->name(node) + ": " + report.error().message));
      const Effect seen{report->installed, report->bit,
                        report->evidence.empty() ? "" : self->name(node) + ": " + report->evidence};
      if (kind == kClock) self->look_at_clock(node);
      if (!seen.installed) return done(seen);
      self->members[node].faults.erase(kind);
      self->pick_up(node, seen, done);
    });
  }

  // Polled: the observer samples about as often.
  void await_election(Nanos patience, Callback<int> done) {
    struct Waiting : std::enable_shared_from_this<Waiting> {
      std::shared_ptr<State> state;
      int leader;
      int64_t term;
      Nanos limit;
      Callback<int> done;
      void look() {
        const int now = state->options.hooks.leader();
        const bool elected = now >= 0 && (now != leader || state->options.hooks.term() > term);
        if (elected || state->loop.now() >= limit || state->closing)
          return done(elected ? now : -1);
        state->loop.at(state->loop.now() + kPoll, [self = shared_from_this()] { self->look(); });
      }
    };
    const auto waiting = std::make_shared<Waiting>();
    waiting->state = shared_from_this();
    waiting->leader = options.hooks.leader();
    waiting->term = options.hooks.term();
    waiting->limit = loop.now() + patience;
    waiting->done = std::move(done);
    loop.post([waiting] { waiting->look(); });
  }

  void break_links(const LinkFault& fault, const std::vector<Cut>& broken, Callback<Effect> done) {
    std::vector<Node*> hands;
    for (auto& member : members) hands.push_back(member.hand.get());
    std::vector<DirectedLink> links;
    for (const Cut& link : broken) links.push_back({link.from, link.to});
    link_faults.insert(fault.kind);
    assay::break_links(
        loop, hands, fault, links, kPatience,
        [any = !links.empty(), done = std::move(done)](Result<LinkCutReport> report) {
          if (!report) return done(report.error());
          done(Effect{report->installed, report->bit && any, report->evidence});
        });
  }

  // bit: it struck something since it began.
  void mend_links(const std::string& kind, Callback<Effect> done) {
    struct Mending {
      size_t left;
      uint64_t count = 0;
      std::optional<Error> error;
    };
    const auto mending = std::make_shared<Mending>();
    mending->left = members.size();
    const std::string did = kind == "reset"        ? " packets were answered by a reset"
                            : kind == "disconnect" ? " ends of connections were destroyed"
                                                   : " packets were dropped";
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].hand->mend_links(
          kind, [self = shared_from_this(), i, mending, did, kind, done](const auto& struck) {
            if (!struck && !mending->error)
              mending->error = environment_error(self->name(i) + ": " + struck.error().message);
            if (struck) {
              for (const auto& [peer, count] : *struck) mending->count += count;
            }
            if (--mending->left > 0) return;
            if (mending->error) return done(*mending->error);
            self->link_faults.erase(kind);
            done(Effect{true, mending->count > 0, std::to_string(mending->count) + did});
          });
    }
  }

  void begin_own(const std::string& kind, int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.running || member.stands_still()) {
      return answer(std::move(done),
                    Effect{false, false,
                           name(node) + (member.running ? " stands still" : " is not running")});
    }
    const FaultCommands commands = target.fault_commands(kind, layout, layout.nodes[node]);
    member.own_faults.insert(kind);
    begin_own_fault(loop, *member.hand, kind, commands, kOwnBegins,
                    [self = shared_from_this(), done = std::move(done)](auto seen) { done(seen); });
  }

  void end_own(const std::string& kind, int node, Callback<Effect> done) {
    Member& member = members[node];
    if (!member.own_faults.contains(kind)) return answer(std::move(done), Effect{true, false, ""});
    end_own_fault(loop, *member.hand, kind, target.fault_commands(kind, layout, layout.nodes[node]),
                  options.ready_within + kOwnEnds,
                  [self = shared_from_this(), kind, node, done = std::move(done)](auto seen) {
                    if (!seen || !seen->installed) return done(seen);
                    self->members[node].own_faults.erase(kind);
                    self->pick_up(node, *seen, done);
                  });
  }

  // A daemon that fell under faults is started again once they have all ended.
  void pick_up(int node, Effect effect, const Callback<Effect>& done) {
    Member& member = members[node];
    if (!member.fell || member.running || member.is_held_down() || closing)
      return done(std::move(effect));
    start(node, [effect, done](const Result<Effect>& started) {
      if (!started || !started->bit) return done(started);
      Effect both = effect;
      both.evidence += (both.evidence.empty() ? "" : "; ") + started->evidence + " again";
      done(std::move(both));
    });
  }

  // Ends its own faults, asks how it is, lets its daemon end in an orderly way, and ends the agent.
  void see_off(int node, bool hurried, const std::function<void()>& done) {
    Node& hand = *members[node].hand;
    const auto end = [self = shared_from_this(), &hand, node, hurried, done](const auto&) {
      self->options.hooks.leaving(node, hand, hurried,
                                  [&hand, done] { hand.close([done](const auto&) { done(); }); });
    };
    const auto stop = [self = shared_from_this(), node, hurried, end] {
      Member& member = self->members[node];
      // A paused one cannot hear it.
      if (!member.running || member.paused) return end(0);
      const Nanos grace = hurried ? kHurriedGrace : kGrace;
      const auto farewells = hurried
                                 ? std::vector<CommandSpec>{}
                                 : self->target.farewells(self->layout, self->layout.nodes[node]);
      self->run(node, farewells, [self, &member, grace, end](const Result<void>&) {
        member.running ? member.hand->stop(member.daemon, grace, end) : end(0);
      });
    };
    const auto diagnosed = [self = shared_from_this(), node, hurried, stop] {
      hurried ? stop() : self->diagnose(node, stop);
    };
    if (members[node].own_faults.empty()) return diagnosed();
    hand.undo([self = shared_from_this(), node, diagnosed](const Result<void>& undone) {
      // Without its daemon it may be out of reach; then it ends with the node.
      if (!undone && self->members[node].running)
        self->options.hooks.lost(
            environment_error(self->name(node) + ": " + undone.error().message));
      diagnosed();
    });
  }

  void diagnose(int node, std::function<void()> done) {
    const auto command = target.diagnosis(layout, layout.nodes[node]);
    if (!command) return done();
    members[node].hand->run(*command, [self = shared_from_this(), node, program = command->argv[0],
                                       done = std::move(done)](const Result<CommandOutput>& ran) {
      const std::string why = ran ? complaint(program, *ran) : ran.error().message;
      std::string text = ran ? ran->out + ran->err : "";
      if (!why.empty()) text += "(" + why + ")\n";
      self->options.hooks.diagnosed(node, text);
      done();
    });
  }

  template <typename T>
  void answer(Callback<T> done, Result<T> result) {
    loop.post([done = std::move(done), result = std::move(result)] { done(result); });
  }
  void answer(Callback<Effect> done, Effect effect) {
    answer<Effect>(std::move(done), Result<Effect>(std::move(effect)));
  }
  void answer(Callback<Effect> done, const Error& error) {
    answer<Effect>(std::move(done), Result<Effect>(error));
  }
};

NodeCluster::NodeCluster(Loop& loop, Target& target, const Layout& layout,
                         std::vector<std::unique_ptr<Node>> nodes, NodeClusterOptions options)
    : state_(std::make_shared<State>(loop, target, layout, std::move(nodes), std::move(options))) {
  for (const NodeInfo& node : layout.nodes) state_->listen(node.index);
}

NodeCluster::~NodeCluster() { state_->closing = true; }

void NodeCluster::set_up(Callback<void> done) {
  const auto left = std::make_shared<size_t>(state_->members.size());
  const auto problem = std::make_shared<std::optional<Error>>();
  for (const NodeInfo& node : state_->layout.nodes) {
    start(node.index, [left, problem, done](Result<Effect> effect) {
      if (!effect && !*problem) *problem = effect.error();
      if (effect && !effect->bit && !*problem) *problem = environment_error(effect->evidence);
      if (--*left > 0) return;
      *problem ? done(**problem) : done({});
    });
  }
}

void NodeCluster::close(bool hurried, std::function<void()> done) {
  state_->closing = true;
  const auto left = std::make_shared<size_t>(state_->members.size());
  for (const NodeInfo& node : state_->layout.nodes) {
    // Who is cut off may not hear what undoes a fault: so the links come first.
    Node& hand = *state_->members[node.index].hand;
    hand.heal([](const auto&) {});
    for (const auto& [kind, fault] : state_->members[node.index].faults)
      hand.end_fault(kind, [](const auto&) {});
    for (const std::string& kind : state_->link_faults) hand.mend_links(kind, [](const auto&) {});
    hand.undelay([state = state_, node = node.index, hurried, left, done](const auto&) {
      state->see_off(node, hurried, [left, done] {
        if (--*left == 0) done();
      });
    });
  }
}

const std::vector<NodeInfo>& NodeCluster::nodes() const { return state_->layout.nodes; }
Powers NodeCluster::powers() const {
  const bool links = state_->options.links;
  Powers powers{
      .kill = true, .pause = true, .cut = links, .run = true, .delay = links, .faults = true};
  if (links) powers.links = {std::begin(kLinkFaults), std::end(kLinkFaults)};
  return powers;
}
int NodeCluster::leader() const { return state_->options.hooks.leader(); }
bool NodeCluster::runs(int node) const {
  return state_->members[node].running && !state_->members[node].stands_still();
}
void NodeCluster::kill(int node, Callback<Effect> done) { state_->kill(node, std::move(done)); }
void NodeCluster::start(int node, Callback<Effect> done) { state_->start(node, std::move(done)); }
void NodeCluster::pause(int node, Callback<Effect> done) { state_->pause(node, std::move(done)); }
void NodeCluster::cut(const std::vector<Cut>& cuts, Callback<Effect> done) {
  state_->cut(cuts, std::move(done));
}
void NodeCluster::heal_cuts(Callback<Effect> done) { state_->heal_cuts(std::move(done)); }
void NodeCluster::delay(const std::vector<SlowLink>& links, Callback<Effect> done) {
  state_->delay(links, std::move(done));
}
void NodeCluster::heal_delays(Callback<Effect> done) { state_->heal_delays(std::move(done)); }
void NodeCluster::break_links(const LinkFault& fault, const std::vector<Cut>& links,
                              Callback<Effect> done) {
  state_->break_links(fault, links, std::move(done));
}
void NodeCluster::mend_links(const std::string& kind, Callback<Effect> done) {
  state_->mend_links(kind, std::move(done));
}
void NodeCluster::resume(int node, Callback<Effect> done) { state_->resume(node, std::move(done)); }
void NodeCluster::begin_fault(const NodeFault& fault, int node, Callback<Effect> done) {
  state_->begin_fault(fault, node, std::move(done));
}
void NodeCluster::end_fault(const std::string& kind, int node, Callback<Effect> done) {
  state_->end_fault(kind, node, std::move(done));
}
void NodeCluster::await_election(Nanos patience, Callback<int> done) {
  state_->await_election(patience, std::move(done));
}
void NodeCluster::begin_own(const std::string& kind, int node, Callback<Effect> done) {
  state_->begin_own(kind, node, std::move(done));
}
void NodeCluster::end_own(const std::string& kind, int node, Callback<Effect> done) {
  state_->end_own(kind, node, std::move(done));
}

}  // namespace assay
