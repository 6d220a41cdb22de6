// Replica: one member of a replicated store: the protocol (raft/core), the log on disk (wal.h), the
// state machine (kv/service), and the clients that wait. Single-threaded against Env; see env.h
// for what the host provides. The host's duties:
//
// - on_tick() every `tick` of its choice (10 ms), never several at once after a pause: messages
//   that came meanwhile must be handed in between;
// - on_message() for all that members send to this node;
// - pump() soon after request_pump().
//
// Nothing is sent or answered that depends on a record that is not durable. Writes are answered
// when their entry is applied; reads when a majority has confirmed, after the read began, that the
// leader leads, and this node has applied all that was committed then. A follower forwards both to
// the leader, each at most once. A pending write is answered "unknown" as soon as a new leader or
// term is seen: its entry may or may not survive.
//
// Every snapshot_entries applied entries it takes a snapshot, in slices between other work, and
// drops the front of the log that lies more than snapshot_keep_entries behind it. A member that
// lacks what is gone is sent the leader's state of that moment, in chunks; once that is durable
// there, it takes the place of the member's state, and what of the log leads up to it is dropped.
//
// Errors: open() returns them in words; later ones end the process (Env::fatal).
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/kv/service/service.h"
#include "targets/raft/core/core.h"
#include "targets/raft/replica/answer.h"
#include "targets/raft/replica/chain.h"
#include "targets/raft/replica/env.h"
#include "targets/raft/replica/forward_filter.h"
#include "targets/raft/replica/snapshot_files.h"
#include "targets/raft/replica/snapshot_stream.h"
#include "targets/raft/replica/wal.h"
#include "targets/raft/replica/wire.h"

