#include "targets/raft/replica/snapshot_stream.h"

#include <utility>

namespace assay::raft {

// --- The sender --------------------------------------------------------------------------------

SnapshotSender::SnapshotSender(StreamLimits limits, SnapshotChunk stream, SnapshotWriter writer,
                               Send send)
    : limits_(limits),
      prototype_(std::move(stream)),
      writer_(std::move(writer)),
      send_(std::move(send)) {
  prototype_.last_index = writer_.head().last.index;
  prototype_.last_term = writer_.head().last.term;
  fill();
}

void SnapshotSender::fill() {
  // Alone until the receiver knows of the stream: the next would come to one that it does not know.
  const size_t window = begun_ ? limits_.window : 1;
  while (unacknowledged_.size() < window && !writer_.done()) {
    SnapshotChunk chunk = prototype_;
    chunk.offset = sent_;
    chunk.bytes = writer_.next(limits_.chunk_bytes);
    chunk.end = writer_.done();
    sent_ += chunk.bytes.size();
    send_(chunk);
    unacknowledged_.push_back(std::move(chunk));
  }
}

bool SnapshotSender::on_ack(uint64_t taken) {
  if (taken > sent_) return false;
  bool news = false;
  while (!unacknowledged_.empty()) {
    const SnapshotChunk& chunk = unacknowledged_.front();
    if (chunk.offset + chunk.bytes.size() > taken) break;
    unacknowledged_.pop_front();
    news = true;
  }
  if (news) quiet_ticks_ = 0;
  begun_ = begun_ || news;
  fill();
  return news;
}

bool SnapshotSender::on_tick() {
  if (unacknowledged_.empty() || ++quiet_ticks_ < limits_.resend_ticks) return false;
  send_again();
  return true;
}

void SnapshotSender::send_again() {
  quiet_ticks_ = 0;
  for (const SnapshotChunk& chunk : unacknowledged_) send_(chunk);
}

// --- The receiver ------------------------------------------------------------------------------

struct SnapshotReceiver::Incoming {
  SnapshotChunk stream;  // the first chunk, without its bytes
  SnapshotFile file;
  SnapshotReader reader;
  uint64_t taken = 0;   // bytes handed to the disk
  uint64_t synced = 0;  // and written there
  bool finishing = false;
};

SnapshotReceiver::SnapshotReceiver(Env& env, NodeId self, Mutations mutations,
                                   Acknowledge acknowledge, OnWhole on_whole)
    : env_(env),
      self_(self),
      mutations_(mutations),
      acknowledge_(std::move(acknowledge)),
      on_whole_(std::move(on_whole)) {}

SnapshotReceiver::~SnapshotReceiver() = default;

LogIndex SnapshotReceiver::index() const {
  return incoming_ && !incoming_->finishing ? incoming_->stream.last_index : LogIndex{};
}

void SnapshotReceiver::abandon() {
  if (!incoming_ || incoming_->finishing) return;
  incoming_->file.discard();
  incoming_.reset();
}

void SnapshotReceiver::acknowledge(bool unknown, const SnapshotChunk& chunk) {
  SnapshotAck ack;
  ack.from = self_;
  ack.incarnation = chunk.incarnation;
  ack.stream = chunk.stream;
  ack.unknown = unknown;
  ack.taken = unknown ? 0 : incoming_->synced;
  acknowledge_(chunk.from, ack);
}

SnapshotReceiver::Taken SnapshotReceiver::on_chunk(SnapshotChunk chunk) {
  const auto same_sender = [&](const SnapshotChunk& other) {
    return other.from == chunk.from && other.term == chunk.term &&
           other.incarnation == chunk.incarnation;
  };
  const bool known = incoming_ && same_sender(incoming_->stream);
  // Of a stream that its sender has given up.
  if (known && chunk.stream < incoming_->stream.stream) return Taken::kIgnored;
  if (!known || chunk.stream != incoming_->stream.stream) return on_other_stream(chunk);
  if (chunk.offset != incoming_->taken || incoming_->finishing) {
    const bool ahead = chunk.offset > incoming_->taken;
    acknowledge(false, chunk);
    return ahead ? Taken::kAhead : Taken::kRepeated;
  }
  const SnapshotReader& reader = incoming_->reader;
  const bool fits = incoming_->reader.feed(chunk.bytes) && reader.complete() == chunk.end;
  const LogPosition promised{incoming_->stream.last_index, incoming_->stream.last_term};
  if (!fits || (reader.head_known() && reader.head().last != promised)) {
    acknowledge(true, chunk);
    abandon();
    return Taken::kBad;
  }
  take(std::move(chunk));
  return Taken::kTaken;
}

SnapshotReceiver::Taken SnapshotReceiver::on_other_stream(const SnapshotChunk& chunk) {
  // One that is whole already is brought to its end first.
  if (incoming_ && incoming_->finishing) return Taken::kIgnored;
  if (chunk.offset != 0) {
    acknowledge(true, chunk);
    return Taken::kUnknownStream;
  }
  abandon();
  SnapshotChunk stream = chunk;
  stream.bytes.clear();
  incoming_.reset(
      new Incoming{std::move(stream),
                   {env_, chunk.last_index, "in" + std::to_string(++files_), mutations_},
                   {}});
  return on_chunk(chunk);
}

void SnapshotReceiver::take(SnapshotChunk chunk) {
  const size_t size = chunk.bytes.size();
  incoming_->taken += size;
  incoming_->finishing = chunk.end;
  std::string bytes = std::move(chunk.bytes);
  incoming_->file.append(std::move(bytes), [this, size, end = chunk.end] {
    incoming_->synced += size;
    if (end) return finish();
    acknowledge(false, incoming_->stream);
  });
}

void SnapshotReceiver::finish() {
  incoming_->file.finish([this] {
    acknowledge(false, incoming_->stream);
    const SnapshotHead head = incoming_->reader.head();
    kv::Store store = incoming_->reader.release();
    const size_t bytes = incoming_->taken;
    incoming_.reset();
    on_whole_(head, std::move(store), bytes);
  });
}

}  // namespace assay::raft
