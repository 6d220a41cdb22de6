#include "targets/raft/replica/wal.h"

#include <algorithm>
#include <utility>

#include "targets/kv/service/hash.h"
#include "targets/raft/core/check.h"

namespace assay::raft {
namespace {

// Collects the records of one segment after another.
class Recoverer {
 public:
  Recoverer(Disk& disk, NodeId node, WalRecovery& recovery, LogPosition snapshot)
      : disk_(disk), node_(node), recovery_(recovery) {
    recovery_ = WalRecovery{};
    recovery_.snapshot = snapshot;
  }

  std::string run() {
    std::string error = find_segments();
    for (size_t i = 0; error.empty() && i < segments_.size(); ++i) {
      error = read_segment(segments_[i], i + 1 == segments_.size());
    }
    if (error.empty()) error = check_segments();
    if (error.empty()) error = join_snapshot();
    if (error.empty()) error = make_durable();
    return error;
  }

 private:
  // The segments without a gap up to the last. Others were to be removed, or are missed later.
  std::string find_segments() {
    std::vector<std::string> names;
    if (std::string error = disk_.list(names); !error.empty()) return error;
    std::vector<SegmentName> all;
    for (const std::string& file : names) {
      if (!file.starts_with("wal-")) continue;
      const auto name = SegmentName::parse(file);
      if (!name) return file + " is not a name of a log segment";
      all.push_back(*name);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair(a.sequence, a.salt) > std::pair(b.sequence, b.salt);
    });
    for (const SegmentName& name : all) {
      const bool follows = segments_.empty() || name.sequence + 1 == segments_.back().sequence;
      if (!segments_.empty() && name.sequence == segments_.back().sequence) {
        return "log segment " + std::to_string(name.sequence) + " is there twice";
      }
      (follows && obsolete_.empty()) ? segments_.push_back(name)
                                     : obsolete_.push_back(name.to_string());
    }
    std::reverse(segments_.begin(), segments_.end());
    return "";
  }

  std::string read_segment(const SegmentName& name, bool last) {
    const std::string file = name.to_string();
    std::string bytes;
    if (std::string error = disk_.read(file, bytes); !error.empty()) return error;
    SegmentScan scan;
    recovery_.segments.push_back({name, {}});
    const RecordHandler handler{
        [&](const SegmentHeader& header) { return check_header(header, name); },
        [this](const HardState& state) { recovery_.hard_state = state; },
        [this](Entry entry) { return take_entry(std::move(entry)); },
        [this](const SnapshotMark& mark) { recovery_.mark = mark; },
        [this](const LogPosition& position) {
          recovery_.entries.clear();
          begin_ = position;
          begin_known_ = true;
        },
    };
    if (std::string error = scan_segment(bytes, name, handler, scan); !error.empty()) {
      return file + ": " + error;
    }
    if (scan.damaged && (!last || scan.batch_after_damage)) {
      return file + ": corrupt at byte " + std::to_string(scan.valid_bytes) +
             ", before records that were made durable later";
    }
    if (!scan.header) {
      if (!last) return file + ": empty, but a later segment follows";
      torn_segment_ = file;  // its first batch was never synced
      recovery_.segments.pop_back();
      return "";
    }
    if (scan.damaged) torn_tail_ = true;
    recovery_.segment = name;
    recovery_.segment_bytes = scan.valid_bytes;
    recovery_.crc = scan.crc;
    return "";
  }

  std::string check_header(const SegmentHeader& header, const SegmentName& name) const {
    if (header.node != node_) {
      return "belongs to node " + std::to_string(header.node.value) + ", not to node " +
             std::to_string(node_.value);
    }
    if (header.name.sequence != name.sequence || header.name.salt != name.salt) {
      return "was renamed from " + header.name.to_string();
    }
    const bool front_is_gone = recovery_.segments.size() == 1 && name.sequence > 1;
    if (header.crc_before != recovery_.crc && !front_is_gone) {
      return "does not continue the segment before it";
    }
    return "";
  }

  LogIndex last_index() const {
    return recovery_.entries.empty() ? begin_->index : recovery_.entries.back().index;
  }
  Term last_term() const {
    return recovery_.entries.empty() ? begin_->term : recovery_.entries.back().term;
  }

  std::string take_entry(Entry entry) {
    // Where the front is gone, the first entry there is shows where the log begins; one that is
    // lower replaces it with all that followed, as ever.
    if (begin_ && !begin_known_ && entry.index <= begin_->index) {
      recovery_.entries.clear();
      begin_.reset();
    }
    if (!begin_) {
      const bool from_start = segments_.front().sequence == 1;
      begin_ = LogPosition{from_start ? LogIndex{} : entry.index - 1, Term{}};
      begin_known_ = from_start;
    }
    if (entry.index <= begin_->index || entry.index > last_index() + 1) {
      return "entry " + std::to_string(entry.index.value) + " after entry " +
             std::to_string(last_index().value);
    }
    recovery_.entries.resize(entry.index - (begin_->index + 1));
    if (entry.term < last_term()) return "terms of entries decrease";
    LogIndex& last = recovery_.segments.back().last;
    last = std::max(last, entry.index);
    recovery_.entries.push_back(std::move(entry));
    return "";
  }