namespace assay::raft {

// Wrong on purpose, so that a harness can prove that it notices. Off by default. Each leaves out
// exactly one step, and is right while nothing goes wrong.
struct Canary {
  // Leaves out: the confirmation of a read by the leader and a majority. Any node answers reads
  // from what it has applied.
  bool wrong_local_reads_from_any_node = false;
  // Leaves out: waiting for the commit. The leader answers its clients' writes when the entry is in
  // its own log; reads wait for the last appended index, so that they see what was answered.
  bool wrong_acknowledge_before_commit = false;
  // Leaves out: waiting for the disk. A record counts as durable while it is in the process's own
  // buffer, and is written and synced 100 ms later.
  bool wrong_acknowledge_from_process_buffer = false;
  // Leaves out: writing term and vote to the disk. After a restart a node may vote again.
  bool wrong_forget_term_and_vote = false;
  // Leaves out: the confirmation of a read by a majority. The leader alone answers reads.
  bool wrong_read_without_quorum = false;
  // Leaves out: the start revision of a watch. It begins with the next change.
  bool wrong_watch_from_now = false;
  // A sync is said to be done that was not asked for (the host's; the replica does not look at it).
  bool wrong_acknowledge_without_sync = false;
  // Of the state machine (kv/service/service.h).
  kv::ServicePolicy service;
};

enum class ReplicaMark : uint8_t {
  kTornTailCut,
  kTornSegmentRemoved,
  kWriteForwarded,
  kForwardRefused,           // by this node, for certain
  kForwardRefusalUncertain,  // this node said nothing, for it could not be certain
  kForwardRepeated,          // a forward that had come before
  kForwardAnsweredUnknown,   // a forwarded write, because leader or term changed
  kOwnWriteAnsweredUnknown,  // a leader's write, because leadership was lost
  kRequestTimedOut,
  kReadForwarded,
  kReadForwardRefused,  // by this node
  kReadWaitedForApply,  // granted before its index was applied
  kReadLost,            // refused because leader or term changed
  kMalformedMessage,
  kSnapshotTaken,            // of the own state, written whole
  kSnapshotOvertaken,        // one was written when a newer one was there
  kSnapshotStreamed,         // a stream to another member began
  kSnapshotResent,           // chunks were sent again
  kSnapshotResumed,          // a stream of which nothing had been heard for long went on
  kSnapshotBegunAnew,        // a stream that its receiver did not know any more
  kSnapshotChunkRepeated,    // came twice
  kSnapshotChunkAhead,       // came before one that precedes it
  kSnapshotChunkOfNoStream,  // was not the first of a stream, nor of the one on its way
  kSnapshotChunkBad,         // was no part of a snapshot
  kSnapshotAbandoned,        // what came of a snapshot was dropped: it is not wanted any more
  kSnapshotInstalled,
  kSnapshotTooLate,     // was whole and durable, but more is committed here already
  kWriteLostInInstall,  // a pending write was answered "unknown" because of an install
  kSnapshotDamaged,     // a file did not check at the start; an older one and the log did
  kLogBegunAnew,        // at the start: the log did not lead to the snapshot
  kCount
};
std::string_view to_string(ReplicaMark mark);
using ReplicaMarks = Counters<ReplicaMark>;

struct ReplicaOptions {
  Config raft;  // id, voters, ticks, limits, seed; mutations for tests
  // Random and new at every start: names this process's requests. Clients must not know it.
  uint64_t incarnation = 0;
  size_t segment_bytes = 16 << 20;
  // Applied entries from one snapshot to the next; 0: none is taken. A state of more than a
  // mebibyte is not written again before twice as many bytes of entries were applied.
  uint64_t snapshot_entries = 10'000;
  // Of those in the snapshot, how many stay in the log, for members that lag a little.
  uint64_t snapshot_keep_entries = 5'000;
  StreamLimits stream;  // chunks are also the slices in which a snapshot is written
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(5);
  size_t pending_requests_max = 100'000;
  Canary canary;
  // This node's wall clock; needed only where tokens are times.
  std::function<int64_t()> wall_ms;
  // After each applied entry, before its client is answered: for watches, and for tests.
  std::function<void(const Entry&, const kv::Service&)> on_applied;
  // After an install: the state has jumped to that of entry `index`, without those between.
  std::function<void(LogIndex index, const kv::Service&)> on_installed;
};

struct ReplicaStatus {
  NodeId id;
  Role role = Role::kFollower;
  Term term;
  NodeId leader;  // kNobody: not known
  LogIndex commit;
  LogIndex applied;
  LogIndex first_index;  // of the log
  LogIndex last_index;
  LogIndex snapshot;   // the newest durable one's last entry; 0: none
  uint64_t chain = 0;  // over all entries up to `applied`
  kv::Revision revision;
  kv::Revision compacted;
  uint64_t state_hash = 0;  // equal at equal revisions on all members
};

class Replica {
 public:
  // Reads the disk; blocks. Null with an error in words when this node must not or cannot start.
  static std::unique_ptr<Replica> open(ReplicaOptions options, Env& env, std::string& error);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Any request, through the log. Errors that the request itself bears come back as kDone with a
  // kv::Error.
  void propose(kv::Request request, Done done);
  // A read-only request (kv::is_read_only). One that is serializable is answered at once, from what
  // this node has applied; any other is linearizable.
  void read(kv::Request request, Done done);

  void on_tick();
  // One message as Net::send got it; malformed ones are counted and dropped.
  void on_message(std::string_view bytes);
  // Does what all input since the last call led to.
  void pump();

  ReplicaStatus status() const;
  // The chain hash at a recent index (the last 8,192 applied, and none from before a snapshot that
  // this process began with or installed); nothing for others.
  std::optional<uint64_t> chain_at(LogIndex index) const { return chain_.at(index); }

  const kv::Service& service() const { return service_; }
  const Core& core() const { return core_; }
  const ReplicaMarks& marks() const { return marks_; }

 private:
  struct PendingWrite {
    Done done;
    Term term;       // when it was handed on,
    NodeId leader;   // and to whom; itself: appended here
    LogIndex index;  // appended here: of its entry
    std::chrono::nanoseconds deadline{0};
    std::optional<kv::Result> early;  // canary: the result that does not wait for the commit
  };
  struct Reader {
    kv::Request request;
    Done done;
  };
  // Reads that ask for one index together.
  struct ReadBatch {
    std::vector<Reader> readers;
    // Of another node, which asks for an index and serves its readers itself.
    std::optional<ForwardRead> remote;
    Term term;
    NodeId leader;
    std::chrono::nanoseconds deadline{0};
    std::optional<LogIndex> index;  // granted
  };
  // A snapshot of the own state on its way to the disk.
  struct Taking {
    SnapshotWriter writer;
    SnapshotFile file;
    size_t bytes = 0;
  };
  struct WaitsForSync {
    Wal::Position position;
    Message message;
  };

