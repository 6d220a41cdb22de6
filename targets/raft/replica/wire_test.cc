#include "targets/raft/replica/wire.h"

#include <gtest/gtest.h>

#include "targets/raft/replica/sim_random.h"

namespace assay::raft {
namespace {

uint64_t draw_number(SimRandom& random) {
  const uint64_t bits = random.below(65);
  return bits == 0 ? 0 : random.next() >> (64 - bits);
}

std::string draw_bytes(SimRandom& random) {
  std::string bytes(random.below(random.chance(100) ? 500 : 8), '\0');
  for (char& c : bytes) c = static_cast<char>(random.below(256));
  return bytes;
}

PeerMessage draw(SimRandom& random) {
  switch (random.below(8)) {
    case 0:
      return ForwardWrite{Term{draw_number(random)}, draw_bytes(random)};
    case 1:
      return ForwardRefused{NodeId{draw_number(random)}, random.next(), draw_number(random)};
    case 2:
      return ForwardRead{NodeId{draw_number(random)}, random.next(), ReadId{draw_number(random)}};
    case 3:
      return ForwardReadReply{NodeId{draw_number(random)}, random.next(),
                              ReadId{draw_number(random)}, random.chance(500),
                              LogIndex{draw_number(random)}};
    case 4:
      return SnapshotChunk{NodeId{draw_number(random)},
                           Term{draw_number(random)},
                           random.next(),
                           draw_number(random),
                           LogIndex{draw_number(random)},
                           Term{draw_number(random)},
                           draw_number(random),
                           random.chance(500),
                           draw_bytes(random)};
    case 5:
      return SnapshotAck{NodeId{draw_number(random)}, random.next(), draw_number(random),
                         random.chance(500), draw_number(random)};
    default:
      break;
  }
  Message message;
  message.type = static_cast<MessageType>(random.below(kMessageTypeLast + 1));
  message.from.value = draw_number(random);
  message.term.value = draw_number(random);
  message.index.value = draw_number(random);
  message.log_term.value = draw_number(random);
  message.commit.value = draw_number(random);
  message.reject = random.chance(500);
  message.hint_index.value = draw_number(random);
  message.hint_term.value = draw_number(random);
  message.round.value = draw_number(random);
  for (uint64_t i = random.below(4); i > 0; --i) {
    Entry entry;
    entry.term.value = draw_number(random);
    entry.kind = static_cast<EntryKind>(random.below(kEntryKindLast + 1));
    const std::string bytes = draw_bytes(random);
    if (!bytes.empty()) entry.payload = std::make_shared<const std::string>(bytes);
    message.entries.push_back(std::move(entry));
  }
  return message;
}

TEST(Wire, RandomMessagesSurviveTheRoundTrip) {
  SimRandom random(1, "wire");
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = encode(draw(random));
    const auto decoded = decode(bytes, NodeId{1});
    ASSERT_TRUE(decoded.has_value());
    ASSERT_EQ(encode(*decoded), bytes);
  }
}

TEST(Wire, EntriesFollowThePreviousIndex) {
  Message message;
  message.type = MessageType::kAppend;
  message.from = NodeId{2};
  message.term = Term{5};
  message.index = LogIndex{10};
  message.log_term = Term{4};
  message.entries = {
      {Term{4}, LogIndex{11}, EntryKind::kNoop, nullptr},
      {Term{5}, LogIndex{12}, EntryKind::kCommand, std::make_shared<const std::string>("x")}};
  const auto decoded = decode(encode(message), NodeId{3});
  ASSERT_TRUE(decoded.has_value());
  const auto& back = std::get<Message>(*decoded);
  EXPECT_EQ(back.to, NodeId{3});
  EXPECT_EQ(back.from, NodeId{2});
  EXPECT_EQ(back.log_term, Term{4});
  ASSERT_EQ(back.entries.size(), 2u);
  EXPECT_EQ(back.entries[1].index, LogIndex{12});
  EXPECT_EQ(back.entries[1].term, Term{5});
  EXPECT_EQ(back.entries[1].bytes(), "x");
}

TEST(Wire, TruncationsTrailingBytesAndUnknownTypesAreRefused) {
  SimRandom random(2, "wire");
  for (int i = 0; i < 500; ++i) {
    const std::string bytes = encode(draw(random));
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_FALSE(decode(std::string_view(bytes).substr(0, length), NodeId{1}).has_value());
    }
    ASSERT_FALSE(decode(bytes + '\0', NodeId{1}).has_value());
  }
  EXPECT_FALSE(decode("\x0a", NodeId{1}).has_value());
  EXPECT_FALSE(decode("\xff", NodeId{1}).has_value());
}

TEST(Wire, ThereIsOneFormOfEachMessage) {
  SimRandom random(3, "wire");
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = encode(draw(random));
    bytes[random.below(bytes.size())] ^= static_cast<char>(1u << random.below(8));
    const auto decoded = decode(bytes, NodeId{1});
    if (decoded) {
      ASSERT_EQ(encode(*decoded), bytes);
    }
  }
}

TEST(Commands, CarryTheNameOfWhoAsked) {
  const RequestName name{NodeId{3}, 0x1234567890abcdef, 42};
  const std::string bytes = encode_command(name, kv::PutRequest{"k", "v", true});
  const auto command = decode_command(bytes);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->name, name);
  EXPECT_EQ(std::get<kv::PutRequest>(command->request).value, "v");
  EXPECT_FALSE(decode_command(bytes + "x").has_value());
  EXPECT_EQ(command->wall_ms, 0);
  const auto timed = decode_command(encode_command(name, kv::PutRequest{"k", "v"}, -5));
  ASSERT_TRUE(timed.has_value());
  EXPECT_EQ(timed->wall_ms, -5);
  std::string other_format = bytes;
  other_format[0] = 2;
  EXPECT_FALSE(decode_command(other_format).has_value());
}

}  // namespace
}  // namespace assay::raft
