#include "targets/raft/replica/replica.h"

#include <algorithm>
#include <utility>

#include "targets/kv/service/codec.h"
#include "targets/kv/service/validate.h"
#include "targets/raft/core/check.h"
#include "targets/raft/replica/command.h"

namespace assay::raft {
namespace {

constexpr std::chrono::milliseconds kCanaryFlushDelay{100};

Answer refused(Reason reason) { return {Fate::kRefused, reason, {}, {}}; }
Answer unknown(Reason reason) { return {Fate::kUnknown, reason, {}, {}}; }
Answer done_with(kv::Result result, LogIndex index) {
  return {Fate::kDone, Reason::kNone, std::move(result), index};
}

WalOptions wal_options(const ReplicaOptions& options) {
  WalOptions wal;
  wal.node = options.raft.id;
  wal.segment_bytes = options.segment_bytes;
  wal.salt_seed = options.incarnation;
  wal.mutations = options.raft.mutations;
  if (options.canary.wrong_acknowledge_from_process_buffer) {
    wal.count_buffer_as_durable_for = kCanaryFlushDelay;
  }
  return wal;
}

Restored restored(WalRecovery& recovery) {
  Restored restored;
  restored.hard_state = recovery.hard_state;
  restored.before_first = recovery.before_first.index;
  restored.before_first_term = recovery.before_first.term;
  restored.applied = recovery.snapshot.index;
  restored.entries = std::move(recovery.entries);
  return restored;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::kDone:
      return "done";
    case Fate::kRefused:
      return "refused";
    case Fate::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "none";
    case Reason::kNoLeader:
      return "no leader";
    case Reason::kNotLeader:
      return "not leader";
    case Reason::kOverloaded:
      return "overloaded";
    case Reason::kLeaderChanged:
      return "leader changed";
    case Reason::kTimeout:
      return "timeout";
    case Reason::kInstalled:
      return "installed";
  }
  return "?";
}

std::string_view to_string(ReplicaMark mark) {
  switch (mark) {
    case ReplicaMark::kTornTailCut:
      return "torn tail cut";
    case ReplicaMark::kTornSegmentRemoved:
      return "torn segment removed";
    case ReplicaMark::kWriteForwarded:
      return "write forwarded";
    case ReplicaMark::kForwardRefused:
      return "forwarded write refused for certain";
    case ReplicaMark::kForwardRefusalUncertain:
      return "forwarded write left unanswered";
    case ReplicaMark::kForwardRepeated:
      return "repeated forward dropped";
    case ReplicaMark::kForwardAnsweredUnknown:
      return "forwarded write answered unknown";
    case ReplicaMark::kOwnWriteAnsweredUnknown:
      return "deposed leader's write answered unknown";
    case ReplicaMark::kRequestTimedOut:
      return "request timed out";
    case ReplicaMark::kReadForwarded:
      return "read forwarded";
    case ReplicaMark::kReadForwardRefused:
      return "forwarded read refused";
    case ReplicaMark::kReadWaitedForApply:
      return "read waited for its index to be applied";
    case ReplicaMark::kReadLost:
      return "read lost with its leader";
    case ReplicaMark::kMalformedMessage:
      return "malformed message dropped";
    case ReplicaMark::kSnapshotTaken:
      return "snapshot taken";
    case ReplicaMark::kSnapshotOvertaken:
      return "snapshot overtaken by an install";
    case ReplicaMark::kSnapshotStreamed:
      return "snapshot sent to a member";
    case ReplicaMark::kSnapshotResent:
      return "snapshot chunks sent again";
    case ReplicaMark::kSnapshotResumed:
      return "snapshot stream resumed";
    case ReplicaMark::kSnapshotBegunAnew:
      return "snapshot stream begun anew";
    case ReplicaMark::kSnapshotChunkRepeated:
      return "snapshot chunk came twice";
    case ReplicaMark::kSnapshotChunkAhead:
      return "snapshot chunk ahead of its turn";
    case ReplicaMark::kSnapshotChunkOfNoStream:
      return "snapshot chunk of an unknown stream";
    case ReplicaMark::kSnapshotChunkBad:
      return "snapshot chunk that is no part of one";
    case ReplicaMark::kSnapshotAbandoned:
      return "incoming snapshot abandoned";
    case ReplicaMark::kSnapshotInstalled:
      return "snapshot installed";
    case ReplicaMark::kSnapshotTooLate:
      return "snapshot whole too late";
    case ReplicaMark::kWriteLostInInstall:
      return "pending write answered unknown by an install";
    case ReplicaMark::kSnapshotDamaged:
      return "damaged snapshot passed over";
    case ReplicaMark::kLogBegunAnew:
      return "log begun anew at the start";
    case ReplicaMark::kCount:
      break;
  }
  return "?";
}

// --- Start -------------------------------------------------------------------------------------

std::unique_ptr<Replica> Replica::open(ReplicaOptions options, Env& env, std::string& error) {
  const Mutations mutations = options.raft.mutations;
  SnapshotRecovery snapshot;
  WalRecovery recovery;
  error = SnapshotRecovery::recover(env.disk(), mutations, snapshot);
  if (!error.empty()) return nullptr;
  error = Wal::recover(env.disk(), options.raft.id, recovery, snapshot.head.last);
  if (!error.empty()) return nullptr;
  const bool log_is_empty = recovery.entries.empty();
  const Term last = log_is_empty ? recovery.before_first.term : recovery.entries.back().term;
  if (recovery.hard_state.term < last) {
    // A snapshot may be durable before the term in which its last entry came; that this node knew
    // of that term has been said to nobody then.
    if (!log_is_empty && !mutations.has(Mutation::kTermAndVoteInMemory)) {
      error = "the log's last entry is of term " + std::to_string(last.value) +
              ", the recorded term is " + std::to_string(recovery.hard_state.term.value);
      return nullptr;
    }
    recovery.hard_state = {last, kNobody};
  }
  error = snapshot.make_durable(env.disk());
  if (!error.empty()) return nullptr;
  return std::unique_ptr<Replica>(
      new Replica(std::move(options), env, std::move(recovery), std::move(snapshot)));
}

Replica::Replica(ReplicaOptions options, Env& env, WalRecovery recovery, SnapshotRecovery snapshot)
    : options_(std::move(options)),
      env_(env),
      wal_(wal_options(options_), env, recovery, [this] { on_durable(); }),
      core_(options_.raft, restored(recovery)),
      service_(options_.canary.service),
      forward_filter_(core_.term()),
      snapshot_(snapshot.head.last),
      snapshot_bytes_(snapshot.bytes),
      receiver_(
          env, core_.id(), options_.raft.mutations,
          [this](NodeId to, const SnapshotAck& ack) { env_.net().send(to, encode(ack)); },
          [this](const SnapshotHead& head, kv::Store store, size_t bytes) {
            on_whole_snapshot(head, std::move(store), bytes);
          }),
      seen_term_(core_.term()) {
  if (snapshot_.index.value > 0) {
    service_.restore(std::move(snapshot.store));
    chain_.begin_behind(snapshot_.index, snapshot.head.chain);
  }
  if (recovery.cut_torn_tail) marks_.hit(ReplicaMark::kTornTailCut);
  if (recovery.removed_torn_segment) marks_.hit(ReplicaMark::kTornSegmentRemoved);
  if (recovery.begins_anew) marks_.hit(ReplicaMark::kLogBegunAnew);
  if (snapshot.refused > 0) marks_.hit(ReplicaMark::kSnapshotDamaged);
}

Replica::~Replica() = default;

ReplicaStatus Replica::status() const {
  ReplicaStatus status;
  status.id = core_.id();
  status.role = core_.role();
  status.term = core_.term();
  status.leader = core_.leader();
  status.commit = core_.commit();
  status.applied = chain_.index();
  status.first_index = core_.log().first_index();
  status.last_index = core_.log().last_index();
  status.snapshot = snapshot_.index;
  status.chain = chain_.value();
  status.revision = service_.revision();
  status.compacted = service_.compacted();
  status.state_hash = service_.state_hash();
  return status;
}

// --- Input -------------------------------------------------------------------------------------

void Replica::propose(kv::Request request, Done done) {
  if (auto error = kv::validate(request)) return done(done_with(*error, {}));
  if (overloaded()) return done(refused(Reason::kOverloaded));
  if (!core_.leader()) return done(refused(Reason::kNoLeader));
  const uint64_t sequence = next_sequence_++;
  const bool timed = options_.canary.service.token == kv::TokenKind::kWallClock;
  const int64_t wall_ms = timed ? options_.wall_ms() : 0;
  std::string command =
      encode_command({core_.id(), options_.incarnation, sequence}, request, wall_ms);
  if (command.size() > kv::kRequestBytesMax) return done(done_with(kv::kRequestTooLarge, {}));

  PendingWrite write;
  write.term = core_.term();
  write.leader = core_.leader();
  write.deadline = deadline();
  if (core_.role() == Role::kLeader) {
    prepare_early_results();
    const auto index = append(std::move(command));
    if (!index) return done(refused(Reason::kOverloaded));
    write.index = *index;
    if (early_service_) write.early = early_service_->apply(std::move(request), wall_ms);
  } else {
    marks_.hit(ReplicaMark::kWriteForwarded);
    env_.net().send(write.leader, encode(ForwardWrite{write.term, std::move(command)}));
  }
  write.done = std::move(done);
  writes_.emplace(sequence, std::move(write));
}

void Replica::read(kv::Request request, Done done) {
  RAFT_CHECK(kv::is_read_only(request), "a read that writes");
  if (auto error = kv::validate(request)) return done(done_with(*error, {}));
  if (kv::is_serializable(request) || options_.canary.wrong_local_reads_from_any_node) {
    return done(done_with(service_.query(request), chain_.index()));
  }
  if (overloaded()) return done(refused(Reason::kOverloaded));
  if (!core_.leader()) return done(refused(Reason::kNoLeader));
  ++waiting_readers_;
  new_readers_.push_back({std::move(request), std::move(done)});
  env_.request_pump();
}

void Replica::on_tick() {
  core_.tick();
  expire_writes();
  expire_reads();
  tick_streams();
  wal_.flush();  // what a canary held back
  env_.request_pump();
}

void Replica::on_message(std::string_view bytes) {
  auto decoded = decode(bytes, core_.id());
  if (!decoded) {
    marks_.hit(ReplicaMark::kMalformedMessage);
    return;
  }
  if (auto* message = std::get_if<Message>(&*decoded)) {
    // The node's own messages never travel.
    if (message->from != core_.id()) core_.step(std::move(*message));
  } else if (auto* forward = std::get_if<ForwardWrite>(&*decoded)) {
    on_forward(std::move(*forward));
  } else if (const auto* refused = std::get_if<ForwardRefused>(&*decoded)) {
    on_forward_refused(*refused);
  } else if (const auto* read = std::get_if<ForwardRead>(&*decoded)) {
    on_forward_read(*read);
  } else if (const auto* reply = std::get_if<ForwardReadReply>(&*decoded)) {
    on_forward_read_reply(*reply);
  } else if (auto* chunk = std::get_if<SnapshotChunk>(&*decoded)) {
    on_snapshot_chunk(std::move(*chunk));
  } else if (const auto* ack = std::get_if<SnapshotAck>(&*decoded)) {
    on_snapshot_ack(*ack);
  }
  env_.request_pump();
}

bool Replica::is_voter(NodeId node) const {
  const auto& voters = options_.raft.voters;
  return std::find(voters.begin(), voters.end(), node) != voters.end();
}

void Replica::on_durable() {
  release_synced();
  pump();
}

// --- Output ------------------------------------------------------------------------------------

void Replica::pump() {
  notice_leader_change();
  start_read_batch();
  drain();
  end_streams();
  take_snapshot_when_due();
  serve_granted();
}

void Replica::drain() {
  for (Ready ready = core_.ready(); !ready.empty(); ready = core_.ready()) {
    handle(std::move(ready));
    notice_leader_change();
  }
}

void Replica::handle(Ready ready) {
  if (ready.hard_state && !mutated(Mutation::kTermAndVoteInMemory)) {
    wal_.append(*ready.hard_state);
  }
  wal_.append(ready.entries);
  wal_.flush();
  for (const Message& message : ready.messages) send(message);
  for (Message& message : ready.after_sync) {
    waiting_for_sync_.push_back({wal_.appended(), std::move(message)});
  }
  release_synced();
  for (const Entry& entry : ready.committed) apply(entry);
  if (!ready.committed.empty()) core_.advance(ready.committed.back().index);
  for (const ReadGrant& read : ready.reads) grant(read.id, read.index);
  for (ReadId id : ready.aborted_reads) refuse_batch(id, Reason::kLeaderChanged);
  for (NodeId node : ready.snapshots) begin_or_resume_stream(node);
}

void Replica::send(const Message& message) { env_.net().send(message.to, encode(message)); }

void Replica::release_synced() {
  while (!waiting_for_sync_.empty() && (waiting_for_sync_.front().position <= wal_.durable() ||
                                        mutated(Mutation::kVoteBeforeSync))) {
    Message message = std::move(waiting_for_sync_.front().message);
    waiting_for_sync_.pop_front();
    if (message.to != core_.id()) {
      send(message);
      continue;
    }
    const LogIndex durable = message.index;
    core_.step(std::move(message));
    answer_early(durable);
  }
}

void Replica::apply(const Entry& entry) {
  chain_.extend(entry);
  applied_bytes_ += entry.bytes().size();
  if (entry.kind == EntryKind::kCommand) {
    apply_command(entry);
  } else if (options_.on_applied) {
    options_.on_applied(entry, service_);
  }
}

void Replica::apply_command(const Entry& entry) {
  auto command = decode_command(entry.bytes());
  // It was checked before it was appended, by whichever leader did that.
  RAFT_CHECK(command.has_value(),
             "entry " + std::to_string(entry.index.value) + " is no command of this version");
  kv::Result result = service_.apply(std::move(command->request), command->wall_ms);
  if (options_.on_applied) options_.on_applied(entry, service_);
  const RequestName& name = command->name;
  if (name.node == core_.id() && name.incarnation == options_.incarnation) {
    finish_write(name.sequence, done_with(std::move(result), entry.index));
  }
}

// --- Writes ------------------------------------------------------------------------------------

std::optional<LogIndex> Replica::append(std::string command) {
  const auto index = core_.propose(std::make_shared<const std::string>(std::move(command)));
  if (index) env_.request_pump();
  return index;
}

void Replica::on_forward(ForwardWrite forward) {
  auto command = decode_command(forward.command);
  if (!command || !is_voter(command->name.node) || command->name.node == core_.id() ||
      forward.command.size() > kv::kRequestBytesMax || kv::validate(command->request)) {
    marks_.hit(ReplicaMark::kMalformedMessage);
    return;
  }
  if (!forward_filter_.first_time(command->name) && !mutated(Mutation::kForwardAcceptedTwice)) {
    marks_.hit(ReplicaMark::kForwardRepeated);
    return;
  }
  if (core_.role() == Role::kLeader && core_.term() == forward.term) {
    prepare_early_results();
    if (append(std::move(forward.command))) {
      if (early_service_) early_service_->apply(std::move(command->request), command->wall_ms);
      return;
    }
  }
  refuse_forward(forward, command->name);
}

void Replica::refuse_forward(const ForwardWrite& forward, const RequestName& name) {
  if (!forward_filter_.refusal_is_certain(forward.term)) {
    marks_.hit(ReplicaMark::kForwardRefusalUncertain);
    return;
  }
  marks_.hit(ReplicaMark::kForwardRefused);
  env_.net().send(name.node, encode(ForwardRefused{core_.id(), name.incarnation, name.sequence}));
}

void Replica::on_forward_refused(const ForwardRefused& refusal) {
  if (refusal.incarnation != options_.incarnation) return;
  const auto write = writes_.find(refusal.sequence);
  if (write == writes_.end() || write->second.leader != refusal.from) return;
  finish_write(refusal.sequence, refused(Reason::kNotLeader));
}

void Replica::finish_write(uint64_t sequence, Answer answer) {
  const auto write = writes_.find(sequence);
  if (write == writes_.end()) return;  // answered before
  Done done = std::move(write->second.done);
  writes_.erase(write);
  done(std::move(answer));
}

void Replica::expire_writes() {
  const auto now = env_.clock().now();
  // Deadlines ascend with the sequence.
  while (!writes_.empty() && writes_.begin()->second.deadline <= now) {
    marks_.hit(ReplicaMark::kRequestTimedOut);
    finish_write(writes_.begin()->first, unknown(Reason::kTimeout));
  }
}

void Replica::notice_leader_change() {
  if (core_.term() == seen_term_ && core_.leader() == seen_leader_ && core_.role() == seen_role_) {
    return;
  }
  seen_term_ = core_.term();
  seen_leader_ = core_.leader();
  seen_role_ = core_.role();
  const bool leads = core_.role() == Role::kLeader;
  if (!leads) early_service_.reset();

  const auto changed = [&](Term term, NodeId leader) {
    return term != core_.term() || (core_.leader() && core_.leader() != leader) ||
           (leader == core_.id() && !leads);
  };
  std::vector<uint64_t> lost_writes;
  for (const auto& [sequence, write] : writes_) {
    if (!changed(write.term, write.leader)) continue;
    marks_.hit(write.leader == core_.id() ? ReplicaMark::kOwnWriteAnsweredUnknown
                                          : ReplicaMark::kForwardAnsweredUnknown);
    lost_writes.push_back(sequence);
  }
  std::vector<uint64_t> lost_reads;
  for (const auto& [id, batch] : reads_) {
    // What is granted stays so, whoever leads; the core itself aborts what it was asked for.
    if (!batch.index && batch.leader != core_.id() && changed(batch.term, batch.leader)) {
      lost_reads.push_back(id);
    }
  }
  for (uint64_t sequence : lost_writes) finish_write(sequence, unknown(Reason::kLeaderChanged));
  for (uint64_t id : lost_reads) refuse_batch(ReadId{id}, Reason::kLeaderChanged);
}

// --- Reads -------------------------------------------------------------------------------------

void Replica::start_read_batch() {
  if (new_readers_.empty()) return;
  const ReadId id{next_read_++};
  ReadBatch& batch = reads_[id.value];
  batch.readers = std::exchange(new_readers_, {});
  batch.term = core_.term();
  batch.leader = core_.leader();
  batch.deadline = deadline();
  if (core_.role() == Role::kLeader) {
    core_.read_index(id);
  } else if (core_.leader()) {
    marks_.hit(ReplicaMark::kReadForwarded);
    env_.net().send(core_.leader(), encode(ForwardRead{core_.id(), options_.incarnation, id}));
  } else {
    refuse_batch(id, Reason::kNoLeader);
  }
}

void Replica::on_forward_read(const ForwardRead& read) {
  if (!is_voter(read.from) || read.from == core_.id()) {
    marks_.hit(ReplicaMark::kMalformedMessage);
    return;
  }
  if (core_.role() != Role::kLeader) {
    marks_.hit(ReplicaMark::kReadForwardRefused);
    env_.net().send(read.from,
                    encode(ForwardReadReply{core_.id(), read.incarnation, read.id, true, {}}));
    return;
  }
  const ReadId id{next_read_++};
  ReadBatch& batch = reads_[id.value];
  batch.remote = read;
  batch.term = core_.term();
  batch.leader = core_.id();
  batch.deadline = deadline();
  core_.read_index(id);
}

void Replica::on_forward_read_reply(const ForwardReadReply& reply) {
  const auto batch = reads_.find(reply.id.value);
  if (reply.incarnation != options_.incarnation || batch == reads_.end() || batch->second.remote ||
      batch->second.index || batch->second.leader != reply.from) {
    return;
  }
  if (reply.refused) return refuse_batch(reply.id, Reason::kNotLeader);
  grant(reply.id, reply.index);
}

void Replica::grant(ReadId id, LogIndex index) {
  const auto batch = reads_.find(id.value);
  if (batch == reads_.end()) return;  // timed out
  if (options_.canary.wrong_acknowledge_before_commit && core_.role() == Role::kLeader) {
    index = core_.log().last_index();
  }
  if (batch->second.remote) {
    const ForwardRead& remote = *batch->second.remote;
    env_.net().send(remote.from, encode(ForwardReadReply{core_.id(), remote.incarnation, remote.id,
                                                         false, index}));
    reads_.erase(batch);
    return;
  }
  batch->second.index = index;
  if (index > chain_.index()) marks_.hit(ReplicaMark::kReadWaitedForApply);
}

void Replica::refuse_batch(ReadId id, Reason reason) {
  const auto found = reads_.find(id.value);
  if (found == reads_.end()) return;
  ReadBatch batch = std::move(found->second);
  reads_.erase(found);
  if (batch.remote) {
    env_.net().send(batch.remote->from,
                    encode(ForwardReadReply{
                        core_.id(), batch.remote->incarnation, batch.remote->id, true, {}}));
    return;
  }
  marks_.hit(ReplicaMark::kReadLost);
  waiting_readers_ -= batch.readers.size();
  for (Reader& reader : batch.readers) reader.done(refused(reason));
}

void Replica::serve_granted() {
  for (auto it = reads_.begin(); it != reads_.end();) {
    const auto batch = it++;
    const auto& index = batch->second.index;
    if (!index) continue;
    if (*index <= chain_.index() || mutated(Mutation::kReadBeforeApply)) serve_batch(batch);
  }
}

void Replica::serve_batch(std::map<uint64_t, ReadBatch>::iterator batch) {
  std::vector<Reader> readers = std::move(batch->second.readers);
  reads_.erase(batch);
  waiting_readers_ -= readers.size();
  for (Reader& reader : readers) {
    reader.done(done_with(service_.query(reader.request), chain_.index()));
  }
}

void Replica::expire_reads() {
  const auto now = env_.clock().now();
  while (!reads_.empty() && reads_.begin()->second.deadline <= now) {
    marks_.hit(ReplicaMark::kRequestTimedOut);
    refuse_batch(ReadId{reads_.begin()->first}, Reason::kTimeout);
  }
}

// --- Snapshots: taking -------------------------------------------------------------------------

SnapshotHead Replica::state_head() const {
  return {{chain_.index(), core_.log().term_at(chain_.index())}, chain_.value()};
}

void Replica::take_snapshot_when_due() {
  constexpr size_t kSmall = 1 << 20;
  const uint64_t entries = options_.snapshot_entries;
  if (entries == 0 || taking_ || chain_.index() - snapshot_.index < entries) return;
  if (snapshot_bytes_ > kSmall && applied_bytes_ < 2 * snapshot_bytes_) return;
  applied_bytes_ = 0;
  taking_.reset(new Taking{
      SnapshotWriter(state_head(), service_.store()),
      {env_, chain_.index(), "own" + std::to_string(++snapshots_), options_.raft.mutations}});
  write_on();
}

// A slice at a time, the next when that is on the disk: what else waits for the disk comes between.
void Replica::write_on() {
  if (taking_->writer.done()) return taking_->file.finish([this] { on_snapshot_written(); });
  std::string slice = taking_->writer.next(options_.stream.chunk_bytes);
  taking_->bytes += slice.size();
  taking_->file.append(std::move(slice), [this] { write_on(); });
}

void Replica::on_snapshot_written() {
  const auto taken = std::move(taking_);
  const LogPosition& position = taken->writer.head().last;
  if (position.index <= snapshot_.index) {
    marks_.hit(ReplicaMark::kSnapshotOvertaken);
    return keep_or_drop(position, taken->bytes);
  }
  marks_.hit(ReplicaMark::kSnapshotTaken);
  adopt(position, taken->bytes);
}

// It is durable, and applied here.
void Replica::adopt(const LogPosition& snapshot, size_t bytes) {
  std::vector<std::string> older;
  if (snapshot_.index.value > 0) older.push_back(snapshot_file_name(snapshot_.index));
  snapshot_ = snapshot;
  snapshot_bytes_ = bytes;
  const LogIndex through = dispensable();
  wal_.note_snapshot(snapshot_, through, std::move(older));
  wal_.flush();
  core_.compact(through);
}

// A file that is whole, but did not change the state. One that is newer than what is applied here
// is left alone: it is right, and this node, which leads, soon writes a newer one.
void Replica::keep_or_drop(const LogPosition& snapshot, size_t bytes) {
  if (snapshot.index > snapshot_.index && snapshot.index <= chain_.index()) {
    adopt(snapshot, bytes);
  } else if (snapshot.index < snapshot_.index) {
    wal_.note_snapshot(snapshot_, {}, {snapshot_file_name(snapshot.index)});
    wal_.flush();
  }
}

// Through which entry the log may go: not what members need that are behind, a little or by a
// snapshot on its way to them.
LogIndex Replica::dispensable() const {
  const uint64_t keep = options_.snapshot_keep_entries;
  LogIndex through = snapshot_.index.value > keep ? snapshot_.index - keep : LogIndex{};
  for (const auto& [node, sender] : senders_) {
    if (core_.sends_snapshot_to(node)) through = std::min(through, sender.index());
  }
  return through;
}

// --- Snapshots: to other members ---------------------------------------------------------------

// After a time in which nothing was heard of it, a stream goes on where it was, if the log here
// still leads on from what it brings.
void Replica::begin_or_resume_stream(NodeId to) {
  end_streams();
  const auto sender = senders_.find(to);
  if (sender == senders_.end()) return begin_stream(to);
  marks_.hit(ReplicaMark::kSnapshotResumed);
  sender->second.send_again();
}

void Replica::begin_stream(NodeId to) {
  marks_.hit(ReplicaMark::kSnapshotStreamed);
  SnapshotChunk stream;
  stream.from = core_.id();
  stream.term = core_.term();
  stream.incarnation = options_.incarnation;
  stream.stream = ++streams_;
  senders_.erase(to);
  senders_.try_emplace(
      to, options_.stream, std::move(stream), SnapshotWriter(state_head(), service_.store()),
      [this, to](const SnapshotChunk& chunk) { env_.net().send(to, encode(chunk)); });
}

void Replica::end_streams() {
  std::erase_if(senders_, [this](const auto& entry) {
    const SnapshotSender& sender = entry.second;
    return !core_.lags(entry.first) || sender.term() != core_.term() ||
           sender.index() < core_.log().before_first();
  });
}

void Replica::tick_streams() {
  end_streams();
  for (auto& [node, sender] : senders_) {
    if (core_.sends_snapshot_to(node) && sender.on_tick()) marks_.hit(ReplicaMark::kSnapshotResent);
  }
  const LogIndex coming = receiver_.index();
  if (coming.value > 0 && coming <= core_.commit()) {
    marks_.hit(ReplicaMark::kSnapshotAbandoned);
    receiver_.abandon();
  }
}

void Replica::on_snapshot_ack(const SnapshotAck& ack) {
  const auto sender = senders_.find(ack.from);
  if (ack.incarnation != options_.incarnation || sender == senders_.end() ||
      ack.stream != sender->second.stream()) {
    return;
  }
  if (ack.unknown) {
    if (!core_.sends_snapshot_to(ack.from)) return;
    marks_.hit(ReplicaMark::kSnapshotBegunAnew);
    begin_stream(ack.from);
  } else if (sender->second.on_ack(ack.taken)) {
    core_.snapshot_moves(ack.from);
  }
}

// --- Snapshots: from the leader ----------------------------------------------------------------

void Replica::on_snapshot_chunk(SnapshotChunk chunk) {
  if (!is_voter(chunk.from) || chunk.from == core_.id() || chunk.last_term > chunk.term) {
    marks_.hit(ReplicaMark::kMalformedMessage);
    return;
  }
  if (chunk.term != core_.term() || chunk.from != core_.leader()) return;
  if (!core_.wants_snapshot(chunk.last_index)) return;
  switch (receiver_.on_chunk(std::move(chunk))) {
    case SnapshotReceiver::Taken::kRepeated:
      return marks_.hit(ReplicaMark::kSnapshotChunkRepeated);
    case SnapshotReceiver::Taken::kAhead:
      return marks_.hit(ReplicaMark::kSnapshotChunkAhead);
    case SnapshotReceiver::Taken::kUnknownStream:
      return marks_.hit(ReplicaMark::kSnapshotChunkOfNoStream);
    case SnapshotReceiver::Taken::kBad:
      return marks_.hit(ReplicaMark::kSnapshotChunkBad);
    case SnapshotReceiver::Taken::kTaken:
    case SnapshotReceiver::Taken::kIgnored:
      return;
  }
}

void Replica::on_whole_snapshot(const SnapshotHead& head, kv::Store store, size_t bytes) {
  // What was handed over before it is written before it.
  drain();
  if (core_.install(head.last.index, head.last.term)) {
    install(head, std::move(store), bytes);
  } else {
    marks_.hit(ReplicaMark::kSnapshotTooLate);
    keep_or_drop(head.last, bytes);
  }
  pump();
}

void Replica::install(const SnapshotHead& head, kv::Store store, size_t bytes) {
  marks_.hit(ReplicaMark::kSnapshotInstalled);
  if (mutated(Mutation::kInstallMerges)) store = merged(store);
  service_.restore(std::move(store));
  chain_.begin_behind(head.last.index, head.chain);
  applied_bytes_ = 0;
  if (core_.log().before_first() == head.last.index) wal_.reset(head.last);
  adopt(head.last, bytes);
  // The entries of pending writes may be among those that are never seen here.
  for (uint64_t sequence : pending_writes()) {
    marks_.hit(ReplicaMark::kWriteLostInInstall);
    finish_write(sequence, unknown(Reason::kInstalled));
  }
  if (options_.on_installed) options_.on_installed(head.last.index, service_);
}

std::vector<uint64_t> Replica::pending_writes() const {
  std::vector<uint64_t> sequences;
  for (const auto& [sequence, write] : writes_) sequences.push_back(sequence);
  return sequences;
}

// The planted bug: keys stay of which the snapshot says nothing any more.
kv::Store Replica::merged(const kv::Store& installed) const {
  auto frozen = installed.freeze();
  const kv::Store& old = service_.store();
  const std::string all(1, '\0');
  auto versions = old.range(all, all, old.revision(), 0).kvs;
  versions.insert(versions.end(), frozen.kept.begin(), frozen.kept.end());
  versions.insert(versions.end(), frozen.events.begin(), frozen.events.end());
  std::stable_sort(versions.begin(), versions.end(),
                   [](const auto& a, const auto& b) { return a->mod_revision < b->mod_revision; });
  kv::Store store;
  store.begin_restore(frozen.revision, {});
  for (auto& version : versions) store.restore_event(std::move(version));
  store.compact(frozen.compacted);
  return store;
}

// --- The canary that acknowledges before the commit ----------------------------------------------

// The results must be right while nothing goes wrong: they come from a copy of the store to which
// the entries of the log are applied as they are appended.
void Replica::prepare_early_results() {
  if (!options_.canary.wrong_acknowledge_before_commit) return;
  if (early_service_ && early_term_ == core_.term()) return;
  early_term_ = core_.term();
  early_service_ = service_;
  for (LogIndex i = chain_.index() + 1; i <= core_.log().last_index(); ++i) {
    const Entry& entry = core_.log().at(i);
    if (entry.kind != EntryKind::kCommand) continue;
    if (auto command = decode_command(entry.bytes())) {
      early_service_->apply(std::move(command->request), command->wall_ms);
    }
  }
}

// Where the step is left out: the entry is durable here, and nobody else is waited for.
void Replica::answer_early(LogIndex durable) {
  if (!early_service_) return;
  std::vector<std::pair<uint64_t, Answer>> answers;
  for (auto& [sequence, write] : writes_) {
    if (!write.early || write.index > durable) continue;
    answers.emplace_back(sequence, done_with(std::move(*write.early), write.index));
  }
  for (auto& [sequence, answer] : answers) finish_write(sequence, std::move(answer));
}

}  // namespace assay::raft