  Replica(ReplicaOptions options, Env& env, WalRecovery recovery, SnapshotRecovery snapshot);

  bool mutated(Mutation mutation) const { return options_.raft.mutations.has(mutation); }
  std::chrono::nanoseconds deadline() { return env_.clock().now() + options_.request_timeout; }
  bool overloaded() const {
    return writes_.size() + waiting_readers_ >= options_.pending_requests_max;
  }

  // Input.
  void on_forward(ForwardWrite forward);
  void on_forward_refused(const ForwardRefused& refused);
  void on_forward_read(const ForwardRead& read);
  void on_forward_read_reply(const ForwardReadReply& reply);
  void on_snapshot_chunk(SnapshotChunk chunk);
  void on_snapshot_ack(const SnapshotAck& ack);
  void on_durable();

  // Output.
  void drain();
  void handle(Ready ready);
  void send(const Message& message);
  void release_synced();
  void apply(const Entry& entry);
  void apply_command(const Entry& entry);

  // Writes.
  std::optional<LogIndex> append(std::string command);
  bool is_voter(NodeId node) const;
  void refuse_forward(const ForwardWrite& forward, const RequestName& name);
  void finish_write(uint64_t sequence, Answer answer);
  void expire_writes();
  void notice_leader_change();

  // Reads.
  void start_read_batch();
  void grant(ReadId id, LogIndex index);
  void refuse_batch(ReadId id, Reason reason);
  void serve_batch(std::map<uint64_t, ReadBatch>::iterator batch);
  void serve_granted();
  void expire_reads();

  // Snapshots.
  SnapshotHead state_head() const;
  void take_snapshot_when_due();
  void write_on();
  void on_snapshot_written();
  void adopt(const LogPosition& snapshot, size_t bytes);
  void keep_or_drop(const LogPosition& snapshot, size_t bytes);
  LogIndex dispensable() const;
  void begin_or_resume_stream(NodeId to);
  void begin_stream(NodeId to);
  void end_streams();
  void tick_streams();
  void on_whole_snapshot(const SnapshotHead& head, kv::Store store, size_t bytes);
  void install(const SnapshotHead& head, kv::Store store, size_t bytes);
  std::vector<uint64_t> pending_writes() const;
  kv::Store merged(const kv::Store& installed) const;

  // The canary that acknowledges before the commit.
  void prepare_early_results();
  void answer_early(LogIndex durable);

  ReplicaOptions options_;
  Env& env_;
  Wal wal_;
  Core core_;
  kv::Service service_;
  Chain chain_;
  ForwardFilter forward_filter_;
  ReplicaMarks marks_;

  LogPosition snapshot_;       // the newest durable one
  size_t snapshot_bytes_ = 0;  // its size
  size_t applied_bytes_ = 0;   // of the entries since
  uint64_t snapshots_ = 0;     // begun by this process
  std::unique_ptr<Taking> taking_;
  std::map<NodeId, SnapshotSender> senders_;
  uint64_t streams_ = 0;
  SnapshotReceiver receiver_;

  uint64_t next_sequence_ = 1;
  std::map<uint64_t, PendingWrite> writes_;  // by sequence

  std::vector<Reader> new_readers_;
  uint64_t next_read_ = 1;
  std::map<uint64_t, ReadBatch> reads_;  // by ReadId
  size_t waiting_readers_ = 0;

  std::deque<WaitsForSync> waiting_for_sync_;
  Term seen_term_;
  NodeId seen_leader_;
  Role seen_role_ = Role::kFollower;

  std::optional<kv::Service> early_service_;  // with the uncommitted entries applied
  Term early_term_;
};

}  // namespace assay::raft
