// Core: the Raft protocol and nothing else. No I/O, clock, thread, lock or log line in it.
//
// Inputs are step (a message), tick (time passed), propose and read_index; ready() hands out what
// they led to, and advance() says what was applied. The same inputs give the same outputs, bit for
// bit. The owner (targets/raft/replica) does the writing, sending and applying, in the order that
// the comments on Ready demand.
//
// What it does: pre-vote, check-quorum, randomised election time-outs, an empty entry at the start
// of a term, commit by counting of entries of the own term only, conflict hints, batches and a
// window of unanswered appends, reads confirmed by a round of heartbeats. It does not forward
// anything from follower to leader.
//
// The front of the log may be gone (compact). A member that needs an entry from there is first
// probed at the log's very beginning; when it refuses that, the host is asked for a snapshot
// (Ready::snapshots), and nothing else is appended there until the member acknowledges an index
// from which the log goes on, or nothing was heard of the snapshot for snapshot_ticks: then it is
// probed again. How a snapshot travels is the host's affair; the receiver's host tells its core
// by install().
//
// Threads: none of its own; one caller at a time. Errors: a broken promise ends the process
// (check.h). Sources: Ongaro, "Consensus: Bridging Theory and Practice" (2014); etcd-io/raft.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "targets/raft/core/log.h"
#include "targets/raft/core/marks.h"
#include "targets/raft/core/message.h"
#include "targets/raft/core/mutation.h"
#include "targets/raft/core/progress.h"
#include "targets/raft/core/random.h"

namespace assay::raft {

enum class Role : uint8_t { kFollower, kPreCandidate, kCandidate, kLeader };
std::string_view to_string(Role role);

struct Config {
  NodeId id;
  std::vector<NodeId> voters;  // with `id`, each once, in any order

  // A follower stands for election when it has heard of no leader for a number of ticks drawn
  // uniformly from [min, max], anew each time.
  int election_ticks_min = 30;
  int election_ticks_max = 60;
  int heartbeat_ticks = 5;

  size_t append_bytes_max = 1 << 20;        // of payload in one append; one entry may exceed it
  size_t append_entries_max = 4096;         // in one append
  size_t appends_in_flight_max = 64;        // unanswered, per member
  size_t uncommitted_bytes_max = 64 << 20;  // beyond it proposals are refused
  size_t apply_bytes_max = 4 << 20;  // handed out for applying at once; one entry may exceed it
  int snapshot_ticks = 300;          // without news of a snapshot its receiver is probed again

  uint64_t seed = 1;  // of the election time-outs; must differ between members
  bool pre_vote = true;
  bool check_quorum = true;
  Mutations mutations;  // tests only
};

// What was read from disk when the process started.
struct Restored {
  HardState hard_state;
  LogIndex before_first;  // the entry before the first of `entries`; (0, 0): none is missing
  Term before_first_term;
  std::vector<Entry> entries;
  // What the state machine begins with holds: a snapshot's last entry, from before_first to the
  // last of `entries`.
  LogIndex applied;
};

// A read may be served from the state in which every entry up to `index` is applied.
struct ReadGrant {
  ReadId id;
  LogIndex index;
};

// Everything the core wants done, handed out exactly once. The next Ready may be asked for at once,
// before the writes of this one are durable; writes must reach the disk in the order of Readys.
struct Ready {
  // To write before `entries`; durable before any of `after_sync` is delivered.
  std::optional<HardState> hard_state;

  // To append to the log on disk. The first one's index is at most one past the last written
  // index; where it is lower, it replaces everything written from that index on.
  std::vector<Entry> entries;

  // May be sent at once, in parallel to the writes.
  std::vector<Message> messages;

  // To deliver only once `hard_state` and `entries` of this Ready, and of all earlier ones, are
  // durable. Those addressed to the node itself come back by step(): that is how it counts its own
  // vote and its own copy of an entry.
  std::vector<Message> after_sync;

  // To apply in this order, then advance(). A majority has them; this node's own copy may not be
  // durable yet. No more are handed out before the advance.
  std::vector<Entry> committed;

  // Reads that a quorum has confirmed; to be served when applied >= index.
  std::vector<ReadGrant> reads;

  // Reads that will never be granted: this node ceased to lead.
  std::vector<ReadId> aborted_reads;

  // Members that need a snapshot, of what is applied here now or of an earlier state from which
  // the log here goes on. Each is named once; the sending is to rest when sends_snapshot_to() is no
  // longer true, and has come to its end when lags() is not.
  std::vector<NodeId> snapshots;

  bool empty() const {
    return !hard_state && entries.empty() && messages.empty() && after_sync.empty() &&
           committed.empty() && reads.empty() && aborted_reads.empty() && snapshots.empty();
  }
};

class Core {
 public:
  Core(Config config, Restored restored);

