// Delays: the links that are slow at this node: a queue program, and the rules that send it the
// packets of these links.
//
//   table mangle, chain INPUT        -j assay-<hash of run and node>
//   chain assay-<hash>               -s ADDRESS -j NFQUEUE, one rule per address
//
// A delay is one-way, as a cut is: packets FROM an address come late, those to it leave as before.
// The jump goes through iptables, since nft's own queue is missing in some kernels; the chain is
// there only while something is slow, and nothing else of the host's is touched: a table that was
// not there before goes again, when nothing is in it. When the program
// dies, the rules let everything pass. IPv4. Blocking: a change takes some 20 ms.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "targets/link_delay.h"
#include "targets/node/agent/child.h"
#include "targets/node/agent/delay_program.h"
#include "targets/node/agent/poll_loop.h"
#include "targets/node/agent/wire.h"

namespace assay::agent {

struct DelaysOptions {
  std::string run, node;       // the label
  bool fresh_network = false;  // nobody was here before
  bool skip_rules = false;     // self-test: install nothing, and say nothing
  // The first packet of a link has been let go, having been held so long.
  std::function<void(const std::string& from, Nanos held)> on_held;
  // The program ended without being asked to: nothing is slow any more.
  std::function<void(const std::string& why)> on_lost;
};

class Delays {
 public:
  Delays(PollLoop& loop, DelaysOptions options);
  ~Delays();

  // Tries a queue and a rule once, and removes what an earlier agent with the same label had left
  // (`found_leftover`). An error says why links cannot be slow here.
  Result<void> probe(bool* found_leftover);

  // From now on exactly what comes from these addresses is late. What is still held of earlier
  // ones is let go. Returns after the rules were seen in place.
  Result<void> set(const std::map<std::string, LinkDelay>& from);

  // What became of the packets since then, per address (nothing where the program had not lived
  // until now); what is still held is let go. The rules are seen to be gone afterwards.
  Result<std::map<std::string, HeldPackets>> heal();

  void reaped(pid_t pid, const ExitStatus& exit);  // a child of the agent has ended
  const std::map<std::string, LinkDelay>& links() const { return links_; }

 private:
  struct Program {
    pid_t pid = -1;
    int report = -1;  // the end that we read
    uint16_t queue = 0;
  };

  Result<void> restore(const std::string& commands) const;
  Result<std::vector<std::string>> rules() const;
  std::string chain_commands(uint16_t queue, const std::map<std::string, LinkDelay>& from) const;
  Result<void> verify() const;
  Result<void> remove_rules();
  bool has_table() const;
  void remove_empty_table() const;
  Result<Program> start_program(const std::map<std::string, LinkDelay>& links);
  void end_program(Program program);
  void read_report(int report);
  void on_line(std::string_view line);

  PollLoop& loop_;
  DelaysOptions options_;
  std::string chain_, iptables_, restore_, nft_;
  bool made_table_ = false;  // mangle was not there before
  bool hooked_ = false;  // rules may be there
  std::map<std::string, LinkDelay> links_;
  Program program_;
  LineSplitter lines_{256};
  std::map<std::string, HeldPackets> totals_;
};

}  // namespace assay::agent
