#include "targets/raft/replica/wire.h"

#include "targets/kv/service/bytes.h"

namespace assay::raft {
namespace {

using kv::ByteReader;
using kv::ByteWriter;

// Below them are the types of the protocol's messages.
constexpr uint8_t kForwardWriteTag = 16;
constexpr uint8_t kForwardRefusedTag = 17;
constexpr uint8_t kForwardReadTag = 18;
constexpr uint8_t kForwardReadReplyTag = 19;
constexpr uint8_t kSnapshotChunkTag = 20;
constexpr uint8_t kSnapshotAckTag = 21;

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out), writer_(out) {}

  void operator()(const Message& message) {
    size_t bytes = 64;
    for (const Entry& entry : message.entries) bytes += entry.bytes().size() + 16;
    out_.reserve(bytes);
    writer_.u8(static_cast<uint8_t>(message.type));
    writer_.varint(message.from.value);
    writer_.varint(message.term.value);
    writer_.varint(message.index.value);
    writer_.varint(message.log_term.value);
    writer_.varint(message.commit.value);
    writer_.u8(message.reject ? 1 : 0);
    writer_.varint(message.hint_index.value);
    writer_.varint(message.hint_term.value);
    writer_.varint(message.round.value);
    // The entries' indices follow from the first.
    writer_.varint(message.entries.size());
    for (const Entry& entry : message.entries) {
      writer_.varint(entry.term.value);
      writer_.u8(static_cast<uint8_t>(entry.kind));
      writer_.string(entry.bytes());
    }
  }
  void operator()(const ForwardWrite& forward) {
    writer_.u8(kForwardWriteTag);
    writer_.varint(forward.term.value);
    writer_.string(forward.command);
  }
  void operator()(const ForwardRefused& refused) {
    writer_.u8(kForwardRefusedTag);
    writer_.varint(refused.from.value);
    writer_.u64(refused.incarnation);
    writer_.varint(refused.sequence);
  }
  void operator()(const ForwardRead& read) {
    writer_.u8(kForwardReadTag);
    writer_.varint(read.from.value);
    writer_.u64(read.incarnation);
    writer_.varint(read.id.value);
  }
  void operator()(const ForwardReadReply& reply) {
    writer_.u8(kForwardReadReplyTag);
    writer_.varint(reply.from.value);
    writer_.u64(reply.incarnation);
    writer_.varint(reply.id.value);
    writer_.u8(reply.refused ? 1 : 0);
    writer_.varint(reply.index.value);
  }
  void operator()(const SnapshotChunk& chunk) {
    out_.reserve(chunk.bytes.size() + 64);
    writer_.u8(kSnapshotChunkTag);
    writer_.varint(chunk.from.value);
    writer_.varint(chunk.term.value);
    writer_.u64(chunk.incarnation);
    writer_.varint(chunk.stream);
    writer_.varint(chunk.last_index.value);
    writer_.varint(chunk.last_term.value);
    writer_.varint(chunk.offset);
    writer_.u8(chunk.end ? 1 : 0);
    writer_.string(chunk.bytes);
  }
  void operator()(const SnapshotAck& ack) {
    writer_.u8(kSnapshotAckTag);
    writer_.varint(ack.from.value);
    writer_.u64(ack.incarnation);
    writer_.varint(ack.stream);
    writer_.u8(ack.unknown ? 1 : 0);
    writer_.varint(ack.taken);
  }

 private:
  std::string& out_;
  ByteWriter writer_;
};

Message read_message(ByteReader& reader, uint8_t type, NodeId to) {
  Message message;
  message.type = static_cast<MessageType>(type);
  message.to = to;
  message.from.value = reader.varint();
  message.term.value = reader.varint();
  message.index.value = reader.varint();
  message.log_term.value = reader.varint();
  message.commit.value = reader.varint();
  message.reject = reader.upto(1) != 0;
  message.hint_index.value = reader.varint();
  message.hint_term.value = reader.varint();
  message.round.value = reader.varint();
  const uint64_t entries = reader.count();
  for (uint64_t i = 0; i < entries && reader.ok(); ++i) {
    Entry entry;
    entry.index = message.index + 1 + i;
    entry.term.value = reader.varint();
    entry.kind = static_cast<EntryKind>(reader.upto(kEntryKindLast));
    const std::string_view payload = reader.string();
    if (!payload.empty()) entry.payload = std::make_shared<const std::string>(payload);
    message.entries.push_back(std::move(entry));
  }
  return message;
}

}  // namespace

std::string encode(const PeerMessage& message) {
  std::string out;
  std::visit(Encoder(out), message);
  return out;
}

std::optional<PeerMessage> decode(std::string_view bytes, NodeId to) {
  ByteReader reader(bytes);
  PeerMessage message;
  switch (const uint8_t tag = reader.u8(); tag) {
    case kForwardWriteTag: {
      ForwardWrite forward;
      forward.term.value = reader.varint();
      forward.command = std::string(reader.string());
      message = std::move(forward);
      break;
    }
    case kForwardRefusedTag: {
      ForwardRefused refused;
      refused.from.value = reader.varint();
      refused.incarnation = reader.u64();
      refused.sequence = reader.varint();
      message = refused;
      break;
    }
    case kForwardReadTag: {
      ForwardRead read;
      read.from.value = reader.varint();
      read.incarnation = reader.u64();
      read.id.value = reader.varint();
      message = read;
      break;
    }
    case kForwardReadReplyTag: {
      ForwardReadReply reply;
      reply.from.value = reader.varint();
      reply.incarnation = reader.u64();
      reply.id.value = reader.varint();
      reply.refused = reader.upto(1) != 0;
      reply.index.value = reader.varint();
      message = reply;
      break;
    }
    case kSnapshotChunkTag: {
      SnapshotChunk chunk;
      chunk.from.value = reader.varint();
      chunk.term.value = reader.varint();
      chunk.incarnation = reader.u64();
      chunk.stream = reader.varint();
      chunk.last_index.value = reader.varint();
      chunk.last_term.value = reader.varint();
      chunk.offset = reader.varint();
      chunk.end = reader.upto(1) != 0;
      chunk.bytes = std::string(reader.string());
      message = std::move(chunk);
      break;
    }
    case kSnapshotAckTag: {
      SnapshotAck ack;
      ack.from.value = reader.varint();
      ack.incarnation = reader.u64();
      ack.stream = reader.varint();
      ack.unknown = reader.upto(1) != 0;
      ack.taken = reader.varint();
      message = ack;
      break;
    }
    default:
      if (tag > kMessageTypeLast) return std::nullopt;
      message = read_message(reader, tag, to);
  }
  if (!reader.done()) return std::nullopt;
  return message;
}

}  // namespace assay::raft