  // Those that the last mark names as the first must be there; those before it may go.
  std::string check_segments() {
    const uint64_t first = recovery_.mark.first_segment;
    if (segments_.empty() || recovery_.segments.empty()) {
      return obsolete_.empty() ? "" : "the last log segment is missing";
    }
    if (segments_.front().sequence > first) {
      return "log segment " + std::to_string(segments_.front().sequence - 1) + " is missing";
    }
    auto& segments = recovery_.segments;
    while (segments.front().name.sequence < first) {
      obsolete_.push_back(segments.front().name.to_string());
      segments.erase(segments.begin());
    }
    return "";
  }

  // The log goes on behind the snapshot.
  std::string join_snapshot() {
    const LogPosition& snapshot = recovery_.snapshot;
    LogIndex needed = recovery_.mark.snapshot.index;
    if (begin_ && begin_known_) needed = std::max(needed, begin_->index);
    if (needed > snapshot.index) {
      return "the snapshot of entry " + std::to_string(needed.value) +
             ", behind which the log goes on, is missing or damaged";
    }
    std::vector<Entry>& entries = recovery_.entries;
    if (!entries.empty() && entries.front().index > snapshot.index + 1) {
      return "the entries from " + std::to_string(snapshot.index.value + 1) + " to " +
             std::to_string(entries.front().index.value - 1) + " are missing";
    }
    if (!leads_to(snapshot)) {
      recovery_.begins_anew = true;
      recovery_.before_first = snapshot;
      entries.clear();
    } else if (!entries.empty() && entries.front().index == snapshot.index + 1) {
      recovery_.before_first = snapshot;
    } else if (begin_ && begin_known_) {
      recovery_.before_first = *begin_;
    } else if (!entries.empty()) {
      // The term of the entry before the first is not known: begin with the first.
      recovery_.before_first = {entries.front().index, entries.front().term};
      entries.erase(entries.begin());
    }
    return "";
  }

  bool leads_to(const LogPosition& snapshot) const {
    const std::vector<Entry>& entries = recovery_.entries;
    if (entries.empty()) {
      return begin_ && begin_known_ ? *begin_ == snapshot : snapshot == LogPosition{};
    }
    if (entries.front().index == snapshot.index + 1) {
      return entries.front().term >= snapshot.term;
    }
    return entries.back().index >= snapshot.index &&
           entries[snapshot.index - entries.front().index].term == snapshot.term;
  }

  // What a process that was killed left in the page cache may not be on the disk yet.
  std::string make_durable() {
    std::string error;
    if (!torn_segment_.empty()) {
      recovery_.removed_torn_segment = true;
      error = disk_.remove(torn_segment_);
    }
    for (size_t i = 0; error.empty() && i < obsolete_.size(); ++i) {
      error = disk_.remove(obsolete_[i]);
    }
    if (segments_.empty()) return error;
    if (error.empty() && torn_tail_) {
      recovery_.cut_torn_tail = true;
      error = disk_.truncate(recovery_.segment->to_string(), recovery_.segment_bytes);
    }
    if (error.empty() && recovery_.segment) error = disk_.sync(recovery_.segment->to_string());
    if (error.empty()) error = disk_.sync_directory();
    return error;
  }

  Disk& disk_;
  NodeId node_;
  WalRecovery& recovery_;
  std::vector<SegmentName> segments_;
  std::vector<std::string> obsolete_;
  std::optional<LogPosition> begin_;  // before the first of the entries
  bool begin_known_ = true;           // its term as well
  bool torn_tail_ = false;
  std::string torn_segment_;
};

}  // namespace

std::string Wal::recover(Disk& disk, NodeId node, WalRecovery& recovery, LogPosition snapshot) {
  return Recoverer(disk, node, recovery, snapshot).run();
}

Wal::Wal(WalOptions options, Env& env, const WalRecovery& recovery,
         std::function<void()> on_durable)
    : options_(options),
      env_(env),
      on_durable_(std::move(on_durable)),
      segment_(recovery.segment),
      segment_bytes_(recovery.segment_bytes),
      crc_(recovery.crc),
      state_(recovery.hard_state),
      mark_(recovery.mark),
      closed_(recovery.segments.begin(), recovery.segments.end()) {
  if (!closed_.empty()) {
    segment_last_ = closed_.back().last;
    closed_.pop_back();
  }
  if (recovery.begins_anew) reset(recovery.snapshot);
  if (recovery.snapshot.index > mark_.snapshot.index) note_snapshot(recovery.snapshot, {}, {});
}