  // Time passed: one tick.
  void tick();
  // A message from another member, or from this node's own after_sync.
  void step(Message message);
  // Appends a command, on a leader. Nothing: this node does not lead, or too much is uncommitted;
  // then nothing was appended. Appended is not committed: another leader may replace the entry.
  std::optional<LogIndex> propose(Payload payload);
  // Asks for a read, on a leader; false on others. The answer is in a later Ready. All reads asked
  // for between two calls of ready() share one round of heartbeats.
  bool read_index(ReadId id);
  // Stands for election at once, as if the time-out had passed.
  void campaign();

  Ready ready();
  // All entries up to `applied`, which were handed out, are applied.
  void advance(LogIndex applied);

  // The host keeps a durable snapshot of what is applied: entries up to `through` may go.
  void compact(LogIndex through);
  // Whether a snapshot that ends with `index` would bring anything new. If not, its sender, the
  // leader, is told what is here already.
  bool wants_snapshot(LogIndex index);
  // The host has a durable snapshot that ends with entry (index, term), of committed entries alone.
  // True: the log goes on after it, applied is `index`, and the host's state machine must be
  // replaced before the next ready(); the leader is told when the Ready after this is durable.
  // False: it is not newer than what is committed here, or this node leads: nothing has changed.
  bool install(LogIndex index, Term term);
  // Whether a leader's host is to go on sending a snapshot there.
  bool sends_snapshot_to(NodeId node) const;
  // Whether that member is not known to follow the log of this node, which leads.
  bool lags(NodeId node) const;
  // The snapshot on its way there makes headway.
  void snapshot_moves(NodeId node);

  NodeId id() const { return config_.id; }
  Role role() const { return role_; }
  Term term() const { return term_; }
  NodeId vote() const { return vote_; }
  NodeId leader() const { return leader_; }  // kNobody: not known
  LogIndex commit() const { return commit_; }
  LogIndex applied() const { return applied_; }
  const Log& log() const { return log_; }
  const Marks& marks() const { return marks_; }

 private:
  struct PendingRead {
    ReadId id;
    LogIndex index;
    Round round;
  };

  size_t quorum() const { return config_.voters.size() / 2 + 1; }
  bool mutated(Mutation mutation) const { return config_.mutations.has(mutation); }
  bool is_voter(NodeId id) const;
  Progress* progress_of(NodeId id);
  const Progress* progress_of(NodeId id) const { return const_cast<Core*>(this)->progress_of(id); }
  std::string describe() const;
  Message message_to(NodeId to, MessageType type) const;
  void send(Message message) { messages_.push_back(std::move(message)); }
  void send_after_sync(Message message) { after_sync_.push_back(std::move(message)); }

  // Elections.
  void become_follower(Term term, NodeId leader);
  void become_pre_candidate();
  void become_candidate();
  void become_leader();
  void start_campaign(bool pre_vote);
  void restart_election_timer(int ticks_min, int ticks_max);
  bool hears_leader() const;
  bool step_higher_term(const Message& message);
  void step_lower_term(const Message& message);
  void handle_vote_request(const Message& message);
  void handle_vote_reply(const Message& message);
  void abandon_leadership();

  // Followers.
  void handle_from_leader(Message message);
  void handle_append(Message message);
  bool well_formed(const Message& append) const;
  void refuse_append(const Message& append);
  void append_from_leader(std::vector<Entry> entries);
  void commit_to(LogIndex index);

  // The leader.
  void tick_leader();
  void append_own(EntryKind kind, Payload payload);
  void handle_append_reply(const Message& message);
  void handle_refused_append(Progress& progress, const Message& message);
  void handle_heartbeat_reply(const Message& message);
  void count_copies();
  void broadcast_heartbeat();
  void replicate();
  void replicate_to(Progress& progress);
  void send_append(Progress& progress, bool with_entries);
  void tick_snapshot(Progress& progress);
  void begin_snapshot(Progress& progress);
  void acknowledge_to_leader(LogIndex index);
  bool committed_in_own_term() const;
  void start_read_round();
  void confirm_reads();
  void note_committed(LogIndex before);

  Config config_;
  Random random_;
  Log log_;
  Marks marks_;

  Role role_ = Role::kFollower;
  Term term_;
  NodeId vote_;
  NodeId leader_;
  HardState handed_hard_state_;
  LogIndex commit_;
  LogIndex applied_;
  LogIndex handed_for_apply_;

  int election_elapsed_ = 0;
  int election_timeout_ = 0;
  int heartbeat_elapsed_ = 0;

  std::vector<NodeId> granted_;  // votes in this round of asking, each voter once
  std::vector<NodeId> refused_;

  // Leader only.
  std::vector<Progress> others_;
  LogIndex own_match_;  // this node's own durable copy
  bool own_append_unsaid_ = false;
  size_t uncommitted_bytes_ = 0;
  Round round_;
  Round confirmed_round_;
  std::vector<ReadId> waiting_reads_;      // without a round yet
  std::deque<PendingRead> pending_reads_;  // with one, ascending

  std::vector<Message> messages_;
  std::vector<Message> after_sync_;
  std::vector<ReadGrant> granted_reads_;
  std::vector<ReadId> aborted_reads_;
  std::vector<NodeId> wanted_snapshots_;
};

}  // namespace assay::raft
