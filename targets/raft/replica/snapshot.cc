#include "targets/raft/replica/snapshot.h"

#include "targets/kv/service/bytes.h"
#include "targets/raft/replica/crc32c.h"

namespace assay::raft {
namespace {

constexpr uint64_t kSnapshotMagic = 0x31304e5359415341;  // "ASAYSN01"
constexpr size_t kHeadBytes = 4 * 8;
constexpr size_t kSnapshotCrcBytes = 4;

}  // namespace

SnapshotWriter::SnapshotWriter(const SnapshotHead& head, const kv::Store& store)
    : head_(head), store_(store) {}

std::string SnapshotWriter::next(size_t bytes) {
  std::string out;
  kv::ByteWriter writer(out);
  if (!begun_) {
    begun_ = true;
    writer.u64(kSnapshotMagic);
    writer.u64(head_.last.index.value);
    writer.u64(head_.last.term.value);
    writer.u64(head_.chain);
  }
  store_.encode(out, bytes);
  crc_ = crc32c(crc_, out);
  done_ = store_.done();
  if (done_) writer.u32(crc_);
  return out;
}

bool SnapshotReader::feed(std::string_view bytes) {
  carried_.append(bytes);
  size_t taken = 0;
  while (state_ != State::kBad) {
    const State before = state_;
    const size_t now = take(std::string_view(carried_).substr(taken));
    taken += now;
    if (now == 0 && state_ == before) break;
  }
  carried_.erase(0, taken);
  if (state_ == State::kComplete && !carried_.empty()) state_ = State::kBad;
  return state_ != State::kBad;
}

// How many bytes at the front are done with.
size_t SnapshotReader::take(std::string_view bytes) {
  size_t taken = 0;
  switch (state_) {
    case State::kHead:
      if (bytes.size() < kHeadBytes) return 0;
      taken = kHeadBytes;
      state_ = take_head(bytes.substr(0, taken)) ? State::kStore : State::kBad;
      break;
    case State::kStore:
      taken = store_.take(bytes);
      if (store_.failed()) state_ = State::kBad;
      if (store_.done()) state_ = State::kCrc;
      break;
    case State::kCrc:
      if (bytes.size() < kSnapshotCrcBytes) return 0;
      state_ = kv::ByteReader(bytes).u32() == crc_ ? State::kComplete : State::kBad;
      return kSnapshotCrcBytes;
    case State::kBad:
    case State::kComplete:
      return 0;
  }
  crc_ = crc32c(crc_, bytes.substr(0, taken));
  return taken;
}

bool SnapshotReader::take_head(std::string_view bytes) {
  kv::ByteReader reader(bytes);
  const bool magic = reader.u64() == kSnapshotMagic;
  head_.last.index.value = reader.u64();
  head_.last.term.value = reader.u64();
  head_.chain = reader.u64();
  return magic && head_.last.index.value > 0;
}

}  // namespace assay::raft