void Wal::note_pending() {
  const bool canary = options_.count_buffer_as_durable_for.count() > 0;
  if (canary && pending_.empty()) pending_since_ = env_.clock().now();
}

void Wal::append(const HardState& state) {
  state_ = state;
  note_pending();
  put_state(pending_, state);
  ++appended_;
}

void Wal::append(const std::vector<Entry>& entries) {
  note_pending();
  for (const Entry& entry : entries) {
    put_entry(pending_, entry);
    pending_last_ = std::max(pending_last_, entry.index);
  }
  appended_ += entries.size();
}

void Wal::reset(const LogPosition& snapshot) {
  note_pending();
  put_reset(pending_, snapshot);
  ++appended_;
}

void Wal::note_snapshot(const LogPosition& snapshot, LogIndex drop_through,
                        std::vector<std::string> older) {
  RAFT_CHECK(drop_through <= snapshot.index, "entries are dropped that no snapshot holds");
  mark_.snapshot = snapshot;
  const bool too_far = options_.mutations.has(Mutation::kLogDroppedTooFar);
  while (!closed_.empty() && (closed_.front().last <= drop_through || too_far)) {
    mark_.first_segment = closed_.front().name.sequence + 1;
    obsolete_.push_back(closed_.front().name.to_string());
    closed_.pop_front();
  }
  obsolete_.insert(obsolete_.end(), older.begin(), older.end());
  note_pending();
  put_mark(pending_, mark_);
  obsolete_at_ = ++appended_;
}

// Not urgent, and not synced: what comes back after a power loss is removed at the start.
void Wal::remove_obsolete() {
  if (obsolete_.empty() || durable_ < obsolete_at_) return;
  std::vector<DiskOp> ops;
  for (std::string& file : obsolete_) ops.push_back({DiskOp::Kind::kRemove, std::move(file), ""});
  obsolete_.clear();
  env_.disk().submit(std::move(ops), [this](const std::string& error) {
    if (!error.empty()) env_.fatal("cannot remove what a snapshot replaced: " + error);
  });
}

Wal::Position Wal::durable() const {
  return options_.count_buffer_as_durable_for.count() > 0 ? appended_ : durable_;
}

void Wal::flush() {
  if (may_flush()) submit();
}

bool Wal::may_flush() {
  if (in_flight_ || pending_.empty()) return false;
  if (options_.count_buffer_as_durable_for.count() == 0) return true;
  return env_.clock().now() - pending_since_ >= options_.count_buffer_as_durable_for;
}

bool Wal::needs_new_segment() const {
  return !segment_ || segment_bytes_ >= options_.segment_bytes;
}

// Segments begin with the term and vote and the newest snapshot, so that those before can go.
void Wal::begin_segment(std::string& out, std::vector<DiskOp>& ops) {
  if (segment_) closed_.push_back({*segment_, segment_last_});
  segment_last_ = LogIndex{};
  const uint64_t sequence = segment_ ? segment_->sequence + 1 : 1;
  const uint64_t salt = kv::Hasher(options_.salt_seed).add(sequence).value();
  segment_ = SegmentName{sequence, salt};
  segment_bytes_ = 0;
  put_header(out, {options_.node, *segment_, crc_});
  ops.push_back({DiskOp::Kind::kCreate, segment_->to_string(), ""});
}

void Wal::submit() {
  std::string out;
  std::vector<DiskOp> ops;
  const bool new_segment = needs_new_segment();
  if (new_segment) begin_segment(out, ops);
  const std::string file = segment_->to_string();
  put_batch_marker(out, segment_->salt);
  if (new_segment) put_state(out, state_);
  if (new_segment && mark_.snapshot.index.value > 0) put_mark(out, mark_);
  out.append(pending_);
  pending_.clear();
  segment_last_ = std::max(segment_last_, std::exchange(pending_last_, {}));
  crc_ = seal_records(out, crc_);
  segment_bytes_ += out.size();
  ops.push_back({DiskOp::Kind::kAppend, file, std::move(out)});
  ops.push_back({DiskOp::Kind::kSync, file, ""});
  // Without this a power loss takes the whole file, synced as its contents are.
  if (new_segment && !options_.mutations.has(Mutation::kDirectoryNotSynced)) {
    ops.push_back({DiskOp::Kind::kSyncDirectory, "", ""});
  }
  in_flight_ = true;
  env_.disk().submit(std::move(ops), [this, position = appended_](const std::string& error) {
    if (!error.empty()) env_.fatal("cannot write the log: " + error);
    in_flight_ = false;
    durable_ = position;
    remove_obsolete();
    flush();
    on_durable_();
  });
}

}  // namespace assay::raft
