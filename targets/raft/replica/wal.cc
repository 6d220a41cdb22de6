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
  Recoverer(Disk& disk, NodeId node, WalRecovery& recovery)
      : disk_(disk), node_(node), recovery_(recovery) {}

  std::string run() {
    recovery_ = WalRecovery{};
    std::string error = find_segments();
    for (size_t i = 0; error.empty() && i < segments_.size(); ++i) {
      error = read_segment(segments_[i], i + 1 == segments_.size());
    }
    if (error.empty()) error = make_durable();
    return error;
  }

 private:
  std::string find_segments() {
    std::vector<std::string> names;
    if (std::string error = disk_.list(names); !error.empty()) return error;
    for (const std::string& file : names) {
      if (!file.starts_with("wal-")) continue;
      const auto name = SegmentName::parse(file);
      if (!name) return file + " is not a name of a log segment";
      segments_.push_back(*name);
    }
    std::sort(segments_.begin(), segments_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.sequence, a.salt) < std::pair(b.sequence, b.salt);
    });
    for (size_t i = 0; i < segments_.size(); ++i) {
      if (segments_[i].sequence != i + 1) {
        return "log segment " + std::to_string(i + 1) + " is missing or there twice";
      }
    }
    return "";
  }

  std::string read_segment(const SegmentName& name, bool last) {
    const std::string file = name.to_string();
    std::string bytes;
    if (std::string error = disk_.read(file, bytes); !error.empty()) return error;
    SegmentScan scan;
    const RecordHandler handler{
        [&](const SegmentHeader& header) { return check_header(header, name); },
        [this](const HardState& state) { recovery_.hard_state = state; },
        [this](Entry entry) { return take_entry(std::move(entry)); },
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
    if (header.crc_before != recovery_.crc) return "does not continue the segment before it";
    return "";
  }

  Term last_term() const {
    return recovery_.entries.empty() ? Term{} : recovery_.entries.back().term;
  }

  std::string take_entry(Entry entry) {
    const uint64_t count = recovery_.entries.size();
    if (entry.index.value == 0 || entry.index.value > count + 1) {
      return "entry " + std::to_string(entry.index.value) + " after entry " + std::to_string(count);
    }
    recovery_.entries.resize(entry.index.value - 1);
    if (entry.term < last_term()) return "terms of entries decrease";
    recovery_.entries.push_back(std::move(entry));
    return "";
  }

  // What a process that was killed left in the page cache may not be on the disk yet.
  std::string make_durable() {
    if (segments_.empty()) return "";
    std::string error;
    if (!torn_segment_.empty()) {
      recovery_.removed_torn_segment = true;
      error = disk_.remove(torn_segment_);
    }
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
  bool torn_tail_ = false;
  std::string torn_segment_;
};

}  // namespace

std::string Wal::recover(Disk& disk, NodeId node, WalRecovery& recovery) {
  return Recoverer(disk, node, recovery).run();
}

Wal::Wal(WalOptions options, Env& env, const WalRecovery& recovery,
         std::function<void()> on_durable)
    : options_(options),
      env_(env),
      on_durable_(std::move(on_durable)),
      segment_(recovery.segment),
      segment_bytes_(recovery.segment_bytes),
      crc_(recovery.crc),
      state_(recovery.hard_state) {}

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
  for (const Entry& entry : entries) put_entry(pending_, entry);
  appended_ += entries.size();
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

// Segments begin with the term and vote, so that those before it can go one day.
void Wal::begin_segment(std::string& out, std::vector<DiskOp>& ops) {
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
  out.append(pending_);
  pending_.clear();
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
    flush();
    on_durable_();
  });
}

}  // namespace assay::raft
