// Agent: the hands of the driver on one node. Reads requests on standard input, does them, writes
// replies and events on standard output (protocol.h). One thread.
//
// It ends when asked to, when its input ends, when nothing was read for five seconds, or at
// SIGTERM, SIGINT, SIGHUP. However it ends (but for SIGKILL, which its daemons do not survive
// either), it first ends the faults of its links and of its node and kills what it started,
// descendants in sessions of their own included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "targets/node/agent/commands.h"
#include "targets/node/agent/daemons.h"
#include "targets/node/agent/delays.h"
#include "targets/node/agent/disconnects.h"
#include "targets/node/agent/firewall.h"
#include "targets/node/agent/node_fault.h"
#include "targets/node/agent/poll_loop.h"
#include "targets/node/agent/responder.h"
#include "targets/node/agent/tails.h"
#include "targets/node/agent/wire.h"

namespace assay::agent {

struct AgentOptions {
  std::string run, node;       // the label of everything it makes: from ASSAY_RUN and ASSAY_NODE
  std::string data_folder;     // --data: where mkdir and rm work
  std::string log_path;        // --log: what it has to say about itself, besides standard error
  bool own_network = false;    // --own-net
  bool links = true;           // --no-links: no rules, this network is not ours
  bool beat = true;            // --no-beat: do not end for lack of input; for debuggers
  std::set<std::string> skip;  // self-test switches, see kSkipVariable
};

class Agent {
 public:
  explicit Agent(AgentOptions options);
  ~Agent();

  int run();  // the exit code: 0 asked to close, 3 it healed itself, 1 it could not begin

 private:
  using Request = const nlohmann::json&;

  Result<void> set_up();
  Result<void> probe_links();
  Result<void> probe_delays();
  void probe_faults();
  void say_hello();
  void read_input();
  void read_signals();
  void reap();
  void check_lifeline();

  void on_line(std::string_view line);
  void on_hello(Request hello);
  void dispatch(Request request, const Responder& responder);
  void do_beat(Request request, const Responder& responder);
  void do_run(Request request, const Responder& responder);
  void do_remedy(Request request, const Responder& responder);
  void do_forget(Request request, const Responder& responder);
  void do_undo(Request request, const Responder& responder);
  void do_start(Request request, const Responder& responder);
  void do_kill(Request request, const Responder& responder);
  void do_stop(Request request, const Responder& responder);
  void do_pause(Request request, const Responder& responder);
  void do_resume(Request request, const Responder& responder);
  void do_cut(Request request, const Responder& responder);
  void do_heal(Request request, const Responder& responder);
  void do_delay(Request request, const Responder& responder);
  void do_undelay(Request request, const Responder& responder);
  void do_prepare(Request request, const Responder& responder);
  void do_fault(Request request, const Responder& responder);
  void do_unfault(Request request, const Responder& responder);
  void do_look(Request request, const Responder& responder);
  void do_break(Request request, const Responder& responder);
  void do_mend(Request request, const Responder& responder);
  void do_probe(Request request, const Responder& responder);
  void do_observe(Request request, const Responder& responder);
  void do_fetch(Request request, const Responder& responder);
  void do_list(Request request, const Responder& responder);
  void do_mkdir(Request request, const Responder& responder);
  void do_rm(Request request, const Responder& responder);
  void do_tail(Request request, const Responder& responder);
  void do_untail(Request request, const Responder& responder);
  void do_fsync(Request request, const Responder& responder);
  void do_net(Request request, const Responder& responder);
  void do_close(Request request, const Responder& responder);
  void look_for_bites(Nanos wait);
  NodeFault* find_fault(Request request, const Responder& responder);
  bool names_driver(const std::string& address, const Responder& responder) const;
  Result<std::map<std::string, uint64_t>> counters_of(const std::string& kind) const;
  void report_bites(const std::string& kind, const std::map<std::string, uint64_t>& counters);

  void emit(const nlohmann::json& line);
  void bad_line(const std::string& why);
  void end(int code, const std::string& why);
  nlohmann::json clean_up();
  nlohmann::json run_remedies(Nanos patience);
  void log(const std::string& text) const;

  AgentOptions options_;
  PollLoop loop_;
  NonBlocking in_flags_, out_flags_;
  OutQueue out_;
  LineSplitter in_;
  Firewall firewall_;
  Delays delays_;
  Disconnects disconnects_;
  Commands commands_;
  Daemons daemons_;
  std::vector<std::unique_ptr<NodeFault>> faults_;
  std::map<std::string, ChildSpec> remedies_;
  std::unique_ptr<Tails> tails_;
  nlohmann::json hello_;
  bool greeted_ = false;
  std::string control_;  // the driver's address
  // What was not yet seen to bite: the kind of fault ("cut" too) and the addresses, with their
  // counter when it began.
  std::map<std::string, std::map<std::string, uint64_t>> unbitten_;
  bool looks_for_bites_ = false;
  Nanos last_input_;
  int signals_ = -1;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace assay::agent
