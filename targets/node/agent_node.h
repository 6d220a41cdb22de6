// AgentNode: a Node over whatever carries lines to an agent and back. It numbers requests, matches
// replies, beats, and notices when the agent is gone; the carrier only moves bytes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "targets/loop.h"
#include "targets/node/node.h"

namespace assay {

// The way to one agent. On the Loop's thread; once it is destroyed it says nothing any more.
class AgentCarrier {
 public:
  struct Sink {
    std::function<void(std::string_view bytes)> received;
    // Once, last: there is no agent any more. `how` is for people: "was killed by signal 9".
    std::function<void(const std::string& how)> ended;
  };
  virtual ~AgentCarrier() = default;  // lets go of the agent, which then heals by itself
  virtual void open(Sink sink) = 0;   // first of all; calls nothing before it has returned
  virtual void write(std::string bytes) = 0;
  virtual void end_input() = 0;  // the agent reads the end
  virtual void kill() = 0;       // for one that does not end
};

struct AgentNodeOptions {
  std::string name;     // "n1"
  std::string address;  // where its daemons can be reached
  std::string run_id;
  std::string control_address;  // the driver's; no cut may name it. Empty: there is none
  bool beat = true;             // false: the agent was started with --no-beat
};

class AgentLink;

class AgentNode : public Node {
 public:
  AgentNode(Loop& loop, AgentNodeOptions options);
  ~AgentNode() override;

  // For who makes the carrier, in this order. `greeted` is called once: when the agent's hello has
  // come and is as it should be, or with an error when it is not or does not come in five seconds.
  void connect(std::unique_ptr<AgentCarrier> carrier, Done<void> greeted);
  // Has the agent bring up its own network. After the greeting.
  void configure_network(const std::string& link, const std::string& address, Done<void> done);

  const std::string& name() const override;
  const std::string& address() const override;
  const NodePowers& powers() const override;
  int agent_pid() const override;
  void set_events(NodeEvents events) override;
  void start(const DaemonSpec& spec, Done<int> done) override;
  void kill(const std::string& daemon, Done<KillReport> done) override;
  void stop(const std::string& daemon, Nanos grace, Done<KillReport> done) override;
  void pause(const std::string& daemon, Done<PauseReport> done) override;
  void resume(const std::string& daemon, Done<ResumeReport> done) override;
  void cut(const std::vector<std::string>& from, Done<void> done) override;
  void heal(Done<std::map<std::string, uint64_t>> done) override;
  const std::map<std::string, uint64_t>& bitten() const override;
  void delay(const std::map<std::string, LinkDelay>& from, Done<void> done) override;
  void undelay(Done<std::map<std::string, HeldPackets>> done) override;
  const std::map<std::string, Nanos>& held() const override;
  void prepare_fault(const NodeFault& fault,
                     Done<std::map<std::string, std::string>> done) override;
  void begin_fault(const NodeFault& fault, const std::string& daemon,
                   Done<FaultReport> done) override;
  void end_fault(const std::string& kind, Done<FaultReport> done) override;
  void look_at_fault(const std::string& kind, Done<FaultReport> done) override;
  void break_links(const LinkFault& fault, const std::vector<std::string>& from,
                   Done<void> done) override;
  void mend_links(const std::string& kind, Done<std::map<std::string, uint64_t>> done) override;
  const std::map<std::string, uint64_t>& struck(const std::string& kind) const override;
  void probe(const std::vector<std::string>& to, const LinkProbe& what, Done<void> done) override;
  void observe(Done<NodeObservation> done) override;
  void run(const CommandSpec& command, Done<CommandOutput> done) override;
  void remedy(const std::string& name, const CommandSpec& command, Done<void> done) override;
  void forget(const std::string& name, Done<void> done) override;
  void undo(Done<void> done) override;
  void fetch(const std::string& path, int64_t max_bytes, Done<FileContent> done) override;
  void list(const std::string& path, Done<std::vector<FileEntry>> done) override;
  void make_folder(const std::string& path, Done<void> done) override;
  void remove_folder(const std::string& path, Done<void> done) override;
  void measure_fsync(const std::string& folder, Done<Nanos> done) override;
  void tail(const std::string& path, std::function<void(const TailedLine&)> on_line) override;
  void close(Done<void> done) override;

 private:
  std::shared_ptr<AgentLink> link_;
};

}  // namespace assay
