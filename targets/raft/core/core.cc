#include "targets/raft/core/core.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "targets/raft/core/check.h"

namespace assay::raft {
namespace {

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// The value that at least `quorum` of the values reach.
template <typename T>
T reached_by(std::vector<T> values, size_t quorum) {
  const auto nth = values.begin() + static_cast<ptrdiff_t>(quorum - 1);
  std::nth_element(values.begin(), nth, values.end(), std::greater<>());
  return *nth;
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kFollower:
      return "follower";
    case Role::kPreCandidate:
      return "pre-candidate";
    case Role::kCandidate:
      return "candidate";
    case Role::kLeader:
      return "leader";
  }
  return "?";
}

std::string_view to_string(MessageType type) {
  switch (type) {
    case MessageType::kPreVote:
      return "pre-vote";
    case MessageType::kPreVoteReply:
      return "pre-vote-reply";
    case MessageType::kVote:
      return "vote";
    case MessageType::kVoteReply:
      return "vote-reply";
    case MessageType::kAppend:
      return "append";
    case MessageType::kAppendReply:
      return "append-reply";
    case MessageType::kHeartbeat:
      return "heartbeat";
    case MessageType::kHeartbeatReply:
      return "heartbeat-reply";
    case MessageType::kCommit:
      return "commit";
  }
  return "?";
}

Core::Core(Config config, Restored restored)
    : config_(std::move(config)),
      random_(config_.seed),
      log_(restored.before_first, restored.before_first_term, std::move(restored.entries)),
      term_(restored.hard_state.term),
      vote_(restored.hard_state.vote),
      handed_hard_state_(restored.hard_state),
      commit_(std::max(restored.before_first, restored.applied)),
      applied_(commit_),
      handed_for_apply_(commit_) {
  RAFT_CHECK(config_.id && is_voter(config_.id), "a node that is not among the voters");
  RAFT_CHECK(config_.heartbeat_ticks > 0 && config_.heartbeat_ticks < config_.election_ticks_min &&
                 config_.election_ticks_min <= config_.election_ticks_max,
             "heartbeat < election minimum <= election maximum, in ticks");
  RAFT_CHECK(config_.appends_in_flight_max > 0, "a window of nothing");
  RAFT_CHECK(applied_ <= log_.last_index(), "a state of entry " + std::to_string(applied_.value) +
                                                " with a log that ends at " +
                                                std::to_string(log_.last_index().value));
  RAFT_CHECK(term_ >= log_.last_term(), "term " + std::to_string(term_.value) +
                                            " behind the log's " +
                                            std::to_string(log_.last_term().value));
  restart_election_timer(config_.election_ticks_min, config_.election_ticks_max);
}

bool Core::is_voter(NodeId id) const { return contains(config_.voters, id); }

Progress* Core::progress_of(NodeId id) {
  for (Progress& progress : others_) {
    if (progress.id == id) return &progress;
  }
  return nullptr;
}

std::string Core::describe() const {
  return "node " + std::to_string(config_.id.value) + ", " + std::string(to_string(role_)) +
         " of term " + std::to_string(term_.value) + ", commit " + std::to_string(commit_.value) +
         ", last index " + std::to_string(log_.last_index().value);
}

Message Core::message_to(NodeId to, MessageType type) const {
  Message message;
  message.type = type;
  message.from = config_.id;
  message.to = to;
  message.term = term_;
  return message;
}

// --- Time and messages -------------------------------------------------------------------------

void Core::tick() {
  ++election_elapsed_;
  if (role_ == Role::kLeader) {
    tick_leader();
  } else if (election_elapsed_ >= election_timeout_) {
    campaign();
  }
}

void Core::step(Message message) {
  RAFT_CHECK(message.to == config_.id,
             "a message to node " + std::to_string(message.to.value) + " came to " + describe());
  if (!is_voter(message.from)) return;
  if (message.term > term_ && !step_higher_term(message)) return;
  const bool about_the_future =
      message.type == MessageType::kPreVote || message.type == MessageType::kPreVoteReply;
  if (message.term < term_) {
    step_lower_term(message);
    return;
  }
  RAFT_CHECK(message.term == term_ || about_the_future, describe());
  switch (message.type) {
    case MessageType::kPreVote:
    case MessageType::kVote:
      handle_vote_request(message);
      break;
    case MessageType::kPreVoteReply:
    case MessageType::kVoteReply:
      handle_vote_reply(message);
      break;
    case MessageType::kAppend:
    case MessageType::kHeartbeat:
    case MessageType::kCommit:
      handle_from_leader(std::move(message));
      break;
    case MessageType::kAppendReply:
      if (role_ == Role::kLeader) handle_append_reply(message);
      break;
    case MessageType::kHeartbeatReply:
      if (role_ == Role::kLeader) handle_heartbeat_reply(message);
      break;
  }
}

// False when the message is to be dropped.
bool Core::step_higher_term(const Message& message) {
  switch (message.type) {
    case MessageType::kPreVote:
    case MessageType::kVote:
      // A member that was cut off, or removed, must not unseat a leader that others hear.
      if (hears_leader()) {
        marks_.hit(Mark::kVoteIgnoredWithLeader);
        return false;
      }
      if (message.type == MessageType::kVote) become_follower(message.term, kNobody);
      return true;
    case MessageType::kPreVoteReply:
      // A grant names the term that would follow; a refusal, the voter's own term.
      if (message.reject) become_follower(message.term, kNobody);
      return true;
    case MessageType::kAppend:
    case MessageType::kHeartbeat:
    case MessageType::kCommit:
      become_follower(message.term, message.from);
      return true;
    default:
      become_follower(message.term, kNobody);
      return true;
  }
}

void Core::step_lower_term(const Message& message) {
  Message reply;
  switch (message.type) {
    case MessageType::kAppend:
    case MessageType::kHeartbeat:
    case MessageType::kCommit:
      // With pre-vote this node may never be elected, and its higher term would keep the leader's
      // messages out for good: tell the leader, so that a new election clears the way.
      marks_.hit(Mark::kStaleLeaderTold);
      reply = message_to(message.from, MessageType::kAppendReply);
      break;
    case MessageType::kPreVote:
      marks_.hit(Mark::kPreVoteRefused);
      reply = message_to(message.from, MessageType::kPreVoteReply);
      break;
    case MessageType::kVote:
      reply = message_to(message.from, MessageType::kVoteReply);
      break;
    default:
      return;  // an answer to what this node asked in an older term
  }
  reply.reject = true;
  send(std::move(reply));
}

// --- Elections ---------------------------------------------------------------------------------

void Core::restart_election_timer(int ticks_min, int ticks_max) {
  election_elapsed_ = 0;
  election_timeout_ = random_.between(ticks_min, ticks_max);
}

bool Core::hears_leader() const {
  return config_.check_quorum && leader_ && election_elapsed_ < config_.election_ticks_min;
}

void Core::become_follower(Term term, NodeId leader) {
  RAFT_CHECK(term >= term_, describe() + " went back to term " + std::to_string(term.value));
  if (role_ == Role::kLeader) abandon_leadership();
  if (term > term_) {
    term_ = term;
    vote_ = kNobody;
  }
  role_ = Role::kFollower;
  leader_ = leader;
  restart_election_timer(config_.election_ticks_min, config_.election_ticks_max);
}

void Core::become_pre_candidate() {
  role_ = Role::kPreCandidate;
  leader_ = kNobody;
  granted_.clear();
  refused_.clear();
  // Asking changes nothing, so ask again soon: others may have heard the dead leader a little
  // later.
  restart_election_timer(std::max(1, config_.election_ticks_min / 2), config_.election_ticks_min);
}

void Core::become_candidate() {
  ++term_;
  vote_ = config_.id;
  role_ = Role::kCandidate;
  leader_ = kNobody;
  granted_.clear();
  refused_.clear();
  restart_election_timer(config_.election_ticks_min, config_.election_ticks_max);
}

void Core::become_leader() {
  RAFT_CHECK(role_ == Role::kCandidate && vote_ == config_.id, describe());
  marks_.hit(Mark::kElectionWon);
  role_ = Role::kLeader;
  leader_ = config_.id;
  election_elapsed_ = 0;
  heartbeat_elapsed_ = 0;
  round_ = Round{};
  confirmed_round_ = Round{};
  own_match_ = LogIndex{};
  others_.clear();
  for (NodeId voter : config_.voters) {
    if (voter == config_.id) continue;
    Progress progress;
    progress.id = voter;
    progress.next = log_.last_index() + 1;
    progress.active = true;  // a grace period until the first check
    others_.push_back(std::move(progress));
  }
  uncommitted_bytes_ = 0;
  for (LogIndex i = commit_ + 1; i <= log_.last_index(); ++i) {
    uncommitted_bytes_ += log_.at(i).bytes().size();
  }
  // Nothing of an earlier term may be committed by counting; an entry of this term commits all
  // that precedes it.
  append_own(EntryKind::kNoop, nullptr);
}

void Core::abandon_leadership() {
  if (!waiting_reads_.empty() || !pending_reads_.empty()) marks_.hit(Mark::kReadsAborted);
  for (const PendingRead& read : pending_reads_) aborted_reads_.push_back(read.id);
  aborted_reads_.insert(aborted_reads_.end(), waiting_reads_.begin(), waiting_reads_.end());
  pending_reads_.clear();
  waiting_reads_.clear();
  others_.clear();
  own_append_unsaid_ = false;
}

void Core::campaign() {
  if (role_ != Role::kLeader) start_campaign(config_.pre_vote);
}

void Core::start_campaign(bool pre_vote) {
  if (pre_vote) {
    become_pre_candidate();
  } else {
    become_candidate();
  }
  for (NodeId voter : config_.voters) {
    Message request = message_to(voter, pre_vote ? MessageType::kPreVote : MessageType::kVote);
    if (voter == config_.id) continue;
    if (pre_vote) request.term = term_ + 1;
    request.index = log_.last_index();
    request.log_term = log_.last_term();
    // A vote request speaks of a log that must outlive a crash: after one, this node could stand
    // again in the same term with a shorter log, and count the answers to the first request.
    pre_vote ? send(std::move(request)) : send_after_sync(std::move(request));
  }
  Message own =
      message_to(config_.id, pre_vote ? MessageType::kPreVoteReply : MessageType::kVoteReply);
  if (pre_vote) {
    own.term = term_ + 1;
    handle_vote_reply(own);
  } else {
    send_after_sync(std::move(own));  // the own vote counts when it is durable
  }
}

void Core::handle_vote_request(const Message& message) {
  const bool pre_vote = message.type == MessageType::kPreVote;
  const bool free_to_vote =
      vote_ == message.from || (!vote_ && !leader_) || (pre_vote && message.term > term_);
  const bool up_to_date =
      message.log_term > log_.last_term() ||
      (message.log_term == log_.last_term() && message.index >= log_.last_index()) ||
      mutated(Mutation::kVoteIgnoresLog);
  Message reply =
      message_to(message.from, pre_vote ? MessageType::kPreVoteReply : MessageType::kVoteReply);
  if (!free_to_vote || !up_to_date) {
    marks_.hit(pre_vote ? Mark::kPreVoteRefused : Mark::kVoteRefused);
    reply.reject = true;
    send(std::move(reply));
    return;
  }
  reply.term = message.term;
  if (pre_vote) {
    send(std::move(reply));
    return;
  }
  RAFT_CHECK(message.term == term_ && role_ != Role::kLeader, describe());
  vote_ = message.from;
  election_elapsed_ = 0;
  send_after_sync(std::move(reply));
}

void Core::handle_vote_reply(const Message& message) {
  const bool pre_vote = message.type == MessageType::kPreVoteReply;
  const Role asking = pre_vote ? Role::kPreCandidate : Role::kCandidate;
  const Term asked = pre_vote ? term_ + 1 : term_;
  if (role_ != asking || (!message.reject && message.term != asked)) return;
  if (contains(granted_, message.from) || contains(refused_, message.from)) return;
  (message.reject ? refused_ : granted_).push_back(message.from);
  if (granted_.size() >= quorum()) {
    pre_vote ? start_campaign(false) : become_leader();
  } else if (refused_.size() >= quorum()) {
    marks_.hit(Mark::kElectionLost);
    become_follower(term_, kNobody);
  }
}

// --- Followers ---------------------------------------------------------------------------------

void Core::handle_from_leader(Message message) {
  RAFT_CHECK(role_ != Role::kLeader && (!leader_ || leader_ == message.from),
             describe() + ", leader " + std::to_string(leader_.value) + "; node " +
                 std::to_string(message.from.value) + " leads the same term");
  if (role_ != Role::kFollower) {
    become_follower(term_, message.from);
  }
  leader_ = message.from;
  election_elapsed_ = 0;
  if (message.type == MessageType::kAppend) {
    handle_append(std::move(message));
    return;
  }
  // The leader never names an index beyond what this node acknowledged as durable.
  commit_to(message.commit);
  if (message.type == MessageType::kHeartbeat) {
    Message reply = message_to(message.from, MessageType::kHeartbeatReply);
    reply.round = message.round;
    // Says only that this node had not left the term when it answered: needs no sync.
    send(std::move(reply));
  }
}

bool Core::well_formed(const Message& append) const {
  LogIndex index = append.index;
  Term term = append.log_term;
  for (const Entry& entry : append.entries) {
    if (entry.index != index + 1 || entry.term < term) return false;
    index = entry.index;
    term = entry.term;
  }
  return term <= append.term;
}

void Core::handle_append(Message message) {
  if (!well_formed(message)) return;
  Message reply = message_to(message.from, MessageType::kAppendReply);
  const LogIndex last_sent = message.index + message.entries.size();
  if (message.index < commit_) {
    marks_.hit(Mark::kStaleAppend);
    reply.index = commit_;
    send_after_sync(std::move(reply));
    return;
  }
  const bool unchecked =
      mutated(Mutation::kPreviousTermUnchecked) && message.index <= log_.last_index();
  if (!log_.matches(message.index, message.log_term) && !unchecked) {
    refuse_append(message);
    return;
  }
  append_from_leader(std::move(message.entries));
  if (mutated(Mutation::kCutMatchingTail) && last_sent > commit_) log_.truncate(last_sent + 1);
  // Only what was checked against this leader's log may be committed: a longer tail may differ.
  commit_to(std::max(commit_, std::min(message.commit, last_sent)));
  reply.index = last_sent;
  send_after_sync(std::move(reply));
}

void Core::refuse_append(const Message& append) {
  marks_.hit(Mark::kConflictHinted);
  Message reply = message_to(append.from, MessageType::kAppendReply);
  reply.reject = true;
  reply.index = append.index;
  reply.hint_index = log_.last_with_term_at_most(append.index, append.log_term);
  reply.hint_term = log_.term_at(reply.hint_index);
  send(std::move(reply));
}

// Entries that are there already stay, and so does what follows them: a late, short append must
// not cut what a longer one brought.
void Core::append_from_leader(std::vector<Entry> entries) {
  for (Entry& entry : entries) {
    if (log_.holds(entry.index)) {
      if (log_.term_at(entry.index) == entry.term) continue;
      RAFT_CHECK(entry.index > commit_, describe() + " was told to replace committed entry " +
                                            std::to_string(entry.index.value));
      marks_.hit(Mark::kTailTruncated);
      log_.truncate(entry.index);
    }
    log_.append(std::move(entry));
  }
}

void Core::commit_to(LogIndex index) {
  if (index <= commit_) return;
  RAFT_CHECK(index <= log_.last_index(),
             describe() + " is told that entry " + std::to_string(index.value) +
                 " is committed, which it had acknowledged: its disk has lost entries");
  commit_ = index;
}

// --- The leader --------------------------------------------------------------------------------

void Core::tick_leader() {
  for (Progress& progress : others_) tick_snapshot(progress);
  if (election_elapsed_ >= config_.election_ticks_min) {
    election_elapsed_ = 0;
    size_t active = 1;
    for (Progress& progress : others_) {
      active += progress.active ? 1 : 0;
      progress.active = false;
    }
    if (config_.check_quorum && active < quorum()) {
      marks_.hit(Mark::kQuorumLost);
      become_follower(term_, kNobody);
      return;
    }
  }
  if (++heartbeat_elapsed_ < config_.heartbeat_ticks) return;
  heartbeat_elapsed_ = 0;
  broadcast_heartbeat();
  for (Progress& progress : others_) {
    // Appends are out and nothing came back since the last heartbeat: they may be lost.
    progress.nudge = progress.state == Progress::State::kReplicate &&
                     progress.match < log_.last_index() &&
                     progress.match == progress.match_at_heartbeat;
    progress.match_at_heartbeat = progress.match;
  }
}

void Core::broadcast_heartbeat() {
  for (Progress& progress : others_) {
    Message heartbeat = message_to(progress.id, MessageType::kHeartbeat);
    heartbeat.commit = std::min(progress.match, commit_);
    heartbeat.round = round_;
    progress.commit_told = std::max(progress.commit_told, heartbeat.commit);
    send(std::move(heartbeat));
  }
}

std::optional<LogIndex> Core::propose(Payload payload) {
  if (role_ != Role::kLeader) return std::nullopt;
  const size_t bytes = payload ? payload->size() : 0;
  if (uncommitted_bytes_ > 0 && uncommitted_bytes_ + bytes > config_.uncommitted_bytes_max) {
    marks_.hit(Mark::kProposalRefused);
    return std::nullopt;
  }
  append_own(EntryKind::kCommand, std::move(payload));
  return log_.last_index();
}

void Core::append_own(EntryKind kind, Payload payload) {
  uncommitted_bytes_ += payload ? payload->size() : 0;
  log_.append({term_, log_.last_index() + 1, kind, std::move(payload)});
  own_append_unsaid_ = true;
}

void Core::handle_append_reply(const Message& message) {
  if (message.from == config_.id) {
    own_match_ = std::max(own_match_, message.index);
    count_copies();
    return;
  }
  Progress* progress = progress_of(message.from);
  RAFT_CHECK(progress != nullptr, describe());
  progress->active = true;
  if (message.reject) {
    handle_refused_append(*progress, message);
    return;
  }
  RAFT_CHECK(message.index <= log_.last_index(),
             describe() + ": node " + std::to_string(message.from.value) + " acknowledges entry " +
                 std::to_string(message.index.value));
  const bool news = progress->acknowledge(message.index);
  if (progress->state == Progress::State::kSnapshot) {
    if (progress->next >= log_.first_index()) progress->become_replicate();
  } else if (progress->state == Progress::State::kProbe &&
             (news || message.index + 1 == progress->next) &&
             progress->match + 1 >= log_.first_index()) {
    progress->become_replicate();
  }
  if (news) count_copies();
}

void Core::handle_refused_append(Progress& progress, const Message& message) {
  if (progress.state == Progress::State::kSnapshot) return;
  if (progress.state == Progress::State::kReplicate) {
    if (message.index > progress.match) progress.become_probe(log_.first_index());
    return;
  }
  // The answer to an earlier probe, or a late one.
  if (progress.next != message.index + 1 || message.index <= progress.match) return;
  // It does not even have what this log begins with.
  if (message.index == log_.before_first() || message.hint_index < log_.before_first()) {
    begin_snapshot(progress);
    return;
  }
  // Skip what cannot match: the follower named its last entry with a term at most that of the
  // refused one; the leader's last entry with a term at most that of the hint is the next guess.
  const LogIndex guess = log_.last_with_term_at_most(
      std::min(message.hint_index, log_.last_index()), message.hint_term);
  if (guess + 1 < message.index) marks_.hit(Mark::kConflictSkippedTerm);
  progress.next = std::max(progress.match + 1, std::min(message.index, guess + 1));
  progress.probe_sent = false;
}

void Core::handle_heartbeat_reply(const Message& message) {
  Progress* progress = progress_of(message.from);
  if (progress == nullptr || message.round > round_) return;
  progress->active = true;
  progress->probe_sent = false;
  if (message.round > progress->round) {
    progress->round = message.round;
    confirm_reads();
  }
}

void Core::count_copies() {
  std::vector<LogIndex> copies{own_match_};
  for (const Progress& progress : others_) copies.push_back(progress.match);
  const LogIndex index = reached_by(std::move(copies), quorum());
  if (index <= commit_) return;
  if (log_.term_at(index) != term_) {
    marks_.hit(Mark::kCommitCounted);
    if (!mutated(Mutation::kCommitOlderTermByCounting)) return;
  }
  const LogIndex before = commit_;
  commit_to(index);
  note_committed(before);
}

void Core::note_committed(LogIndex before) {
  for (LogIndex i = before + 1; i <= commit_; ++i) {
    const size_t bytes = log_.at(i).bytes().size();
    RAFT_CHECK(uncommitted_bytes_ >= bytes, describe());
    uncommitted_bytes_ -= bytes;
  }
}

void Core::replicate() {
  for (Progress& progress : others_) replicate_to(progress);
}

void Core::replicate_to(Progress& progress) {
  if (progress.state == Progress::State::kSnapshot) return;
  const LogIndex last = log_.last_index();
  // What it needs next was compacted meanwhile.
  if (progress.next < log_.first_index()) progress.become_probe(log_.first_index());
  if (progress.state == Progress::State::kProbe) {
    if (!progress.probe_sent) {
      progress.probe_sent = true;
      send_append(progress, true);
    }
    return;
  }
  while (progress.next <= last) {
    if (progress.in_flight.size() >= config_.appends_in_flight_max) {
      marks_.hit(Mark::kAppendWindowFull);
      break;
    }
    progress.nudge = false;
    send_append(progress, true);
  }
  if (progress.nudge) {
    progress.nudge = false;
    send_append(progress, false);
  }
  const LogIndex commit = std::min(progress.match, commit_);
  if (commit > progress.commit_told) {
    progress.commit_told = commit;
    Message message = message_to(progress.id, MessageType::kCommit);
    message.commit = commit;
    send(std::move(message));
  }
}

void Core::send_append(Progress& progress, bool with_entries) {
  Message message = message_to(progress.id, MessageType::kAppend);
  message.index = progress.next - 1;
  message.log_term = log_.term_at(message.index);
  message.commit = commit_;
  if (with_entries && progress.next <= log_.last_index()) {
    message.entries = log_.slice(progress.next, log_.last_index(), config_.append_bytes_max,
                                 config_.append_entries_max);
  }
  if (progress.state == Progress::State::kReplicate && !message.entries.empty()) {
    const LogIndex last_sent = message.entries.back().index;
    progress.next = last_sent + 1;
    progress.in_flight.push_back(last_sent);
    progress.commit_told = std::max(progress.commit_told, std::min(commit_, last_sent));
  }
  send(std::move(message));
}

// --- Snapshots ---------------------------------------------------------------------------------

void Core::begin_snapshot(Progress& progress) {
  marks_.hit(Mark::kSnapshotWanted);
  progress.become_snapshot();
  wanted_snapshots_.push_back(progress.id);
}

void Core::tick_snapshot(Progress& progress) {
  if (progress.state != Progress::State::kSnapshot) return;
  if (++progress.snapshot_elapsed < config_.snapshot_ticks) return;
  marks_.hit(Mark::kSnapshotTimedOut);
  progress.become_probe(log_.first_index());
}

bool Core::sends_snapshot_to(NodeId node) const {
  const Progress* progress = role_ == Role::kLeader ? progress_of(node) : nullptr;
  return progress != nullptr && progress->state == Progress::State::kSnapshot;
}

bool Core::lags(NodeId node) const {
  const Progress* progress = role_ == Role::kLeader ? progress_of(node) : nullptr;
  return progress != nullptr && progress->state != Progress::State::kReplicate;
}

void Core::snapshot_moves(NodeId node) {
  if (!sends_snapshot_to(node)) return;
  progress_of(node)->snapshot_elapsed = 0;
}

void Core::compact(LogIndex through) {
  RAFT_CHECK(through <= applied_, describe() + " compacts through " +
                                      std::to_string(through.value) + ", applied through " +
                                      std::to_string(applied_.value));
  log_.compact(through);
}

// All that is committed is in the leader's log too.
void Core::acknowledge_to_leader(LogIndex index) {
  if (!leader_ || role_ != Role::kFollower) return;
  Message reply = message_to(leader_, MessageType::kAppendReply);
  reply.index = index;
  send_after_sync(std::move(reply));
}

bool Core::wants_snapshot(LogIndex index) {
  if (index > commit_ || mutated(Mutation::kOldSnapshotInstalled)) return true;
  marks_.hit(Mark::kSnapshotOlder);
  acknowledge_to_leader(commit_);
  return false;
}

bool Core::install(LogIndex index, Term term) {
  if (role_ == Role::kLeader || !wants_snapshot(index)) return false;
  RAFT_CHECK(handed_for_apply_ == applied_, describe() + " is still applying");
  RAFT_CHECK(term <= term_,
             describe() + " installs a snapshot of term " + std::to_string(term.value));
  if (log_.matches(index, term)) {
    marks_.hit(Mark::kSnapshotKeptLog);
  } else {
    marks_.hit(Mark::kSnapshotResetLog);
    log_.reset(index, term);
  }
  commit_ = applied_ = handed_for_apply_ = index;
  acknowledge_to_leader(index);
  return true;
}

// --- Reads -------------------------------------------------------------------------------------

bool Core::committed_in_own_term() const {
  return log_.term_at(commit_) == term_ || mutated(Mutation::kReadBeforeOwnTermCommit);
}

bool Core::read_index(ReadId id) {
  if (role_ != Role::kLeader) return false;
  waiting_reads_.push_back(id);
  if (!committed_in_own_term()) marks_.hit(Mark::kReadDeferred);
  return true;
}

// Until an entry of the own term is committed, the commit index may lag behind what an earlier
// leader acknowledged.
void Core::start_read_round() {
  if (waiting_reads_.empty() || !committed_in_own_term()) return;
  ++round_;  // (term, round) is never used twice: who restarts can only lead a later term
  for (ReadId id : waiting_reads_) pending_reads_.push_back({id, commit_, round_});
  waiting_reads_.clear();
  broadcast_heartbeat();
  confirm_reads();
}

void Core::confirm_reads() {
  std::vector<Round> answered{round_};
  for (const Progress& progress : others_) answered.push_back(progress.round);
  const Round confirmed =
      mutated(Mutation::kReadWithoutQuorum) ? round_ : reached_by(std::move(answered), quorum());
  if (confirmed > confirmed_round_ + 1) marks_.hit(Mark::kReadsConfirmedTogether);
  confirmed_round_ = std::max(confirmed_round_, confirmed);
  while (!pending_reads_.empty() && pending_reads_.front().round <= confirmed) {
    granted_reads_.push_back({pending_reads_.front().id, pending_reads_.front().index});
    pending_reads_.pop_front();
  }
}

// --- Output ------------------------------------------------------------------------------------

Ready Core::ready() {
  if (role_ == Role::kLeader) {
    start_read_round();
    replicate();
    if (own_append_unsaid_) {
      own_append_unsaid_ = false;
      Message own = message_to(config_.id, MessageType::kAppendReply);
      own.index = log_.last_index();
      send_after_sync(std::move(own));
    }
  }
  Ready ready;
  const HardState hard_state{term_, vote_};
  if (hard_state != handed_hard_state_) {
    handed_hard_state_ = hard_state;
    ready.hard_state = hard_state;
  }
  ready.entries = log_.take_unwritten();
  ready.messages = std::exchange(messages_, {});
  ready.after_sync = std::exchange(after_sync_, {});
  ready.reads = std::exchange(granted_reads_, {});
  ready.aborted_reads = std::exchange(aborted_reads_, {});
  ready.snapshots = std::exchange(wanted_snapshots_, {});
  if (commit_ > handed_for_apply_ && handed_for_apply_ == applied_) {
    ready.committed = log_.slice(applied_ + 1, commit_, config_.apply_bytes_max,
                                 std::numeric_limits<size_t>::max());
    handed_for_apply_ = ready.committed.back().index;
  }
  return ready;
}

void Core::advance(LogIndex applied) {
  RAFT_CHECK(applied >= applied_ && applied <= handed_for_apply_,
             describe() + " applied " + std::to_string(applied.value) + " of " +
                 std::to_string(handed_for_apply_.value) + " handed out");
  applied_ = applied;
}

}  // namespace assay::raft
